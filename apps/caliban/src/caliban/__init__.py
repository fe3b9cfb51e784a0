"""The caliban program: flags, composition, subcommands; the rest lives in the libraries it composes."""
