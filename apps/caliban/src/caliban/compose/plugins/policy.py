"""Which plugins count, and where they may come from: a person's switches and the administrator's lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from caliban_common.text import one_line
from caliban_plugins.record import InstalledPlugin, PluginRecords
from caliban_plugins.signature import read_public_key
from caliban_plugins.source import PluginSource
from caliban_settings import Settings
from caliban_settings.key import PERSON

ENABLED: Final = "CALIBAN_ENABLED_PLUGINS"
BLOCKED: Final = "CALIBAN_BLOCKED_MARKETPLACES"
STRICT: Final = "CALIBAN_STRICT_KNOWN_MARKETPLACES"
LIST: Final = "plugins.marketplaces.strict_known"

KEYS: Final = "plugins.marketplaces.keys"
_OWNER: Final = r"[A-Za-z0-9][\w.-]*/[\w.-]+"
_REMOTE: Final = (
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<host>[^/:@?#]+)(?::\d+)?/|[^@/:]+@(?P<name>[^/:]+):)(?P<path>[^?#]*)"
    r"(?:[?#].*)?"
)


def settled_keys(settings: Settings, name: str) -> tuple[str, ...]:
    """The public keys that settings name for a marketplace, the administrator's before a person's.

    Raises `SignatureRefused` for one that is none.
    """
    return tuple(read_public_key(key).text for key in (settings.get(KEYS) or {}).get(name) or ())


def is_enabled(plugin: InstalledPlugin, settings: Settings, environ: Mapping[str, str]) -> bool:
    """Whether an installed plugin counts: the variable, then settings, then what the command wrote down."""
    names = (plugin.id, plugin.name)
    only = environ.get(ENABLED)
    if only:
        return any(name in _names(only) for name in names)
    table = settings.get("enabled_plugins") or {}
    for name in names:
        if name in table:
            return bool(table[name])
    listed = settings.get("plugins.enabled")
    if listed is not None:
        return any(name in listed for name in names)
    return plugin.enabled


def trust_message(settings: Settings) -> str:
    """Words of the administrator, or of a person, that stand before the question."""
    return str(settings.get("plugins.trust_message") or "")


def named_in_vain(settings: Settings, environ: Mapping[str, str], known: set[str]) -> tuple[str, ...]:
    """Plugins that somebody wants, and that are not there."""
    wanted = [name for name, is_on in (settings.get("enabled_plugins") or {}).items() if is_on]
    wanted += [*(settings.get("plugins.enabled") or ()), *_names(environ.get(ENABLED, ""))]
    return tuple(one_line(name, max_chars=100) for name in dict.fromkeys(wanted) if name not in known)


def source_problem(
    source: PluginSource,
    name: str,
    settings: Settings,
    environ: Mapping[str, str],
    records: PluginRecords,
) -> str:
    """Why nothing may come from `source`, the marketplace `name` or a place of its own; empty if it may."""
    blocked = {*(settings.get("plugins.marketplaces.blocked") or ()), *_names(environ.get(BLOCKED, ""))}
    places = {_place(text) for text in blocked}
    if blocked & set(_spellings(source, name)) or _place(source.at) in places:
        return f"{name or source.at} is blocked (plugins.marketplaces.blocked)"
    for scope in PERSON:
        listed = _strict_list(settings, scope)
        if listed is not None and not set(listed) & set(_spellings(source, "")):
            return f"{source.at} is not in {LIST} of the {scope} settings"
    if environ.get(STRICT) and source not in {market.source for market in records.marketplaces}:
        return f"{source.at} is no marketplace that was added, and {STRICT} is set"
    return ""


def _strict_list(settings: Settings, scope: str) -> list[str] | None:
    """The list of one scope: each scope that has one must have the place, for none may widen another's."""
    value: Any = settings.layers.get(scope, {})  # type: ignore[call-overload]
    for name in LIST.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return list(value) if value is not None else None


def _spellings(source: PluginSource, name: str) -> tuple[str, ...]:
    """How a person may have written a place."""
    short = source.at.removeprefix("https://github.com/").removesuffix(".git")
    return tuple(
        filter(None, (name, source.at, source.at.removesuffix(".git"), source.at.rstrip("/"), short))
    )


def _place(text: str) -> str:
    """A place in one spelling, however a person writes it: what is blocked is so by every road to it."""
    plain = text.strip()
    if re.fullmatch(_OWNER, plain) is not None:
        plain = f"https://github.com/{plain}"
    match = re.fullmatch(_REMOTE, plain, re.I)
    if match is None:
        return plain.rstrip("/")
    path = re.sub(r"/+", "/", unquote(match["path"])).strip("/").lower().removesuffix(".git")
    host = (match["host"] or match["name"]).lower().rstrip(".")
    return f"{host}/{path}"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
