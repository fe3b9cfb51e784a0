"""`caliban doctor`: what a run needs, looked at."""
