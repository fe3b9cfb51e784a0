"""The plugins of a run: where they come from, which count, and their parts."""
