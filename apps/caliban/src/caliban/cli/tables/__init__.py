"""The rows of the commands, each loaded when it is first used."""
