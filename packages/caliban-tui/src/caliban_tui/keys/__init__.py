"""Keys: what comes from the terminal, which action each means, and the line editor's own."""
