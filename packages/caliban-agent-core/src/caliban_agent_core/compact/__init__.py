"""Ways to make a history shorter, and the rules for when."""
