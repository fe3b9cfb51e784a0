"""Blocks and what is open, as lines."""
