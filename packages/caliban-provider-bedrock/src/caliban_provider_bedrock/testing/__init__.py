"""Bedrock's side of the wire, for tests."""
