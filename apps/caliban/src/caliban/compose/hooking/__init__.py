"""The hooks of a run, from settings: which count, and what they are given of the program around them."""
