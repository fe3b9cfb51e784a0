"""The grammar of a rule's pattern: which tool, and which calls of it.

    Tool               every call                    Bash:~glob        anywhere in a command, Bash only
    Tool:glob          the main argument matches     Bash(git log:*)   a command prefix, at a word's end
    Tool(glob)         the same                      Tool:a.b=g,c=g    named input fields, all of them
    *   mcp__x__*      tools by a glob of their name

A `:` before the first `(` makes the colon form. A pattern that cannot be read has a `problem`.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.names import OTHER_NAMES, SHELL, SHELL_FIELDS
from caliban_permissions.rules.glob import GlobSyntaxError, TextGlob, compile_text

_TOOL_NAME = lazy_pattern(r"[A-Za-z0-9_.*-]+")
_KEY = r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
_KEY_START = re.compile(_KEY + "=")
_NEXT_KEY = lazy_pattern(",(?=" + _KEY + "=)")


class Bare(Struct, frozen=True):
    """No argument part: every call of the tool."""


class ArgumentGlob(Struct, frozen=True):
    """A glob over the main argument, uncompiled: its dialect depends on what the argument is."""

    text: str


class Anywhere(Struct, frozen=True):
    """`~glob`: the glob occurs somewhere in a shell command."""

    text: str


class Prefix(Struct, frozen=True):
    """`text:*`: a shell command that is `text`, or begins with it and a blank."""

    text: str


class KeyPairs(Struct, frozen=True):
    """`key=glob` pairs, joined by and. A key with dots walks into nested objects."""

    text: str
    pairs: tuple[tuple[tuple[str, ...], str], ...]


Argument: TypeAlias = "Bare | ArgumentGlob | Anywhere | Prefix | KeyPairs"


class Pattern(Struct, frozen=True):
    """A parsed pattern. With a `problem` it matches nothing; `tool` then names what it was meant for."""

    text: str
    tool: TextGlob
    argument: Argument
    problem: str | None = None

    def names_tool(self, name: str) -> bool:
        """Whether the tool part matches this tool name, or one under which rules may speak of the tool."""
        return self.tool.matches(name) or (
            name in OTHER_NAMES and any(map(self.tool.matches, OTHER_NAMES[name]))
        )

    def names_server(self, name: str) -> bool:
        """Whether the pattern is the bare name of the MCP server that the tool belongs to."""
        server = self.tool.prefix
        return (
            isinstance(self.argument, Bare)
            and self.tool.exact
            and server.startswith("mcp__")
            and name.startswith(server + "__")
        )


def parse_pattern(text: str) -> Pattern:
    """Read a pattern; never raises: what is wrong with it is in `problem`."""
    colon, paren = text.find(":"), text.find("(")
    if colon >= 0 and (paren < 0 or colon < paren):
        return _with_argument(text, text[:colon], text[colon + 1 :])
    if paren < 0:
        return _build(text, text, Bare(), None)
    if not text.endswith(")"):
        return _build(text, text[:paren], Bare(), "the parenthesis is not closed")
    return _with_argument(text, text[:paren], text[paren + 1 : -1])


def _with_argument(text: str, tool: str, argument: str) -> Pattern:
    if not argument:
        return _build(text, tool, Bare(), "the argument part is empty")
    try:
        read = _argument(tool, argument)
        return _build(text, tool, read, _unnamed(tool, read))
    except GlobSyntaxError as error:
        return _build(text, tool, ArgumentGlob(argument), str(error))


def _unnamed(tool: str, argument: Argument) -> str | None:
    """Why no call of a tool of a server is meant by an argument: none of them is its main one."""
    if not tool.startswith("mcp__") or isinstance(argument, KeyPairs):
        return None
    return f"tools of servers have no main argument: say which one is meant, as in {tool}(name=words)"


def _build(text: str, tool: str, argument: Argument, problem: str | None) -> Pattern:
    if not tool:
        return Pattern(text, compile_text("\\*"), argument, "the tool name is missing")
    if _TOOL_NAME.fullmatch(tool) is None:
        return Pattern(text, compile_text("\\*"), argument, f"{tool!r} is not a tool name")
    return Pattern(text, compile_text(tool), argument, problem)


def _argument(tool: str, text: str) -> Argument:
    if tool == SHELL:
        return _bash_argument(text)
    if text.startswith("~") and not text.startswith("~/"):
        return Anywhere(text[1:])
    keys = _keys(text)
    if keys is not None:
        return keys
    compile_text(text)
    return ArgumentGlob(text)


def _bash_argument(text: str) -> Argument:
    if text.startswith("~"):
        if not text.strip("~ \t"):
            raise GlobSyntaxError("there is nothing after the '~'")
        compile_text(text[1:])
        return Anywhere(text[1:])
    if text.endswith(":*"):
        if not text[:-2].strip():
            raise GlobSyntaxError("there is nothing before the ':*'")
        compile_text(text[:-2])
        return Prefix(text[:-2])
    keys = _keys(text)
    if keys is not None and any(path[0] in SHELL_FIELDS for path, _ in keys.pairs):
        return keys
    compile_text(text)
    return ArgumentGlob(text)


def _keys(text: str) -> KeyPairs | None:
    if _KEY_START.match(text) is None:
        return None
    pairs = [item.partition("=") for item in _NEXT_KEY.split(text)]
    for _, _, glob in pairs:
        compile_text(glob)
    return KeyPairs(text, tuple((tuple(key.split(".")), glob) for key, _, glob in pairs))
