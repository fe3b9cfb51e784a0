"""Claude for Caliban: the Anthropic Messages API as a provider.

The pure halves, `encode` and `decode`, and the transport between them are imported from their modules; so is
the kit in `testing`.
"""

from caliban_provider_anthropic.factory import FACTORY, AnthropicFactory

__all__ = ["FACTORY", "AnthropicFactory"]
