"""The model's Markdown: split into blocks as it streams, each drawn once, when it is closed."""
