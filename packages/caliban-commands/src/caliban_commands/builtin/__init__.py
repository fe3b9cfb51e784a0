"""The commands that need nothing but a session, a module each group."""
