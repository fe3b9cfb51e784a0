"""A settings key that parses and reaches nothing is a lie to the person who set it."""
