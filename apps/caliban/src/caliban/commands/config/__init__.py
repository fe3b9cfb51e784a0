"""`caliban config` and `caliban settings`: what is set, and files of settings changed."""
