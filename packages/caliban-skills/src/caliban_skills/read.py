"""A skill from its file: front matter that Agent Skills and other harnesses know, and Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from caliban_common.errors import DataError
from caliban_common.fields import HeadFields
from caliban_skills.errors import SkillRefused
from caliban_skills.skill import MAX_DESCRIPTION_CHARS, NAME, Skill, SkillScope

TOOL: Final = r"[A-Za-z][\w*-]*(?:\((?:[^()]|\([^()]*\))*\))?"
"""A tool, or a rule for one: `Bash(git log:*)`."""
GLOB: Final = r"[^\s,\x00-\x1f]+"
MAX_HINT_CHARS: Final = 200

KNOWN: Final = (
    "name", "description", "license", "compatibility", "metadata", "allowed-tools", "argument-hint",
    "disable-model-invocation", "user-invocable", "paths", "version", "when-to-use",
)  # fmt: skip
IDLE: Final = ("model", "effort", "context", "agent", "hooks", "shell")
"""Keys by which other harnesses do something, and that do nothing here."""


def read_skill(path: Path, data: bytes, scope: SkillScope) -> Skill:
    """The skill that `data`, the content of the file at `path`, describes.

    Its name is that of its folder; in a plugin, whose authors call it by that, it need not say so. Raises
    `SkillRefused`.
    """
    try:
        return _read(HeadFields(str(path), data), path, scope)
    except DataError as error:
        raise SkillRefused(error.message, hint=error.hint) from error


def _read(fields: HeadFields, path: Path, scope: SkillScope) -> Skill:
    name = path.parent.name if scope == "plugin" else fields.text("name", max_chars=64, required=True)
    if re.fullmatch(NAME, name) is None:
        raise fields.error("name", f"must be 1 to 64 of a-z, 0-9 and -, not {name!r}")
    if name != path.parent.name:
        raise fields.error("name", f"must be the name of its folder, {path.parent.name!r}, not {name!r}")
    description = fields.text("description", max_chars=MAX_DESCRIPTION_CHARS, required=True)
    when = fields.text("when-to-use", max_chars=MAX_DESCRIPTION_CHARS)
    return Skill(
        name=name,
        description=f"{description} {when}".strip(),
        scope=scope,
        body=fields.body,
        path=path,
        allowed_tools=read_tools(fields),
        for_person_only=fields.flag("disable-model-invocation", default=False),
        user_invocable=fields.flag("user-invocable", default=True),
        paths=fields.items("paths", GLOB, "globs of files"),
        argument_hint=fields.text("argument-hint", max_chars=MAX_HINT_CHARS),
        notes=notes_of(fields, IDLE),
    )


def read_tools(fields: HeadFields) -> tuple[str, ...]:
    """The tools in `allowed-tools`. Raises `DataError`: nothing is read without its restriction."""
    return fields.items("allowed-tools", TOOL, "names of tools, such as Read or Bash(git log:*)")


def notes_of(fields: HeadFields, idle: tuple[str, ...]) -> tuple[str, ...]:
    """What a person should know of a file that could be read."""
    asked = [key for key in idle if fields.has(key)]
    notes = [f"{', '.join(asked)} does nothing in this version"] if asked else []
    if not fields.is_whole:
        notes.append("bytes that are no UTF-8 were replaced")
    return tuple(notes)
