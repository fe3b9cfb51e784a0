"""The terminal face: an app and a session at a time, below one screen that lasts."""
