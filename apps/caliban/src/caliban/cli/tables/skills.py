"""The rows of `caliban skills` and `caliban styles`, and of their verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, PLACE, verb_row

_PLACE: Final = (*PLACE, shared("--bare", help="only those that come along"))
_NAME: Final = flag("name", metavar="NAME", help="as the list has it")


_SKILL_VERBS: Final = (
    Subcommand(
        "skills list",
        "every skill and command file, whose it is, and what is wrong with others",
        "caliban.commands.skills:list_skills",
        flags=(*_PLACE, JSON_LINES),
        description="List skills, which the model loads, and command files, which a prompt calls by /NAME. "
        "Those of a project count where it is trusted.",
    ),
    Subcommand(
        "skills show",
        "a skill as the model reads it, or a command file",
        "caliban.commands.skills:show_skill",
        flags=(_NAME, *_PLACE),
        usage="NAME",
        description="Show a skill by NAME, one that another stands before by SCOPE:NAME, or a command by "
        "/NAME.",
        needs_words=True,
    ),
)

SKILLS: Final = Subcommand(
    "skills",
    "skills that the model may load, and command files",
    "caliban.commands.skills:list_skills",
    flags=(verb_row(_SKILL_VERBS, "list"), *_PLACE, JSON_LINES),
    usage="[VERB …]",
    description="Skills are folders NAME/SKILL.md in .caliban/skills, .agents/skills and .claude/skills of a "
    "project and of your home; command files are NAME.md in .caliban/commands and .claude/commands.",
    verbs=_SKILL_VERBS,
)

_STYLE_VERBS: Final = (
    Subcommand(
        "styles list",
        "every output style, whose it is, and which one a run takes",
        "caliban.commands.styles:list_styles",
        flags=(*_PLACE, JSON_LINES),
        description="List output styles; * marks the one that a run would take.",
    ),
    Subcommand(
        "styles show",
        "what an output style puts into the system prompt",
        "caliban.commands.styles:show_style",
        flags=(_NAME, *_PLACE),
        usage="NAME",
        description="Show what an output style puts into the system prompt.",
        needs_words=True,
    ),
)

STYLES: Final = Subcommand(
    "styles",
    "output styles, and which one a run takes",
    "caliban.commands.styles:list_styles",
    flags=(verb_row(_STYLE_VERBS, "list"), *_PLACE, JSON_LINES),
    usage="[VERB …]",
    description="Output styles are files NAME.md in .caliban/output-styles and .claude/output-styles; the "
    "setting output_style, or CALIBAN_OUTPUT_STYLE, names the one that is taken.",
    verbs=_STYLE_VERBS,
)
