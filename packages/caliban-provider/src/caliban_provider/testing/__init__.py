"""The kit to test providers and everything that talks to one: import its modules directly."""
