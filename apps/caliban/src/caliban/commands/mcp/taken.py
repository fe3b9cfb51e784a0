"""A server as another program writes it, taken over into our own words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from caliban_common.text import one_line
from caliban_settings.server_files import servers_of
from caliban_settings.server_keys import SERVER_KEYS
from caliban_settings.server_names import server_name

TABLE: Final = "mcp_servers"
_CODEX: Final[Mapping[str, str]] = {
    "bearer_token_env_var": "bearer_token_env",
    "startup_timeout_sec": "start_timeout_s",
    "tool_timeout_sec": "tool_timeout_s",
    "http_headers": "headers",
}
_MILLISECONDS: Final = "startup_timeout_ms"
_PLACES: Final[Mapping[str, str]] = {
    "workspaceFolder": "${CLAUDE_PROJECT_DIR}",
    "workspaceRoot": "${CLAUDE_PROJECT_DIR}",
    "userHome": "${HOME}",
    "pathSeparator": os.sep,
    "/": os.sep,
}
"""What editors fill in, as it is written here."""
_FILLED: Final = r"\$\{(env:|input:)?([^${}:]+)(?::[^${}]*)?\}"


class TakenServer(Struct, frozen=True, kw_only=True):
    """A server in our words. `notes` say what of it is otherwise than it was."""

    name: str
    table: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def taken_over(name: str, table: Mapping[str, Any]) -> TakenServer:
    """The server `name` of another program; what only that one knows is left out, and named."""
    own = server_name(name) or name
    shown = one_line(name, max_chars=80)
    notes = [] if own == name else [f"that is {shown!r}, which is no name for a server here"]
    ours = servers_of({_CODEX.get(member, member): value for member, value in table.items()})
    _take_variables(ours)
    milliseconds = ours.pop(_MILLISECONDS, None)
    if isinstance(milliseconds, int | float) and "start_timeout_s" not in ours:
        ours["start_timeout_s"] = milliseconds / 1000
    if (scopes := ours.pop("scopes", None)) and isinstance(scopes, list):
        ours["oauth_config"] = {"scopes": scopes, **(ours.get("oauth_config") or {})}
    if "envFile" in ours:
        notes.append("its envFile is not read: write what it needs of that into its env")
        del ours["envFile"]
    known = _known()
    left_out = [member for member in ours if member not in known]
    if left_out:
        shown = ", ".join(one_line(member, max_chars=40) for member in left_out)
        notes.append(f"left out, for nothing here reads it: {shown}")
    asked: list[str] = []
    kept = {member: _filled(value, asked) for member, value in ours.items() if member in known}
    notes += (
        f"nobody asks for its ${{input:…}} here: export {variable}=… before a run" for variable in asked
    )
    return TakenServer(name=own, table=kept, notes=tuple(notes))


def _take_variables(table: dict[str, Any]) -> None:
    """Variables that Codex hands on by their names, to a program and in headers, as values of ours."""
    names = table.pop("env_vars", None)
    if isinstance(names, list):
        given = [one.get("name") if isinstance(one, Mapping) else one for one in names]
        more = {one: f"${{{one}:-}}" for one in given if isinstance(one, str)}
        table["env"] = {**more, **(table.get("env") or {})}
    headers = table.pop("env_http_headers", None)
    if isinstance(headers, Mapping):
        more = {name: f"${{{variable}}}" for name, variable in headers.items()}
        table["headers"] = {**(table.get("headers") or {}), **more}


def _known() -> frozenset[str]:
    """The members of an entry that settings know, under all of their names."""
    paths = [key.path.split(".") for key in SERVER_KEYS if key.path.startswith(f"{TABLE}.")]
    aliases = (alias for key in SERVER_KEYS if key.path.startswith(f"{TABLE}.") for alias in key.aliases)
    return frozenset((*(path[2] for path in paths), *aliases))


def _filled(value: Any, asked: list[str]) -> Any:
    """`value` with what an editor fills in as we write it; `asked` has what that one asks a person for."""
    if isinstance(value, str):
        return re.sub(_FILLED, lambda match: _one(match, asked), value)
    if isinstance(value, list):
        return [_filled(one, asked) for one in value]
    if isinstance(value, Mapping):
        return {name: _filled(one, asked) for name, one in value.items()}
    return value


def _one(match: re.Match[str], asked: list[str]) -> str:
    kind, name = match[1], match[2]
    if kind == "input:":
        variable = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
        variable = variable if re.match(r"[A-Z]", variable) else f"INPUT_{variable}"
        if variable not in asked:
            asked.append(variable)
        return f"${{{variable}}}"
    if kind == "env:":
        return f"${{{name}}}"
    return _PLACES.get(name, match[0])
