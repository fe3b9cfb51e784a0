"""What servers and their tools are called, in this run and in every other: names depend on nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from caliban_common.digest import sha256

PREFIX: Final = "mcp__"
MAX_CHARS: Final = 64
"""The longest name of a tool that every vendor takes."""

MAX_SERVER_CHARS: Final = 64
_HASH_CHARS: Final = 8
_SERVER: Final = r"[A-Za-z0-9_-]{1,64}"
_OF_PLUGIN: Final = r"[a-z0-9-]+:[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*"
MAX_PART_CHARS: Final = 40
"""Of the name of a plugin's server within those of its tools."""


def name_problem(name: str) -> str | None:
    """Why no server can be called `name`, or `None`: letters of ASCII, digits, - and _, and no `__` in it."""
    if re.fullmatch(_SERVER, name) is None:
        return f"1 to {MAX_SERVER_CHARS} of the letters a-z and A-Z, digits, - and _ make a name"
    if "__" in name or name.endswith("_"):
        return "a __ parts the server from the tool, so a name neither holds it nor ends in _"
    return None


def name_part(server: str) -> str:
    """What stands for a server in the names of its tools: its name.

    `plugin:server`, as the servers of plugins are called, is `plugin_NAME_SERVER`; where two could be meant
    by that, or it is long, a digest of the whole name ends it.
    """
    if ":" not in server:
        return server
    plain = "plugin_" + re.sub(r"[^A-Za-z0-9-]+", "_", server).strip("_")
    if len(plain) <= MAX_PART_CHARS and re.fullmatch(_OF_PLUGIN, server) is not None:
        return plain
    digest = sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{plain[: MAX_PART_CHARS - 1 - _HASH_CHARS].rstrip('_')}_{digest}"


def full_name(server: str, tool: str) -> str:
    """The name that rules speak of, whatever its length and its characters."""
    return f"{PREFIX}{name_part(server)}__{tool}"


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The names of the `tools` of a server, by the names that it gives them itself.

    A tool whose own name fits keeps it. Others lose what no name may hold; one that is too long then, or
    called like another, is cut and ends in a digest of its own name: the same one in whatever company it
    comes.
    """
    given = tuple(dict.fromkeys(tools))
    plain = {tool: full_name(server, re.sub(r"[^A-Za-z0-9_-]", "_", tool)) for tool in given}
    counts = Counter(plain.values())
    return {
        tool: name
        if len(name) <= MAX_CHARS and (counts[name] == 1 or name == full_name(server, tool))
        else _cut(name, server, tool)
        for tool, name in plain.items()
    }


def _cut(name: str, server: str, tool: str) -> str:
    data = f"{server}\0{tool}".encode("utf-8", "surrogatepass")
    tail = f"_{sha256(data).hexdigest()[:_HASH_CHARS]}"
    return f"{name[: MAX_CHARS - len(tail)]}{tail}"
