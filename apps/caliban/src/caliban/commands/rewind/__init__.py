"""`caliban rewind`: back to before a prompt."""
