"""Variables in an entry: `${NAME}`, and `${NAME:-what else}`, which may hold more of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from caliban_mcp.errors import ServerMisconfigured

MAX_DEPTH: Final = 16
MAX_CHARS: Final = 1 << 20
"""Of a text with its variables filled in."""

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"


def expanded(text: str, value_of: Callable[[str], str | None]) -> str:
    """`text` with its variables filled in; a value is not looked through again.

    A variable that is empty counts as not set where the text says what else to take. Raises
    `ServerMisconfigured` for one without a value, and for braces that are not closed.
    """
    if "${" not in text and len(text) <= MAX_CHARS:
        return text
    out: list[str] = []
    left = MAX_CHARS
    for piece in _pieces(text, value_of, 0):
        left -= len(piece)
        if left < 0:
            raise ServerMisconfigured(
                f"it has more than {MAX_CHARS:,} characters with its variables filled in"
            )
        out.append(piece)
    return "".join(out)


def from_environment(environ: Mapping[str, str], own: Mapping[str, str]) -> Callable[[str], str | None]:
    """Looks a variable up in what is `own` of the run, then in its environment."""
    return lambda name: own.get(name, environ.get(name))


def _pieces(text: str, value_of: Callable[[str], str | None], depth: int) -> Iterator[str]:
    at = 0
    while (start := text.find("${", at)) >= 0:
        yield text[at:start]
        end = _end(text, start + 2)
        yield from _value(text[start + 2 : end], value_of, depth)
        at = end + 1
    yield text[at:]


def _end(text: str, at: int) -> int:
    """Where the brace closes that was opened before `at`."""
    depth = 1
    for match in re.compile(r"\$\{|\}").finditer(text, at):
        depth += 1 if match[0] == "${" else -1
        if depth == 0:
            return match.start()
    raise ServerMisconfigured("a ${ in it is not closed")


def _value(inner: str, value_of: Callable[[str], str | None], depth: int) -> Iterator[str]:
    name, mark, default = inner.partition(":-")
    if re.fullmatch(_NAME, name) is None:
        raise ServerMisconfigured(f"${{{name[:40]}}} names no variable")
    value = value_of(name)
    if mark and not value:
        if depth >= MAX_DEPTH:
            raise ServerMisconfigured(f"its variables stand more than {MAX_DEPTH} deep in each other")
        yield from _pieces(default, value_of, depth + 1)
        return
    if value is None:
        raise ServerMisconfigured(
            f"the variable {name} is not set",
            hint=f"export {name}=…, or write ${{{name}:-…}} for what else to take",
        )
    yield value
