"""The terminal interface: events and keys folded into a view, frames made of it, bytes painted.

The driver is `caliban_tui.driver`; nothing is imported here, for the first frame is drawn before anything is.
"""
