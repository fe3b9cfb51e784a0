"""Claude on Amazon Bedrock for Caliban: a transport of `caliban-provider-anthropic`.

The pure parts (`eventstream`, `framing`, `sigv4`, `models`) are imported from their modules; so is the kit in
`testing`.
"""

from caliban_provider_bedrock.factory import FACTORY, BedrockFactory

__all__ = ["FACTORY", "BedrockFactory"]
