"""Where a plugin or a marketplace comes from, as a person or an index writes it."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_plugins.errors import MarketplaceRefused, PluginPathRefused, SourceFailed
from caliban_plugins.paths import inner_path, shown_path
from caliban_plugins.table import JsonTable

SourceKind: TypeAlias = Literal["folder", "git", "archive", "index"]
"""A directory, a git repository, an archive (a file or an address), a JSON file at an address."""

GITHUB: Final = "https://github.com"
_OWNER: Final = lazy_pattern(r"[A-Za-z0-9][\w.-]{0,99}/[A-Za-z0-9_][\w.-]{0,99}", re.ASCII)
_SSH: Final = lazy_pattern(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:[\w./~@+-]+", re.ASCII)
_URL: Final = lazy_pattern(r"(https|ssh)://[^\s\x00-\x20\x7f\"'`<>\\^{|}]+", re.ASCII)
_REF: Final = lazy_pattern(r"[A-Za-z0-9_][\w./+@-]{0,199}", re.ASCII)
_HEX: Final = lazy_pattern(r"[0-9a-f]{64}")
_COMMIT: Final = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
SIGNATURES: Final = ("signature", "signatures", "sigstore", "minisign", "cosign", "gpg", "attestation")
"""Members that say that an entry is signed; no verifier of any of these is part of this version."""


class PluginSource(Struct, frozen=True, kw_only=True):
    """One place.

    `at` is a path or an address; `ref` names a branch or a tag, `commit` and `sha256` pin what must be found
    there; `inside` is the folder of the plugin within it, empty for the whole.
    """

    kind: SourceKind
    at: str
    ref: str = ""
    commit: str = ""
    sha256: str = ""
    inside: str = ""

    @property
    def words(self) -> str:
        """The place for a person."""
        pin = self.commit[:12] or self.ref
        within = f", in {self.inside}" if self.inside else ""
        return f"{self.kind} {self.at}{f' at {pin}' if pin else ''}{within}"


def folder_source(at: str, *, inside: str = "") -> PluginSource:
    """A folder of this machine. Raises `SourceFailed` for a path that leads out of it."""
    return PluginSource(kind="folder", at=at, inside=_inside(inside))


def git_source(
    url: str, *, ref: str = "", commit: str = "", inside: str = "", local: bool = False
) -> PluginSource:
    """A git repository.

    Only https and ssh, and with `local` a path of this machine, which a person must have typed. Raises
    `SourceFailed`.
    """
    given = f"{GITHUB}/{url}.git" if _OWNER.fullmatch(url) is not None else url
    if given.startswith("https://") and "@" in given.split("/")[2]:
        raise SourceFailed("an address with a name or a password in it is not asked, and not written down")
    if not (_is_remote(given) or (local and PurePath(given).is_absolute())):
        raise SourceFailed(
            f"{shown_path(url)} is no address of a git repository that may be asked",
            hint="https://, ssh:// or owner/name",
        )
    if ref and (_REF.fullmatch(ref) is None or ".." in ref or ref.endswith((".lock", "/"))):
        raise SourceFailed(f"{shown_path(ref)} is no name of a branch or a tag")
    if commit and _COMMIT.fullmatch(commit) is None:
        raise SourceFailed(f"{shown_path(commit)} is no commit: 40 or 64 hexadecimal digits")
    return PluginSource(kind="git", at=given, ref=ref, commit=commit, inside=_inside(inside))


def archive_source(at: str, *, sha256: str = "", inside: str = "", local: bool = False) -> PluginSource:
    """An archive at an https address, or with `local` a file. Raises `SourceFailed`."""
    is_web = _URL.fullmatch(at) is not None and at.startswith("https://")
    if not is_web and not (local and PurePath(at).is_absolute()) and not _is_loopback(at):
        raise SourceFailed(f"{shown_path(at)} is no https address", hint="plain http is not asked")
    if sha256 and _HEX.fullmatch(sha256) is None:
        raise SourceFailed(f"{shown_path(sha256)} is no SHA-256: 64 hexadecimal digits")
    return PluginSource(kind="archive", at=at, sha256=sha256, inside=_inside(inside))


def source_of(table: JsonTable, base: PluginSource | None, root: str = "") -> PluginSource:
    """The source in an entry of a Claude marketplace at `base`, whose plugins lie below `root`.

    Raises `ManifestRefused`, `SourceFailed` and `MarketplaceRefused`.
    """
    refuse_signed(table)
    value = table.values.get("source")
    if isinstance(value, str):
        if base is None or base.kind == "index":
            raise table.error("source", "is a path, and the index is no folder and no repository")
        try:
            path = "" if value in (".", "./") else inner_path(value)
        except PluginPathRefused as error:
            raise table.error("source", f"must stay in the marketplace: {error.message}") from error
        inside = "/".join(filter(None, (base.inside, root, path)))
        return PluginSource(kind=base.kind, at=base.at, ref=base.ref, commit=base.commit, inside=inside)
    below = table.table("source")
    if below is None:
        raise table.error("source", "is missing")
    kind = below.text("source", required=True)
    ref, commit = below.text("ref"), below.text("sha") or below.text("commit")
    match kind:
        case "github":
            return git_source(
                below.text("repo", required=True), ref=ref, commit=commit, inside=below.text("path")
            )
        case "url" | "git" | "git-subdir":
            return git_source(
                below.text("url", required=True), ref=ref, commit=commit, inside=below.text("path")
            )
        case "archive" | "tarball":
            return archive_source(below.text("url", required=True), sha256=below.text("sha256"))
        case _:
            raise below.error("source", f"is {kind!r}: plugins come by git, as folders and as archives here")


def refuse_signed(table: JsonTable) -> None:
    """Refuse an entry that is signed: what cannot be verified is not taken for verified.

    Raises `MarketplaceRefused`.
    """
    signed = [name for name in SIGNATURES if table.values.get(name)]
    if signed:
        raise MarketplaceRefused(
            f"{table.place}: it is signed (`{signed[0]}`), and this version verifies no signatures",
            hint="fetch and verify it yourself, then install the folder",
        )


def _inside(path: str) -> str:
    try:
        return inner_path(path) if path not in ("", ".", "./") else ""
    except PluginPathRefused as error:
        raise SourceFailed(error.message) from error


def _is_remote(text: str) -> bool:
    return _URL.fullmatch(text) is not None or _SSH.fullmatch(text) is not None


def _is_loopback(text: str) -> bool:
    """An http address of this machine: whether it may be asked is for the guard to say."""
    return re.fullmatch(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?/[^\s\"'<>\\]*", text) is not None
