"""Vertex's side of the wire, for tests. Replies are those of `caliban_provider_anthropic.testing.wire`."""
