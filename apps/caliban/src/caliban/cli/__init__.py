"""The command line: flags in groups, and what is made of them."""
