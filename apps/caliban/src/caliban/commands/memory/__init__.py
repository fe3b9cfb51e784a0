"""`caliban memory`: files of instructions and notes."""
