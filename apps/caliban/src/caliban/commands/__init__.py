"""The subcommands: one a file, in a folder where several belong together."""
