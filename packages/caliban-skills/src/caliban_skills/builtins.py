"""The built-in skills: names here, bodies in `text/<name>.md`, read when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from caliban_skills.skill import Skill

BUILTINS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "commit": "make a git commit of the work at hand",
        "debug": "find the cause of a fault",
        "review": "review a change before it is merged",
        "write-tests": "write tests for code that is there",
    }
)
"""The first request holds only the names, so they must speak for themselves."""


def builtin_skills() -> tuple[Skill, ...]:
    """All of them, without their bodies."""
    return tuple(Skill(name=name, description=text, scope="builtin") for name, text in BUILTINS.items())


def builtin_body(name: str) -> str:
    """The body of a built-in skill."""
    return (Path(__file__).with_name("text") / f"{name}.md").read_text(encoding="utf-8").strip()
