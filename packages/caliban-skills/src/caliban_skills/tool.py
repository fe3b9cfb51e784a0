"""The tool that loads a skill, and the list of skills that the model is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_common.tool import ShownArgument, ToolContext, ToolOutput, ToolSpec
from caliban_skills.catalog import SkillCatalog
from caliban_skills.skill import Skill

TOOL_NAME: Final = "Skill"
MAX_LISTED_CHARS: Final = 8_000
"""Of names and descriptions together; longer ones are cut alike."""
MAX_WORDS: Final = 250
"""Characters of one description in the list."""
MIN_WORDS: Final = 20
MANY: Final = 24
"""Skills of a person from which on the tool may be held back until a search finds it."""

DESCRIPTION: Final = "Load a skill before you begin such a task:"
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "args": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
_ALIASES: Final[Mapping[str, str]] = {
    "skill": "name", "skill_name": "name", "command": "name", "arguments": "args",
}  # fmt: skip


def skill_spec(catalog: SkillCatalog | None = None) -> ToolSpec:
    """The spec of the tool for the skills of `catalog`: their names in its own order, within a budget."""
    offered = [skill for skill in (catalog.skills if catalog is not None else ()) if _is_offered(skill)]
    own = [skill for skill in offered if skill.scope != "builtin"]
    return ToolSpec(
        name=TOOL_NAME,
        description=_described(own, [skill.name for skill in offered if skill.scope == "builtin"]),
        input_schema=_SCHEMA,
        kind="read",
        main_argument="name",
        shows=(ShownArgument(name="name"), ShownArgument(name="args")),
        aliases=_ALIASES,
        extras=("description", "explanation", "reason"),
        deferred=len(own) > MANY,
    )


def _is_offered(skill: Skill) -> bool:
    return not skill.for_person_only


def _described(own: list[Skill], names: list[str]) -> str:
    """The names of the built-in skills in a line, those of a person with what they are for."""
    first = f"{DESCRIPTION} {', '.join(names)}" if names else DESCRIPTION
    room = MAX_LISTED_CHARS - sum(len(skill.name) + 4 for skill in own)
    width = min(MAX_WORDS, room // len(own)) if own else 0
    if width < MIN_WORDS:
        return "".join((first, *(f"\n- {skill.name}" for skill in own)))
    return "".join((first, *(f"\n- {skill.name}: {_words(skill, width)}" for skill in own)))


def _words(skill: Skill, width: int) -> str:
    about = f" ({', '.join(skill.paths)})" if skill.paths else ""
    return one_line(skill.description + about, max_chars=width)


class SkillTool:
    """Gives the model the body of a skill with the names of its files, and then the text of one of these.

    `NAME/FILE` is a file of the skill NAME, once that was loaded: a rule that denies the skill denies its
    files with it.
    """

    def __init__(self, catalog: SkillCatalog) -> None:
        self.spec: ToolSpec = skill_spec(catalog)
        self._catalog = catalog
        self._loaded: set[str] = set()

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: reading is no conflict."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Load a skill, or a file of one."""
        from anyio import to_thread

        name, arguments = args.get("name"), args.get("args") or ""
        if not isinstance(name, str) or not isinstance(arguments, str):
            return ToolOutput.of("name and args must be text", is_error=True)
        try:
            text = await to_thread.run_sync(self._text, name, arguments)
        except CalibanError as error:
            return ToolOutput.of("; ".join(filter(None, (error.message, error.hint))), is_error=True)
        return ToolOutput.of(text, details={"skill": one_line(name, max_chars=80)})

    def _text(self, name: str, arguments: str) -> str:
        from caliban_skills.errors import NoSuchSkill, ResourceRefused
        from caliban_skills.resources import read_resource

        name, slash, file = name.partition("/")
        skill = self._catalog.named(name)
        if not _is_offered(skill):
            raise NoSuchSkill(f"the skill {skill.name} is for the person to call, not for you")
        if not slash:
            self._loaded.add(skill.full_name)
            return loaded_text(skill, arguments)
        if skill.full_name not in self._loaded:
            raise ResourceRefused(f"load the skill {name} before its files")
        return read_resource(skill, file)


def loaded_text(skill: Skill, arguments: str = "") -> str:
    """What the model reads of a skill. Blocks."""
    from caliban_skills.arguments import with_arguments
    from caliban_skills.builtins import builtin_body
    from caliban_skills.resources import resource_names

    body = builtin_body(skill.name) if skill.scope == "builtin" else skill.body
    lines = [f'<skill name="{skill.name}">', with_arguments(body, arguments)]
    if skill.allowed_tools:
        lines.append(f"\nTools meant for it, and no others: {', '.join(skill.allowed_tools)}")
    names, more = resource_names(skill)
    if names:
        lines.append(f"\nIts files, in {skill.folder} (name: {skill.name}/FILE loads the text of one):")
        lines += [f"- {one_line(name, max_chars=200)}" for name in names]
        lines += ["- and more"] if more else []
    return "\n".join((*lines, "</skill>"))
