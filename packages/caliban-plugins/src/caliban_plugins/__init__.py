"""Plugins: bundles of skills, commands, agents, styles, hooks and servers, by name and digest."""

from caliban_plugins.archive import unpack
from caliban_plugins.capability import Capability, capabilities, capability_changes
from caliban_plugins.errors import (
    ArchiveRefused,
    ManifestRefused,
    MarketplaceRefused,
    NoSuchPlugin,
    PluginFailed,
    PluginPathRefused,
    SignatureRefused,
    SourceFailed,
    StoreUnusable,
    TreeRefused,
)
from caliban_plugins.market import Marketplace, read_market
from caliban_plugins.plugin import Plugin, PluginFile, read_plugin
from caliban_plugins.record import InstalledPlugin, PluginRecords
from caliban_plugins.servers import PluginServer
from caliban_plugins.store import PluginStore
from caliban_plugins.tree import read_tree, tree_digest

__all__ = [
    "ArchiveRefused",
    "Capability",
    "InstalledPlugin",
    "ManifestRefused",
    "Marketplace",
    "MarketplaceRefused",
    "NoSuchPlugin",
    "Plugin",
    "PluginFailed",
    "PluginFile",
    "PluginPathRefused",
    "PluginRecords",
    "PluginServer",
    "PluginStore",
    "SignatureRefused",
    "SourceFailed",
    "StoreUnusable",
    "TreeRefused",
    "capabilities",
    "capability_changes",
    "read_market",
    "read_plugin",
    "read_tree",
    "tree_digest",
    "unpack",
]
