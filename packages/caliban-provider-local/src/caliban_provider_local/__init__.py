"""A language model inside this process, as a provider of Caliban: no key, no network."""

from caliban_provider_local.errors import LoadFailed, NotAModel
from caliban_provider_local.factory import FACTORY, LocalFactory

__all__ = ["FACTORY", "LoadFailed", "LocalFactory", "NotAModel"]
