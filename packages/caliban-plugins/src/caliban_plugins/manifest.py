"""What a plugin says of itself: three layouts, one value.

`claude` has `.claude-plugin/plugin.json`, `portable` is Agent Plugins 1.0 (`plugin.json` that names its
schema), `own` is our `plugin.json`. A plugin without a manifest is what its marketplace says of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from caliban_plugins.errors import ManifestRefused
from caliban_plugins.paths import shown_path
from caliban_plugins.table import MAX_JSON_BYTES, JsonTable, read_table
from caliban_plugins.tree import is_file, read_file

Layout: TypeAlias = Literal["claude", "portable", "own", "given"]
"""`given`: there is no manifest, a marketplace describes it."""

NAME: Final = r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?"
"""Names of plugins and of marketplaces: they stand before a colon, in rules and in names of folders."""
CLAUDE: Final = ".claude-plugin/plugin.json"
PLAIN: Final = "plugin.json"
SCHEMA: Final = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
_SCHEMAS: Final = "https://agent-plugins.org/schemas/"

WHERE: Final = ("commands", "agents", "skills", "hooks", "outputStyles", "output_styles", "themes")
_SERVERS: Final = ("mcpServers", "mcp_servers")
_ABOUT: Final = (
    *("$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"),
    *("displayName", "category", "tags"),
)
_PORTABLE: Final = (
    *("$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords"),
    "extensions",
)
IDLE: Final = (
    *("lspServers", "monitors", "channels", "userConfig", "settings", "dependencies"),
    *("interface", "apps"),
)
"""Members by which another harness does something, and that do nothing here."""


class PluginManifest(Struct, frozen=True, kw_only=True):
    """A manifest.

    `where` are the places of parts that it names, a kind -> paths inside of the plugin; `hooks` and `servers`
    stand in the manifest itself. `notes` are what a person should know of it.
    """

    name: str
    layout: Layout
    path: str = ""
    version: str = ""
    description: str = ""
    author: str = ""
    license: str = ""
    homepage: str = ""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hooks: Mapping[str, Any] | None = None
    servers: Mapping[str, Any] | None = None
    platforms: tuple[str, ...] = ()
    min_version: str = ""
    notes: tuple[str, ...] = ()


def read_manifest(root: Path, given: JsonTable | None = None) -> PluginManifest:
    """The manifest of the plugin at `root`; `given` is what a marketplace says of one that has none.

    Raises `ManifestRefused`, `TreeRefused` and `FileFailed`.
    """
    if is_file(root, CLAUDE):
        manifest = _read(_opened(root, CLAUDE), "claude", CLAUDE)
        if is_file(root, PLAIN):
            other = _opened(root, PLAIN)
            if other.text("name") not in ("", manifest.name):
                raise other.error("name", f"is not that of {CLAUDE}, {manifest.name!r}")
        return manifest
    if is_file(root, PLAIN):
        table = _opened(root, PLAIN)
        schema = table.values.get("$schema")
        if isinstance(schema, str) and schema.startswith(_SCHEMAS):
            return _portable(table)
        return _read(table, "own", PLAIN)
    if given is None:
        raise ManifestRefused(f"{root} is no plugin: there is neither {CLAUDE} nor {PLAIN}")
    return _read(given, "given", "")


def check_name(name: str, table: JsonTable, member: str = "name") -> str:
    """`name` as that of a plugin or a marketplace. Raises `ManifestRefused`."""
    if re.fullmatch(NAME, name) is None or ".." in name or "--" in name:
        raise table.error(member, f"must be 1 to 64 of a-z, 0-9, - _ and ., not {shown_path(name)}")
    return name


def _opened(root: Path, path: str) -> JsonTable:
    return read_table(read_file(root, path, max_bytes=MAX_JSON_BYTES), str(root / path))


def _portable(table: JsonTable) -> PluginManifest:
    """By the rules of Agent Plugins 1.0: fixed places, a closed set of members, others told and ignored."""
    schema = table.text("$schema", required=True)
    if schema != SCHEMA:
        raise table.error("$schema", f"names a version that is not known here; {SCHEMA} is")
    author = table.table("author")
    if author is not None and (
        author.others(("name", "email", "url"))
        or not all(isinstance(text, str) for text in author.values.values())
    ):
        raise table.error("author", "may have the texts name, email and url alone")
    notes = [
        f"`{name}` is no member of Agent Plugins 1.0, and does nothing" for name in table.others(_PORTABLE)
    ]
    if not isinstance(table.values.get("extensions", {}), dict):
        notes.append("`extensions` is no object, and does nothing")
    if not isinstance(table.values.get("keywords", []), list):
        raise table.error("keywords", "must be a list of texts")
    table.texts("keywords")
    return PluginManifest(
        name=check_name(table.text("name", required=True), table),
        layout="portable",
        path=PLAIN,
        author=author.text("name") if author is not None else "",
        notes=tuple(notes),
        **_texts(table),
    )


def _read(table: JsonTable, layout: Layout, path: str) -> PluginManifest:
    components = table.table("components")
    own = table.table("caliban")
    where: dict[str, tuple[str, ...]] = {}
    inline: dict[str, Mapping[str, Any]] = {}
    for source in filter(None, (components, table)):
        for kind in WHERE:
            _place(source, kind, where, inline)
        for name in _SERVERS:
            _place(source, name, where, inline)
    experimental = table.table("experimental")
    if experimental is not None:
        _place(experimental, "themes", where, inline)
    known = (*_ABOUT, *WHERE, *_SERVERS, "components", "caliban", "strict", "source", "experimental", *IDLE)
    idle = [name for name in IDLE if table.values.get(name)]
    if experimental is not None:
        idle += (f"experimental.{name}" for name in experimental.others(("themes",)))
    notes = [f"{', '.join(idle)} does nothing in this version"] if idle else []
    if isinstance(table.values.get("commands"), dict):
        notes.append("commands that stand in the manifest itself are left out: write them as files")
    if layout != "given":
        notes += (f"`{name}` is not known here, and does nothing" for name in table.others(known))
    author = table.values.get("author")
    return PluginManifest(
        name=check_name(table.text("name", required=True), table),
        layout=layout,
        path=path,
        author=str(author.get("name", "")) if isinstance(author, dict) else table.text("author"),
        where=where,
        hooks=inline.get("hooks"),
        servers=inline.get("servers"),
        platforms=own.texts("platforms") if own is not None else (),
        min_version=own.text("min_version") if own is not None else "",
        notes=tuple(notes),
        **_texts(table),
    )


def _place(
    table: JsonTable, name: str, where: dict[str, tuple[str, ...]], inline: dict[str, Mapping[str, Any]]
) -> None:
    """Note where the parts of one kind are, or what stands in the manifest in their place."""
    value = table.values.get(name)
    if value is None:
        return
    kind = "servers" if name in _SERVERS else "styles" if name in ("outputStyles", "output_styles") else name
    if kind in ("hooks", "servers"):
        given = value if isinstance(value, list) else [value]
        tables = [one for one in given if isinstance(one, dict)]
        if tables:
            inline[kind] = _joined([inline.get(kind, {}), *tables])
        value = [one for one in given if not isinstance(one, dict)]
    elif kind == "commands" and isinstance(value, dict):
        return  # told in the notes
    where[kind] = (*where.get(kind, ()), *JsonTable({name: value}, table.place).paths(name))


def _joined(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Tables that stand in the place of files, as one; lists under one name behind each other."""
    joined: dict[str, Any] = {}
    for table in tables:
        inner = next(
            (table[name] for name in (*_SERVERS, "hooks") if isinstance(table.get(name), dict)), table
        )
        for name, value in inner.items():
            before = joined.get(name)
            both = isinstance(before, list) and isinstance(value, list)
            joined[name] = [*before, *value] if both else value  # type: ignore[misc]
    return joined


def _texts(table: JsonTable) -> dict[str, Any]:
    return {name: table.text(name) for name in ("version", "description", "license", "homepage")}
