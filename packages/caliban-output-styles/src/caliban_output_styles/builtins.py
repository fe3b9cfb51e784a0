"""The styles that come along; the words are in `text/<name>.md`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from caliban_output_styles.style import DEFAULT, OutputStyle

BUILTINS: Final[Mapping[str, str]] = MappingProxyType(
    {
        DEFAULT: "short answers for a terminal; nothing is added to the system prompt",
        "proactive": "fills gaps and decides, in place of asking back",
        "explanatory": "says why, with each decision and each change",
        "learning": "leaves pieces for you to write, and marks them",
    }
)


def builtin_styles() -> tuple[OutputStyle, ...]:
    """All of them, read from the package."""
    return tuple(
        OutputStyle(name=name, description=text, body=_body(name)) for name, text in BUILTINS.items()
    )


def _body(name: str) -> str:
    if name == DEFAULT:
        return ""
    return (Path(__file__).with_name("text") / f"{name}.md").read_text(encoding="utf-8").strip()
