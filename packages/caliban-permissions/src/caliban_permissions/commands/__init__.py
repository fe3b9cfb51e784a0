"""Shell commands as subjects for rules: all that a command runs, reads and writes, and how it is judged."""
