"""What the suite of the Model Context Protocol is run with."""
