"""`caliban sessions`: conversations that were kept."""
