"""A skill as a value."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

SkillScope: TypeAlias = Literal["project", "user", "plugin", "builtin"]
"""Where a skill comes from, in order of precedence."""

NAME: Final = r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?"
"""A name of 1 to 64 small letters, digits and hyphens (Agent Skills)."""

MAX_DESCRIPTION_CHARS: Final = 1024
MAX_FILE_BYTES: Final = 256 * 1024
FILE: Final = "SKILL.md"


class Skill(Struct, frozen=True, kw_only=True):
    """Instructions by name. `description` says when they are needed; `body` is Markdown for the model.

    `path` is the file, `None` for a built-in one, whose `body` is read when it is asked for. `allowed_tools`
    are the tools it is meant for; they grant nothing. One with `for_person_only` is not offered to the model;
    one that is not `user_invocable` is no `/name`. `paths` are globs of the files it is about. `notes` are
    what a person should know of the file.
    """

    name: str
    description: str
    scope: SkillScope
    body: str = ""
    path: Path | None = None
    allowed_tools: tuple[str, ...] = ()
    for_person_only: bool = False
    user_invocable: bool = True
    paths: tuple[str, ...] = ()
    argument_hint: str = ""
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path | None:
        """The folder with its files."""
        return None if self.path is None else self.path.parent

    @property
    def full_name(self) -> str:
        """Its name with its scope, by which one that is shadowed is still found."""
        return f"{self.scope}:{self.name}"
