"""Gemini for Caliban, on AI Studio and on Vertex: `generateContent` as a provider.

The pure halves, `encode` and `decode`, and the transports between them are imported from their modules; so is
the kit in `testing`.
"""

from caliban_provider_google.factory import FACTORY, GoogleFactory

__all__ = ["FACTORY", "GoogleFactory"]
