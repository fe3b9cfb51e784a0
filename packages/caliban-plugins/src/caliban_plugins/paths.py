"""Paths as files about plugins may write them: relative, clean, inside, one spelling on every system."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_plugins.errors import PluginPathRefused

MAX_PATH_CHARS: Final = 400
MAX_PART_CHARS: Final = 120
MAX_DEPTH: Final = 16

_RESERVED: Final = lazy_pattern(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.I
)
_FORBIDDEN: Final = lazy_pattern(r"[\x00-\x1f\x7f\\:<>\"|?*]")


def inner_path(text: str) -> str:
    """`text`, a path with slashes, as one that stays inside of whatever it is below.

    `./` and `/` at its ends are taken away. Raises `PluginPathRefused` for every other.
    """
    path = text.removeprefix("./").rstrip("/")
    if not path or len(path) > MAX_PATH_CHARS:
        raise PluginPathRefused(f"{shown_path(text)} is no path: it is empty or too long")
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        raise PluginPathRefused(f"{shown_path(text)} lies more than {MAX_DEPTH} folders deep")
    for part in parts:
        problem = _problem(part)
        if problem:
            raise PluginPathRefused(f"{shown_path(text)} {problem}")
    return path


def folded(path: str) -> str:
    """What two paths have in common that are one file on a system that knows no case or no accents apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", path).casefold())


def shown_path(text: str) -> str:
    """A path for words about it."""
    return repr(one_line(text, max_chars=120))


def _problem(part: str) -> str:
    """Why no file of a plugin has this name; empty where one may."""
    if part in ("", ".", ".."):
        return "leads elsewhere: it has an empty part, . or .."
    if len(part) > MAX_PART_CHARS:
        return f"has a part of more than {MAX_PART_CHARS} characters"
    if _FORBIDDEN.search(part) is not None or any(not char.isprintable() for char in part):
        return "has a character that no name has on every system"
    if part[-1] in ". " or part[0] == " ":
        return "has a part that begins or ends with a blank, or ends with a full stop"
    if _RESERVED.fullmatch(part) is not None:
        return "has a part that names a device on some systems"
    if folded(part) == ".git" or folded(part).startswith("git~"):
        return "is part of a git repository"
    return ""
