"""`caliban config` and `caliban settings`: show settings, and change their files."""
