"""Kinds of sub-agents that people write as Markdown files with front matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast, get_args

from msgspec import Struct

from caliban_agent_core.subagent.definition import MAX_TURNS, NICKNAMES, OWN_MODEL, AgentDefinition
from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError, DataError
from caliban_common.files import read_regular
from caliban_common.frontmatter import split_front_matter
from caliban_common.text import one_line
from caliban_provider.request import Effort

MAX_FILE_BYTES: Final = 256 * 1024
MAX_DEFINITIONS: Final = 64
"""How many a run takes: each costs a line of the first request."""
NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"

UNBUILT: Final = ("memory", "hooks", "isolation")
"""Fields of other harnesses that do nothing here, and are named."""
KNOWN: Final = (
    *UNBUILT, "name", "description", "tools", "disallowedtools", "model", "effort", "maxturns", "background",
    "initialprompt", "permissionmode", "skills", "color", "version", "inheritactivemcp", "mcpservers",
)  # fmt: skip


class FoundAgents(Struct, frozen=True, kw_only=True):
    """The definitions that could be read, each name once, and what a person should know of the files."""

    definitions: tuple[AgentDefinition, ...] = ()
    problems: tuple[str, ...] = ()


def find_agents(folders: Iterable[Path], given: Iterable[tuple[Path, bytes]] = ()) -> FoundAgents:
    """The kinds that the Markdown files of `folders` describe; of two with one name the first counts.

    Those of `given`, files that were read before, stand first. A file that cannot be read as one is left out
    and named.
    """
    kinds: dict[str, AgentDefinition] = {}
    problems: list[str] = []
    files: list[tuple[Path, bytes | None]] = [*given]
    files += ((path, None) for path in agent_files(folders, problems))
    for path, data in files:
        try:
            kind, notes = read_agent(path, data)
        except CalibanError as error:
            problems.append(f"the agent in {path} is left out: {error.message}")
            continue
        if kind.name in kinds:
            continue
        if len(kinds) == MAX_DEFINITIONS:
            problems.append(f"the agent {kind.name} is left out: there are {MAX_DEFINITIONS} others")
            continue
        kinds[kind.name] = kind
        problems += (f"the agent {kind.name} ({path}): {note}" for note in notes)
    return FoundAgents(definitions=tuple(kinds.values()), problems=tuple(problems))


def agent_files(folders: Iterable[Path], problems: list[str]) -> tuple[Path, ...]:
    """The Markdown files of `folders`, in the order of these and then of their names.

    A folder that the system refuses goes to `problems`.
    """
    files: list[Path] = []
    for folder in folders:
        try:
            files += sorted(path for path in folder.iterdir() if path.suffix == ".md")
        except (FileNotFoundError, NotADirectoryError):
            continue  # most folders are not there
        except OSError as error:
            problems.append(f"the agents in {folder}: {error.strerror}")
    return tuple(files)


def read_agent(path: Path, data: bytes | None = None) -> tuple[AgentDefinition, tuple[str, ...]]:
    """The kind that the file describes, and what of it does nothing. Raises `CalibanError`.

    With `data`, what it holds, it is not read again.
    """
    written = read_regular(path, max_bytes=MAX_FILE_BYTES) if data is None else data
    head, body = split_front_matter(decode_text(written))
    fields = {re.sub(r"[_-]", "", key).lower(): value for key, value in head.items()}
    name = _text(fields, "name") or path.stem
    if re.fullmatch(NAME, name) is None:
        raise DataError(
            f"{one_line(name, max_chars=80)!r} is no name for an agent", hint="letters, digits, - and _"
        )
    description = _text(fields, "description")
    if not description:
        raise DataError("it has no description", hint="the model goes by it")
    tools, narrowed = _tools(fields.get("tools"), "tools")
    denied, partly = _tools(fields.get("disallowedtools"), "disallowedTools")
    model = _text(fields, "model")
    kind = AgentDefinition(
        name=name,
        description=description,
        prompt=body,
        tools=None if tools == ("*",) else tools,
        denied_tools=(*(denied or ()), *partly),
        model=None if model in ("", *OWN_MODEL, *NICKNAMES) else model,
        effort=_effort(fields),
        max_turns=_turns(fields),
        background=_flag(fields, "background"),
        initial_prompt=_text(fields, "initialprompt"),
        reads_only=_text(fields, "permissionmode") == "plan",
        inherits_active=_flag(fields, "inheritactivemcp", "true"),
        skills=_skills(fields.get("skills")),
        servers=_servers(fields.get("mcpservers")),
        source=str(path),
    )
    return kind, tuple(_notes(fields, narrowed, partly, model))


def _notes(
    fields: Mapping[str, Any], narrowed: Sequence[str], partly: Sequence[str], model: str
) -> Iterable[str]:
    unknown = sorted(set(fields) - set(KNOWN))
    idle = [name for name in UNBUILT if fields.get(name)]
    if idle or unknown:
        yield f"{', '.join([*idle, *map(one_line, unknown)])} does nothing in this version"
    if narrowed:
        yield f"a tool cannot be narrowed for an agent, and is left out: {', '.join(narrowed)}"
    if partly:
        yield f"a tool cannot be denied in part for an agent, and is left out as a whole: {', '.join(partly)}"
    if isinstance(fields.get("mcpservers"), list | dict) and _inline(fields["mcpservers"]):
        yield "servers that stand in the file of an agent are not started: name those of settings or plugins"
    if model in NICKNAMES:
        yield f"the model {model!r} is a name that is not known here; it takes that of its caller"
    mode = _text(fields, "permissionmode")
    if mode not in ("", "default", "plan"):
        yield f"permissionMode {one_line(mode)!r} does nothing: the mode of the run holds for its agents"


def _tools(value: object, name: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """The names in a list, or in text with commas; and the tools of those that are narrowed by `(...)`."""
    if value is None or value == "":
        return None, ()
    if isinstance(value, str):
        value = re.findall(r"[^,\s()]+(?:\([^)]*\)?)?", value)
    if not isinstance(value, list) or not all(isinstance(tool, str) for tool in value):
        raise DataError(f"{name} must be a list of the names of tools")
    whole = tuple(tool.strip() for tool in value if "(" not in tool)
    return whole, tuple(tool.partition("(")[0].strip() for tool in value if "(" in tool)


def _skills(value: object) -> tuple[str, ...]:
    """The names in a list, or in text with commas."""
    names = value.split(",") if isinstance(value, str) else value or ()
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DataError("skills must be a list of the names of skills")
    return tuple(name.strip() for name in names if name.strip())


def _servers(value: object) -> tuple[str, ...] | None:
    """The names in a list, or in text with commas; what describes a server itself is none of them."""
    if value is None or value == "":
        return None
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | dict):
        raise DataError("mcpServers must be a list of the names of servers")
    given = names if isinstance(names, list) else ()
    return tuple(name.strip() for name in given if isinstance(name, str) and name.strip())


def _inline(value: list[Any] | dict[str, Any]) -> bool:
    return isinstance(value, dict) or any(not isinstance(one, str) for one in value)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise DataError(f"{name} must be text")
    return value.strip()


def _effort(fields: Mapping[str, Any]) -> Effort | None:
    value, levels = _text(fields, "effort"), get_args(Effort)
    if value and value not in levels:
        raise DataError(f"effort must be one of {', '.join(levels)}, not {one_line(value)!r}")
    return cast(Effort, value) if value else None


def _turns(fields: Mapping[str, Any]) -> int:
    value = _text(fields, "maxturns")
    if value and (re.fullmatch(r"(?a)\d{1,6}", value) is None or int(value) < 1):
        raise DataError(f"maxTurns must be a whole number from 1 on, not {one_line(value)!r}")
    return int(value) if value else MAX_TURNS


def _flag(fields: Mapping[str, Any], name: str, default: str = "false") -> bool:
    value = _text(fields, name).lower() or default
    if value not in ("true", "false"):
        raise DataError(f"{name} must be true or false, not {one_line(value)!r}")
    return value == "true"
