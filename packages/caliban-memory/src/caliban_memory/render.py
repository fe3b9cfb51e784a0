"""How a file of memory stands in a prompt: in a tag of its own that no text can close."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_memory.values import MemoryFile

TAGS: Final = MappingProxyType(
    {
        "managed": "managed-claude-md",
        "global": "global-claude-md",
        "project": "project-claude-md",
        "rule": "project-rule",
        "auto": "auto-memory-index",
    }
)
_OUR_TAG = lazy_pattern(
    r"<(?=\s*/?\s*(?:(?:managed|global|project)-claude-md|project-rule|auto-memory-index|context-update"
    r"|output-style)\b)",
    re.IGNORECASE,
)
_PATH = lazy_pattern(r'^<(?:project-claude-md|project-rule) path="([^"\n]*)">$', re.MULTILINE)


def render(file: MemoryFile) -> str:
    """The file as the model reads it; what was cut off is said at the end."""
    tag = TAGS[file.tier]
    note = f"\n[truncated: {file.cut_bytes} bytes]" if file.cut_bytes else ""
    return f'<{tag} path="{_attribute(str(file.path))}">\n{_fenced(file.text)}{note}\n</{tag}>'


def told_paths(text: str) -> tuple[str, ...]:
    """The paths of the project's files that stand in `text`, as `render` writes them."""
    return tuple(_PATH.findall(text))


def shown_path(file: MemoryFile) -> str:
    """The path of a file as `told_paths` gives it."""
    return _attribute(str(file.path))


def _fenced(text: str) -> str:
    return _OUR_TAG.sub("&lt;", text)


def _attribute(text: str) -> str:
    return one_line(text, max_chars=1000).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
