"""`caliban mcp`: the servers of settings and plugins, and logins to them."""
