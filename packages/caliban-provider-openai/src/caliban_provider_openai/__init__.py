"""OpenAI for Caliban: Responses and Chat Completions, Azure and compatible servers included.

The pure halves of each interface (`responses`, `chat`) and the transports are imported from their modules; so
is the kit in `testing`.
"""

from caliban_provider_openai.factory import FACTORY, OpenAIFactory

__all__ = ["FACTORY", "OpenAIFactory"]
