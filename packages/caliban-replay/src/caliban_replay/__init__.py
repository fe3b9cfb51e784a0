"""Recordings of runs: written, read, and played again through the same loop."""
