"""Who answers what the rules leave open: the lists and the model of the auto mode, and people elsewhere."""
