"""Layered settings: five scopes, one table that knows every key, one frozen value."""

from caliban_settings.errors import SettingsError
from caliban_settings.export import json_schema
from caliban_settings.grants import ProjectSetting
from caliban_settings.guard import Withheld
from caliban_settings.key import SCOPES, Key, Scope
from caliban_settings.leaves import ValueOrigin
from caliban_settings.load import ServerSources, SettingsLayers, load_settings, read_layers
from caliban_settings.schema import SCHEMA
from caliban_settings.settings import Settings
from caliban_settings.unbuilt import Unbuilt

__all__ = [
    "SCHEMA",
    "SCOPES",
    "Key",
    "ProjectSetting",
    "Scope",
    "ServerSources",
    "Settings",
    "SettingsError",
    "SettingsLayers",
    "Unbuilt",
    "ValueOrigin",
    "Withheld",
    "json_schema",
    "load_settings",
    "read_layers",
]
