"""The Chat Completions interface: what a request and a reply look like there."""
