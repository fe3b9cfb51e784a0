"""Ollama for Caliban: its own `/api/chat` as a provider.

The pure halves, `encode` and `decode`, and what stands between them are imported from their modules; so is
the kit in `testing`.
"""

from caliban_provider_ollama.factory import FACTORY, OllamaFactory

__all__ = ["FACTORY", "OllamaFactory"]
