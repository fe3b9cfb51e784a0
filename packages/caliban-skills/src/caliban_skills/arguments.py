"""Arguments of a command, inserted where its text asks for them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

ALL: Final = "$ARGUMENTS"
_ONE: Final = r"\$(ARGUMENTS(?:\[(\d{1,2})\])?|[1-9])(?![A-Za-z0-9_])"


def with_arguments(text: str, arguments: str) -> str:
    """`text` with `$ARGUMENTS` replaced; where it has none, the arguments are appended."""
    if ALL in text:
        return text.replace(ALL, arguments).rstrip()
    return f"{text}\n\n{arguments}" if arguments else text


def fill(text: str, arguments: str, put: Callable[[str], str] = str) -> str:
    """`text` with `$ARGUMENTS`, `$ARGUMENTS[0]` and `$1` to `$9` replaced by what `put` makes of each.

    An argument that was not given is empty. What was inserted is not expanded again.
    """
    words = split_arguments(arguments)

    def one(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return put(arguments)
        place = int(match[2]) if match[2] is not None else int(match[1]) - 1
        return put(words[place]) if place < len(words) else ""

    return re.sub(_ONE, one, text)


def takes_arguments(text: str) -> bool:
    """Whether `text` says where arguments go."""
    return re.search(_ONE, text) is not None


def split_arguments(arguments: str) -> list[str]:
    """`arguments` split as a shell would; at blanks where a quote is left open."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
