"""MCP servers as other harnesses write them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_settings.foreign.translated import Carried, ForeignPath, Found, NotCarried
from caliban_settings.server_names import server_name

_SAME: Final[Mapping[str, str]] = MappingProxyType(
    {
        "type": "type",
        "transport": "type",
        "command": "command",
        "args": "args",
        "env": "env",
        "cwd": "cwd",
        "url": "url",
        "headers": "headers",
        "http_headers": "headers",
        "disabled": "disabled",
        "headersHelper": "headers_helper",
        "bearer_token_env_var": "bearer_token_env",
        "enabled_tools": "enabled_tools",
        "disabled_tools": "disabled_tools",
        "enabledTools": "enabled_tools",
        "disabledTools": "disabled_tools",
        "startup_timeout_sec": "start_timeout_s",
        "tool_timeout_sec": "tool_timeout_s",
        "required": "required",
    }
)
_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"stdio": "stdio", "http": "http", "streamable-http": "http", "streamable_http": "http", "sse": "sse"}
)


def read_servers(value: Any, source: ForeignPath) -> Found:
    """Each server of a table, member by member; what one has that ours has not is named."""
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    for name, server in value.items():
        if isinstance(server, Mapping):
            yield from _server(str(name), server, (*source, name))
        else:
            yield NotCarried(path=(*source, name), why="it is no table")


def _server(name: str, server: Mapping[str, Any], source: ForeignPath) -> Found:
    own = ("mcp_servers", server_name(name) or name)
    if "url" in server and not {"type", "transport"} & server.keys():
        yield Carried(path=(*own, "type"), value="http", source=source)
    for member, value in server.items():
        here = (*source, member)
        if member == "enabled":
            yield Carried(path=(*own, "disabled"), value=value is False, source=here)
        elif member == "timeout" and isinstance(value, int | float) and not isinstance(value, bool):
            yield Carried(path=(*own, "tool_timeout_s"), value=value / 1000, source=here)
        elif member == "alwaysLoad" and isinstance(value, bool):
            yield Carried(path=(*own, "lazy"), value=not value, source=here)
        elif member == "oauth" and isinstance(value, Mapping):
            for inner, text in value.items():
                yield Carried(path=(*own, "oauth_config", str(inner)), value=text, source=(*here, inner))
        elif member == "env_http_headers" and isinstance(value, Mapping):
            for header, variable in value.items():
                path = (*own, "headers", str(header))
                yield Carried(path=path, value=f"${{{variable}}}", source=(*here, header))
        elif member not in _SAME:
            yield NotCarried(path=here, why="it has no equal here")
        elif _SAME[member] == "type" and value not in _TYPES:
            yield NotCarried(path=here, why=f"servers of the type {value!r:.40} are not spoken to here")
        elif isinstance(value, Mapping):
            for inner, text in value.items():
                path = (*own, _SAME[member], str(inner))
                yield Carried(path=path, value=text, source=(*here, inner))
        else:
            value = _TYPES[value] if _SAME[member] == "type" else value
            yield Carried(path=(*own, _SAME[member]), value=value, source=here)
