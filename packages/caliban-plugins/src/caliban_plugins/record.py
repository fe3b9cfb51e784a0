"""What is written down of plugins: the lock file. Each plugin is pinned by the digest of all of its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from caliban_plugins.capability import Capability
from caliban_plugins.signature import SignedBy
from caliban_plugins.source import PluginSource

VERSION = 1


class InstalledVersion(Struct, frozen=True, kw_only=True):
    """One version that a person agreed to.

    `digest` is that of its tree, `stamp` what the files looked like once they were written; `commit` is what
    git found, `package` and `integrity` what npm did: its name and version, and its SHA-512. `signed` says
    who signed its archive. `installed_at` is RFC 3339 in UTC.
    """

    version: str
    digest: str
    manifest_sha256: str
    stamp: str
    installed_at: str
    commit: str = ""
    package: str = ""
    integrity: str = ""
    signed: SignedBy | None = None
    given: Mapping[str, Any] | None = None
    parts: tuple[Capability, ...] = ()


class InstalledPlugin(Struct, frozen=True, kw_only=True):
    """A plugin of this person: the version in use, the one before it, and where it came from.

    `marketplace` is empty for one that came by itself.
    """

    name: str
    source: PluginSource
    current: InstalledVersion
    previous: InstalledVersion | None = None
    marketplace: str = ""
    enabled: bool = True

    @property
    def id(self) -> str:
        """Its name and whose list it is from."""
        return f"{self.name}@{self.marketplace}" if self.marketplace else self.name

    @property
    def signed(self) -> SignedBy | None:
        """Who signed it: going back to a version from before that is no way around it."""
        return self.current.signed or (self.previous.signed if self.previous is not None else None)


class KnownMarketplace(Struct, frozen=True, kw_only=True):
    """A marketplace that a person added; `sha256` is that of its index as it was read last.

    What it offers must be signed by one of `keys`, public keys of minisign, where there are some.
    """

    name: str
    source: PluginSource
    sha256: str
    updated_at: str
    commit: str = ""
    keys: tuple[str, ...] = ()


class ProjectConsent(Struct, frozen=True, kw_only=True):
    """That a person agreed to one plugin of one project, as it was then."""

    root: str
    name: str
    digest: str


class PluginRecords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole lock file."""

    version: int = VERSION
    plugins: tuple[InstalledPlugin, ...] = ()
    marketplaces: tuple[KnownMarketplace, ...] = ()
    projects: tuple[ProjectConsent, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written down."""
        return not (self.plugins or self.marketplaces or self.projects)

    def plugin(self, name: str) -> InstalledPlugin | None:
        """The plugin called `name`, or `name@marketplace`."""
        return next((one for one in self.plugins if name in (one.name, one.id)), None)

    def marketplace(self, name: str) -> KnownMarketplace | None:
        """The marketplace called `name`."""
        return next((one for one in self.marketplaces if one.name == name), None)
