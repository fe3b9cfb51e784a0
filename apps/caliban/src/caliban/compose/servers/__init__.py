"""The MCP servers of a run: what settings say of them, who may be one, and how they come into a run."""
