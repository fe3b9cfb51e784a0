"""The vendor's side of both wires, for tests: import its modules directly."""
