"""Layered settings: five scopes, one table that knows every key, one frozen value."""

from caliban_settings.errors import SettingsError
from caliban_settings.export import json_schema
from caliban_settings.guard import Withheld
from caliban_settings.leaves import ValueOrigin
from caliban_settings.load import load_settings
from caliban_settings.schema import SCHEMA, SCOPES, Key, Scope
from caliban_settings.settings import Settings

__all__ = [
    "SCHEMA",
    "SCOPES",
    "Key",
    "Scope",
    "Settings",
    "SettingsError",
    "ValueOrigin",
    "Withheld",
    "json_schema",
    "load_settings",
]
