"""Where a plugin or a marketplace comes from, as a person or an index writes it."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_plugins.errors import PluginPathRefused, SignatureRefused, SourceFailed
from caliban_plugins.paths import inner_path, shown_path
from caliban_plugins.signature import MAX_CHARS, UNTRUSTED
from caliban_plugins.table import JsonTable

SourceKind: TypeAlias = Literal["folder", "git", "archive", "index", "npm"]
"""A directory, a git repository, an archive (a file or an address), a JSON file at an address, a package."""

GITHUB: Final = "https://github.com"
_OWNER: Final = lazy_pattern(r"[A-Za-z0-9][\w.-]{0,99}/[A-Za-z0-9_][\w.-]{0,99}", re.ASCII)
_SSH: Final = lazy_pattern(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:[\w./~@+-]+", re.ASCII)
_URL: Final = lazy_pattern(r"(https|ssh)://[^\s\x00-\x20\x7f\"'`<>\\^{|}]+", re.ASCII)
_REF: Final = lazy_pattern(r"[A-Za-z0-9_][\w./+@-]{0,199}", re.ASCII)
_HEX: Final = lazy_pattern(r"[0-9a-f]{64}")
_COMMIT: Final = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")
SIGNATURE: Final = "signature"
"""The member with a signature of minisign: the text of its file, or the address of it."""
UNVERIFIED: Final = ("signatures", "sigstore", "minisign", "cosign", "gpg", "attestation")
"""Members that say that an entry is signed in another way; no verifier of these is part of this version."""
_PACKAGE: Final = lazy_pattern(r"(?:@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*")
_FILE: Final = lazy_pattern(r".*\.(?:tgz|tar|tar\.gz)")
_VERSION: Final = lazy_pattern(
    r"[A-Za-z][\w-]{0,60}|(?:[~^]|[<>]=?|=)?v?\d+(?:\.(?:\d+|[xX*])){0,2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)
MAX_PACKAGE_CHARS: Final = 214
LATEST: Final = "latest"


class PluginSource(Struct, frozen=True, kw_only=True):
    """One place.

    `at` is a path, an address or the name of a package; `ref` names a branch, a tag or a version, `commit`
    and `sha256` pin what must be found there; `inside` is the folder of the plugin within it, empty for the
    whole. `signature` is that of the archive, its text or where it is; `registry` has the package, the
    person's own where it is empty.
    """

    kind: SourceKind
    at: str
    ref: str = ""
    commit: str = ""
    sha256: str = ""
    inside: str = ""
    signature: str = ""
    registry: str = ""

    @property
    def words(self) -> str:
        """The place for a person."""
        pin = self.commit[:12] or self.ref
        within = f", in {self.inside}" if self.inside else ""
        of = f", of {self.registry}" if self.registry else ""
        return f"{self.kind} {self.at}{f' at {pin}' if pin else ''}{of}{within}"


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
    _refuse_login(given)
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
    _refuse_login(at)
    if not _is_web(at) and not (local and PurePath(at).is_absolute()):
        raise SourceFailed(f"{shown_path(at)} is no https address", hint="plain http is not asked")
    if sha256 and _HEX.fullmatch(sha256) is None:
        raise SourceFailed(f"{shown_path(sha256)} is no SHA-256: 64 hexadecimal digits")
    return PluginSource(kind="archive", at=at, sha256=sha256, inside=_inside(inside))


def npm_source(package: str, *, version: str = "", registry: str = "") -> PluginSource:
    """A package of npm: its name and a version, a simple range or a tag. Raises `SourceFailed`.

    Whatever else npm would take for a package, a path, an address or an alias, is none here.
    """
    name = package.rpartition("/")[2]
    if (
        len(package) > MAX_PACKAGE_CHARS
        or _PACKAGE.fullmatch(package) is None
        or _FILE.fullmatch(name) is not None
        or name in ("node_modules", "favicon.ico")
    ):
        raise SourceFailed(f"{shown_path(package)} is no name of a package of npm")
    if version and (len(version) > 100 or _VERSION.fullmatch(version) is None):
        raise SourceFailed(
            f"{shown_path(version)} is no version of a package",
            hint="1.2.3, ^1.2.3, ~1.2 or a tag; not several of them",
        )
    _refuse_login(registry)
    if registry and not _is_web(registry):
        raise SourceFailed(f"{shown_path(registry)} is no https address of a registry")
    return PluginSource(kind="npm", at=package, ref=version, registry=registry)


def source_of(table: JsonTable, base: PluginSource | None, root: str = "") -> PluginSource:
    """The source in an entry of a Claude marketplace at `base`, whose plugins lie below `root`.

    Raises `ManifestRefused`, `SourceFailed`, `SignatureRefused` and `MarketplaceRefused`.
    """
    source = _source(table, base, root)
    below = table.table("source") if isinstance(table.values.get("source"), dict) else None
    signatures = [signature_of(one) for one in (table, below) if one is not None]
    return signed(source, next(filter(None, signatures), ""), table)


def signed(source: PluginSource, signature: str, table: JsonTable) -> PluginSource:
    """`source` with its signature, where it is of a kind that has one. Raises `SignatureRefused`."""
    if signature and source.kind not in ("archive", "npm"):
        raise SignatureRefused(
            f"{table.place}: it is signed, and signatures of archives alone are verified here, not of "
            f"what comes by {source.kind}",
            hint="fetch and verify it yourself, then install the folder",
        )
    return replace(source, signature=signature)


def signature_of(table: JsonTable) -> str:
    """The signature in an entry: the text of its file, or its address; empty where there is none.

    Raises `SignatureRefused` for what is neither, and for members that nobody here verifies.
    """
    refuse_unverified(table)
    value = table.values.get(SIGNATURE)
    if value is None:
        return ""
    text = value if isinstance(value, str) and len(value) <= MAX_CHARS else ""
    if text.startswith(UNTRUSTED) or _is_web(text):
        return text
    raise SignatureRefused(
        f"{table.place}: `{SIGNATURE}` is neither a signature of minisign nor the https address of one",
        hint="the whole text of the .minisig file, or where it is",
    )


def _source(table: JsonTable, base: PluginSource | None, root: str) -> PluginSource:
    value = table.values.get("source")
    if isinstance(value, str):
        if base is None or base.kind == "index":
            raise table.error("source", "is a path, and the index is no folder and no repository")
        try:
            path = "" if value in (".", "./") else inner_path(value)
        except PluginPathRefused as error:
            raise table.error("source", f"must stay in the marketplace: {error.message}") from error
        if path == root or path.startswith(f"{root}/"):
            root = ""  # it is written from the marketplace on, for those who know no root
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
            return archive_source(below.text("url", required=True), sha256=below.text("sha256").lower())
        case "npm":
            return npm_source(
                below.text("package", required=True),
                version=below.text("version"),
                registry=below.text("registry"),
            )
        case _:
            raise below.error(
                "source", f"is {kind!r}: plugins come by git and npm, as folders and as archives here"
            )


def refuse_unverified(table: JsonTable, *more: str) -> None:
    """Refuse what is signed in a way that is not verified here: it is not taken for verified.

    Raises `SignatureRefused`.
    """
    named = [name for name in (*UNVERIFIED, *more) if table.values.get(name)]
    if named:
        raise SignatureRefused(
            f"{table.place}: it is signed (`{named[0]}`), and nothing but `{SIGNATURE}` of an archive, by "
            "minisign, is verified here",
            hint="fetch and verify it yourself, then install the folder",
        )


def _refuse_login(address: str) -> None:
    """Refuse an address with a password in it, or with any name for the web, without showing it.

    Raises `SourceFailed`.
    """
    scheme, mark, rest = address.partition("://")
    who, at, _ = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")
    if mark and at and (":" in who or scheme.lower() != "ssh"):
        raise SourceFailed("an address with a name or a password in it is not asked, and not written down")


def _inside(path: str) -> str:
    try:
        return inner_path(path) if path not in ("", ".", "./") else ""
    except PluginPathRefused as error:
        raise SourceFailed(error.message) from error


def _is_remote(text: str) -> bool:
    return _URL.fullmatch(text) is not None or _SSH.fullmatch(text) is not None


def _is_web(text: str) -> bool:
    """An https address, or one of this machine, without a name or a password in it."""
    is_https = _URL.fullmatch(text) is not None and text.startswith("https://")
    return (is_https and "@" not in text.split("/")[2]) or _is_loopback(text)


def _is_loopback(text: str) -> bool:
    """An http address of this machine: whether it may be asked is for the guard to say."""
    return re.fullmatch(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?/[^\s\"'<>\\]*", text) is not None
