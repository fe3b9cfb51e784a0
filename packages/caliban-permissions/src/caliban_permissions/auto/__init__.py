"""The auto mode: lists that decide at once, and what a classifier is asked and may answer."""
