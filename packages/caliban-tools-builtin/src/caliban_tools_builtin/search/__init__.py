"""Glob and Grep: finding files and lines with ripgrep, without a shell or a configuration file."""
