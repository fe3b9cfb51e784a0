"""Agents that an agent starts by a tool: what they are, and the tool."""
