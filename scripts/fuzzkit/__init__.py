"""Generated input against an oracle, with the misses made as small as they get."""
