"""Tools that are held back until a search finds them: the source, the search, and what is active."""
