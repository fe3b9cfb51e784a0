"""Entries of servers that no run could use, told when they are written and not when they fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from caliban_common.text import one_line
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.variables import expanded

_HEADER_NAME: Final = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"


def entry_problem(table: Mapping[str, Any]) -> str | None:
    """Why no run could use an entry, or `None`. What is of a wrong type is for the schema of settings."""
    command, url = table.get("command"), table.get("url")
    if command is not None and url is not None:
        return "has both a command and a url: it is a program, or at an address"
    if command == "" or url == "":
        return "has a command, or a url, that is empty"
    kind = table.get("type")
    if kind == "stdio" and command is None:
        return "is of the type stdio, a program, and has no command"
    if kind in ("http", "sse") and url is None:
        return f"is of the type {kind} and has no url"
    problems = (problem for where, text in _texts(table) if (problem := _of_text(where, text)))
    return next(problems, None) or _of_headers(table) or _of_env(table)


def _texts(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text of the entry that is handed to the system or to a server, and where it stands."""
    for where, value in table.items():
        below = (
            value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else (value,)
        )
        yield from ((where, text) for text in below if isinstance(text, str))
        if isinstance(value, Mapping):
            yield from ((where, name) for name in value)


def _of_text(where: str, text: str) -> str | None:
    if "\0" in text:
        return f"has a NUL in its {where}, which no program and no address takes"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"has a text in its {where} that is no UTF-8"
    if where in ("command", "args", "cwd", "env", "url", "headers"):
        try:
            expanded(text, lambda _: "")
        except ServerMisconfigured as error:
            return f"cannot be filled in: {where}: {error.message}"
    return None


def _of_headers(table: Mapping[str, Any]) -> str | None:
    headers = table.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if re.fullmatch(_HEADER_NAME, name) is None:
            return f"has a header that HTTP does not allow: {one_line(name, max_chars=60)!r}"
        if isinstance(value, str) and not (value.isascii() and value.isprintable()):
            return f"has a header {name} whose value holds what HTTP does not allow, such as an end of a line"
    return None


def _of_env(table: Mapping[str, Any]) -> str | None:
    env = table.get("env")
    for name in env if isinstance(env, Mapping) else ():
        if not name or "=" in name:
            return f"has a variable that cannot be: {one_line(name, max_chars=60)!r}"
    return None
