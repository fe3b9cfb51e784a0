"""The errors of this package.

SkillFailed
├── SkillRefused      a file is no skill and no command: the message says file, line, key, what was expected
├── NoSuchSkill       nobody wrote a skill of that name
├── ResourceRefused   a skill has no such file, or it lies outside of it, or it is no text
└── ArgumentRefused   what was said to a command does not belong in a line of the shell
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class SkillFailed(CalibanError):
    """A skill or a command cannot be used."""


class SkillRefused(SkillFailed):
    """A file is no skill and no command."""


class NoSuchSkill(SkillFailed):
    """There is no skill of that name."""


class ResourceRefused(SkillFailed):
    """A file of a skill is not given out."""


class ArgumentRefused(SkillFailed):
    """An argument does not belong in a line of the shell."""
