"""`caliban perms`: rules, what they say to a call, and the log of decisions."""
