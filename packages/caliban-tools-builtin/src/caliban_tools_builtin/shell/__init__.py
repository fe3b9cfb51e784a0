"""Bash: one command in one pinned shell, in a built environment, and nothing left running after it."""
