"""Rules: how people write them, how they are read, and the walk over them."""
