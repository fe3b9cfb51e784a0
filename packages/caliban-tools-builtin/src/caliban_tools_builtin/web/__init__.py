"""Tools that reach the network."""
