"""The server's side of the wire, for tests: import its modules directly."""
