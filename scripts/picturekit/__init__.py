"""Pictures of the terminal interface, from real runs."""
