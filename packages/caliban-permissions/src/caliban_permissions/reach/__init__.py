"""What a command reaches that it does not name: what lies below a directory, or in a repository."""
