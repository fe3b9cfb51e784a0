"""What a setting is: its form, how scopes merge, and who may set it.

The form of a value is written in the words of JSON Schema (a small part of it, which `check` reads). In a
path, `*` stands for any name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

Scope: TypeAlias = Literal["managed", "user", "project", "local", "cli"]
SCOPES: Final[tuple[Scope, ...]] = ("managed", "user", "project", "local", "cli")
"""Lowest first."""

ANYONE: Final = SCOPES
PERSON: Final[tuple[Scope, ...]] = ("managed", "user", "cli")
"""Those that no repository can write: the administrator's, the user's and the command line's."""

Merge: TypeAlias = Literal["highest", "join", "append", "strictest"]
"""`highest`: the highest scope's value. `join`: lists one behind the other, lower scopes first, without
doubles. `append`: the same with doubles. `strictest`: true when any scope says true."""

Guard: TypeAlias = Literal["free", "trust", "limit", "tighten", "rules", "environment", "inside", "server"]
"""What a value from a repository (scopes project and local) needs.

`free`: nothing. `trust`: the workspace must be trusted. `limit`: likewise, unless it is no more than what
the person allows. `tighten`: only `true` counts. `rules`: allow rules need trust. `environment`: trust, and
a name that is known to be harmless. `inside`: a directory inside the workspace. `server`: trust, and nothing
of a server that a person defined is changed.
"""

Form: TypeAlias = Mapping[str, Any]


class Key(Struct, frozen=True, kw_only=True):
    """One setting. `restart` marks what a running session does not take over.

    `later` is what it needs and this version has not, with its verb; a `safeguard` is then refused, for who
    set it relies on it.
    """

    path: str
    form: Form
    doc: str
    merge: Merge = "highest"
    scopes: tuple[Scope, ...] = ANYONE
    guard: Guard = "free"
    restart: bool = False
    default: Any = None
    aliases: tuple[str, ...] = ()
    later: str = ""
    safeguard: bool = False


TEXT: Final[Form] = {"type": "string"}
NAME: Final[Form] = {"type": "string", "pattern": r"[^ \t\r\n]"}
"""A text that names something: a blank one would count as none, and another be taken without a word."""
FLAG: Final[Form] = {"type": "boolean"}
TEXTS: Final[Form] = {"type": "array", "items": TEXT}
TABLE: Final[Form] = {"type": "object"}
COUNT: Final[Form] = {"type": "integer", "minimum": 0}
SECONDS: Final[Form] = {"type": "number", "minimum": 0}
VALUE: Final[Form] = {"type": ["string", "integer", "number", "boolean"]}
ANY: Final[Form] = {}
MODEL: Final[Form] = {
    "anyOf": [
        NAME,
        {"type": "object", "properties": {"provider": NAME, "name": NAME}, "required": ["name"]},
    ]
}
PRICE: Final[Form] = {"type": "number", "minimum": 0}
DESCRIBED: Final[Form] = {
    "type": "object",
    "properties": {
        "window": {"type": "integer", "minimum": 1},
        "max_output": {"type": "integer", "minimum": 1},
        "vision": FLAG,
        "documents": FLAG,
        "tools": FLAG,
        "thinking": FLAG,
        "price": {
            "type": "object",
            "properties": {"input": PRICE, "output": PRICE, "cache_read": PRICE, "cache_write": PRICE},
            "required": ["input", "output"],
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
RULE: Final[Form] = {
    "type": "object",
    "properties": {
        "pattern": TEXT,
        "action": {"enum": ["allow", "ask", "deny"]},
        "comment": TEXT,
        "reason": TEXT,
        "expires_at": TEXT,
    },
    "required": ["pattern", "action"],
    "additionalProperties": False,
}
STATUS_LINE: Final[Form] = {
    "type": "object",
    "properties": {
        "command": TEXT,
        "timeout_ms": {"type": "integer", "minimum": 50, "maximum": 5000},
        "padding": {"type": "integer", "minimum": 0, "maximum": 8},
    },
    "required": ["command"],
}
HELPER: Final[Form] = {
    "type": "object",
    "properties": {
        "command": TEXT,
        "args": TEXTS,
        "provider": TEXT,
        "refreshIntervalMs": COUNT,
        "slowHelperWarningMs": COUNT,
    },
    "required": ["command"],
}
HELPERS: Final[Form] = {"anyOf": [TEXT, HELPER, {"type": "array", "items": HELPER}]}
MODES: Final[Form] = {"enum": ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]}
NAMED: Final[Form] = {
    "anyOf": [
        TEXT,
        {
            "type": "object",
            "properties": {"name": TEXT, "url": TEXT, "command": TEXTS},
            "additionalProperties": False,
        },
    ]
}
"""A server by its name, or by one of its name, its address (`*` stands for anything) and its whole
command."""
SHARE: Final[Form] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
