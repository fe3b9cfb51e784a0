"""Questions to a person: what can be asked, how it is drawn, what a key does to it."""
