"""The log of decisions: one line a tool call, kept by every process of a person in one file."""
