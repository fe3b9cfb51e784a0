"""The rows of the commands, each loaded when somebody looks at it."""
