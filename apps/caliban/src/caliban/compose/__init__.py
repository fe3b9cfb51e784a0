"""Composition: one builder a file turns options and settings into the parts of a run."""
