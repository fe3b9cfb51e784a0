"""The Responses interface: what a request and a reply look like there."""
