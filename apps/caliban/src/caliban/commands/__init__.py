"""The subcommands: one a file."""
