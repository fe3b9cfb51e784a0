"""The errors of this package.

PluginFailed
├── PluginPathRefused    a path leads out of a plugin, or no file may have its name
├── TreeRefused          a plugin holds what none may: links, devices, doubles, too much
├── ArchiveRefused       an archive is damaged, or holds what no plugin may
├── ManifestRefused      a manifest or an index says something else than its format
├── SourceFailed         a source could not be fetched, or is not what was pinned
├── SignatureRefused     a signature is missing, damaged, of another key, or of something else
├── MarketplaceRefused   a marketplace is blocked, not listed, or has no such plugin
├── NoSuchPlugin         there is no plugin, or no marketplace, of that name
└── StoreUnusable        what is kept is damaged, locked, or could be written by others
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class PluginFailed(CalibanError):
    """A plugin cannot be used."""


class PluginPathRefused(PluginFailed):
    """A path is none of a plugin."""


class TreeRefused(PluginFailed):
    """A folder is no plugin as it is."""


class ArchiveRefused(PluginFailed):
    """An archive is not unpacked."""


class ManifestRefused(PluginFailed):
    """A file that describes a plugin, or a list of them, cannot be believed."""


class SourceFailed(PluginFailed):
    """A plugin did not come from where it is."""


class SignatureRefused(PluginFailed):
    """What should be signed is not, or not by who should have."""


class MarketplaceRefused(PluginFailed):
    """A marketplace may not be used for this."""


class NoSuchPlugin(PluginFailed):
    """Nothing has that name."""


class StoreUnusable(PluginFailed):
    """The folder of plugins cannot be used."""
