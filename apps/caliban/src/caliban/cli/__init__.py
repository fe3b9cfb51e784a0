"""The command line: flags in groups, and the options made from them."""
