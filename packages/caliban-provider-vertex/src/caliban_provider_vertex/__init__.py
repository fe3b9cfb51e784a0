"""Claude on Google Vertex, and on Azure AI Foundry, for Caliban: transports of `caliban-provider-anthropic`.

The kit for tests is in `testing`.
"""

from caliban_provider_vertex.factory import FACTORY, VertexFactory
from caliban_provider_vertex.foundry import FoundryFactory

__all__ = ["FACTORY", "FoundryFactory", "VertexFactory"]
