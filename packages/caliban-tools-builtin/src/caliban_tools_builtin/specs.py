"""The built-in tools by name: facts in `facts` of each room, descriptions in `text/<name>.md`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from caliban_common.tool import ToolSpec
from caliban_tools_builtin.facts import ToolFacts
from caliban_tools_builtin.fs.facts import FACTS as FILES
from caliban_tools_builtin.search.facts import FACTS as SEARCHES
from caliban_tools_builtin.session.facts import FACTS as SESSION
from caliban_tools_builtin.shell.facts import FACTS as SHELL
from caliban_tools_builtin.web.facts import FACTS as WEB

NAMES = (
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Glob",
    "Grep",
    "Bash",
    "BashOutput",
    "KillShell",
    "PowerShell",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "EnterPlanMode",
    "ExitPlanMode",
    "AskUser",
    "ReadMemoryTopic",
    "WriteMemoryTopic",
)
NOTE_TOOLS: Final = ("ReadMemoryTopic", "WriteMemoryTopic")
"""Those that work on notes for later sessions."""

_TEXTS = Path(__file__).with_name("text")
_FACTS: Final[Mapping[str, ToolFacts]] = {**FILES, **SEARCHES, **SHELL, **WEB, **SESSION}


@cache
def builtin_specs() -> tuple[ToolSpec, ...]:
    """The specs of the built-in tools, in the order in which they are offered; the same ones each time."""
    return tuple(_spec(name) for name in NAMES)


def needed_option(name: str) -> str:
    """The option without which there is no tool `name`; empty for none."""
    return _FACTS[name].needs


def _spec(name: str) -> ToolSpec:
    facts = _FACTS[name]
    return ToolSpec(
        name=name,
        description=(_TEXTS / f"{name.lower()}.md").read_text(encoding="utf-8").strip(),
        input_schema={
            "type": "object",
            "properties": facts.properties,
            **({"required": list(facts.required)} if facts.required else {}),
            "additionalProperties": False,
        },
        kind=facts.kind,
        main_argument=next((name for name in facts.required if _is_text(facts, name)), None),
        roles=facts.roles,
        repeat_key=facts.repeat_key,
        begins_plan=facts.begins_plan,
        ends_plan=facts.ends_plan,
        lasts=facts.lasts,
        deferred=facts.deferred,
        persists=facts.persists,
        aliases=facts.aliases,
        extras=facts.extras,
        shows=facts.shows,
    )


def _is_text(facts: ToolFacts, name: str) -> bool:
    return bool(facts.properties[name]["type"] == "string")
