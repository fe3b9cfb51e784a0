"""The memory of a run: instruction files and notes, looked for quickly and loaded only where there are some.

A start in a directory without any costs a few looks at names. What is told later, and which notes may be kept
unasked, hangs on what tools touch: they are watched here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from caliban.compose.memory.places import MemoryPlaces, has_memory
from caliban_agent_core.compact.summary import is_update, update_text
from caliban_agent_core.hooks import ask_hooks
from caliban_agent_core.ports import Rules
from caliban_common.hook import Hooks, InstructionsLoaded
from caliban_common.lazy import cached_property
from caliban_common.message import Message, TextBlock
from caliban_common.paths import expand_user
from caliban_common.permission import Decision
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSource, ToolSpec
from caliban_drive.notice import Notice, Report

if TYPE_CHECKING:
    from caliban_memory import MemoryFile, MemoryOptions, MemorySet, NestedMemory

OUTSIDE_KINDS: Final = ("network", "other")
"""Kinds of tools whose results others may have written."""

APPROVE: Final = (
    "caliban memory approve shows such files and approves of them as they are; CALIBAN_APPROVE_IMPORTS=1 "
    "approves of all"
)
TIERS: Final = MappingProxyType(
    {"global": "User", "project": "Project", "rule": "Project", "managed": "Managed", "auto": "Auto"}
)
"""A tier -> what hook programs call it, where they know it."""

UNTRUSTED: Final = (
    "what others wrote came into this conversation, so a note for later sessions needs a person's word "
    "(a rule that allows the tool is one)"
)


class RunMemory:
    """What a run is told of memory. `places` is `None` where flags leave all of it out."""

    def __init__(self, places: MemoryPlaces | None, workspace: Path, report: Report) -> None:
        self.places = places
        self._workspace = workspace
        self._report = report
        self._nested: dict[str, NestedMemory] = {}
        self._told: tuple[str, ...] = ()
        self._news: list[str] = []
        self._notices: set[str] = set()
        self._problems: list[str] = []
        self._loads: list[InstructionsLoaded] = []
        self.hooks: Hooks | None = None
        self.is_tainted = False

    @cached_property
    def found(self) -> MemorySet | None:
        """What is there to be told; `None` where a quick look finds nothing."""
        if self.places is None or not has_memory(self.places):
            return None
        from caliban_memory import find_memory

        memory = find_memory(self._options())
        self._tell(memory.left_out)
        return memory

    def texts(self) -> tuple[tuple[MemoryFile, str], ...]:
        """The files that a session is told from its start, each as it stands in the prompt."""
        if self.found is None:
            return ()
        from caliban_memory import render

        return tuple((file, render(file)) for file in self.found.files)

    def loaded(self, session_id: str) -> tuple[InstructionsLoaded, ...]:
        """What hooks are told of the files that a session is told from its start, imported ones included."""
        files = () if self.found is None else self.found.files
        return tuple(event for file in files for event in _loads(file, session_id, cause="session_start"))

    def agent_text(self) -> str:
        """What sub-agents are told: instructions, and no notes."""
        return "\n\n".join(text for file, text in self.texts() if file.tier != "auto")

    @property
    def notes_dir(self) -> Path | None:
        """Where notes of this project are; `None` where they are switched off."""
        return None if self.places is None else self.places.auto_dir

    @property
    def shows_notes(self) -> bool:
        """Whether the model is shown the tools for notes from the start: there are some, or one may be."""
        places = self.places
        if places is None or places.auto_dir is None:
            return False
        return places.wants_notes or os.path.lexists(places.auto_dir / places.index_name)

    def begin(self, messages: Iterable[Message], tools: Iterable[ToolSpec]) -> None:
        """A session begins or goes on with `messages`: what they hold already is not told again."""
        # Tools that are not there now may be those of a server: who has written their results, nobody knows.
        inside = {spec.name for spec in tools if spec.kind not in OUTSIDE_KINDS}
        updates: list[str] = []
        for message in messages:
            if message.role == "user" and is_update(message.text):
                updates.append(message.text)
            self.is_tainted = self.is_tainted or any(call.name not in inside for call in message.tool_uses)
        if updates:
            from caliban_memory import told_paths

            self._told = tuple(path for text in updates for path in told_paths(text))

    def news(self) -> tuple[str, ...]:
        """What the model is to be told since it was asked last, each once."""
        news, self._news = tuple(self._news), []
        return news

    def may_tell_of(self, paths: Iterable[str], agent: str) -> bool:
        """Whether `touched` has anything to look at: some names beside files that were opened just now.

        So the common call costs no change of threads.
        """
        if self.places is None or not self.places.of_project:
            return False
        return agent in self._nested or any(self._may_matter(self._placed(text)) for text in paths)

    def touched(self, paths: Iterable[str], agent: str) -> str:
        """An agent has read or changed `paths`: what a sub-agent is told of that.

        What the agent of the run is told comes with the news.
        """
        files: list[MemoryFile] = []
        for text in paths:
            path = self._placed(text)
            if agent in self._nested or self._may_matter(path):
                nested_files = self._nested_of(agent).touch(path)
                files += nested_files
                if self.hooks is not None:
                    facts = {"trigger": str(path), "agent": agent}
                    self._loads += (event for file in nested_files for event in _loads(file, **facts))
        nested = self._nested.get(agent)
        if nested is not None:
            self._tell(nested.left_out)
        if not files:
            return ""
        from caliban_memory import render

        update = update_text("\n\n".join(render(file) for file in files))
        if agent:
            return update
        self._news.append(update)
        return ""

    async def tell_loads(self, session_id: str) -> None:
        """Tell the hooks of what `touched` has come upon since."""
        loads, self._loads = self._loads, []
        for event in loads:
            if self.hooks is not None:
                await ask_hooks(self.hooks, replace(event, session_id=session_id))

    def _placed(self, text: str) -> Path:
        return self._workspace / expand_user(text)

    def _may_matter(self, path: Path) -> bool:
        """Whether there may be something to tell: the quick look, before anything is loaded."""
        if self.found is not None and self.found.waiting:
            return True
        assert self.places is not None
        # Text: paths of `pathlib` take ten times as long, at each file that is read.
        root, folder = str(self._workspace), os.path.dirname(path)  # noqa: PTH120
        within = root if root.endswith(os.sep) else root + os.sep
        while folder != root and folder.startswith(within):
            if any(os.path.lexists(f"{folder}{os.sep}{name}") for name in self.places.names):
                return True
            folder = os.path.dirname(folder)  # noqa: PTH120
        return False

    def _nested_of(self, agent: str) -> NestedMemory:
        if agent not in self._nested:
            from caliban_memory import MemorySet, NestedMemory

            known = () if agent else self._told
            session_files = self.found if self.found is not None else MemorySet()
            self._nested[agent] = NestedMemory(self._options(), session_files, known)
        return self._nested[agent]

    def _options(self) -> MemoryOptions:
        from caliban.compose.memory.options import memory_options

        assert self.places is not None
        return memory_options(self.places, self._problems)

    def _tell(self, left_out: Iterable[Any]) -> None:
        from caliban_memory import summary

        for problem in self._problems:
            self._report(Notice(subtype="memory", message=problem))
        self._problems.clear()
        for note in left_out:
            words = summary(note)
            if note.matters and words not in self._notices:
                self._notices.add(words)
                hint = APPROVE if "outside of the project" in note.reason and "@" in note.path else None
                self._report(Notice(subtype="memory", message=words, hint=hint))


def _loads(
    file: MemoryFile, session_id: str = "", *, cause: str = "", trigger: str = "", agent: str = ""
) -> Iterator[InstructionsLoaded]:
    """What hooks are told of one file and of what that imports."""
    tier = TIERS[file.tier]
    why: Any = cause or ("path_glob_match" if file.patterns else "nested_traversal")
    facts: dict[str, Any] = {"session_id": session_id, "tier": tier, "trigger": trigger, "agent": agent}
    yield InstructionsLoaded(path=str(file.path), cause=why, patterns=file.patterns, **facts)
    for path in file.imports:
        yield InstructionsLoaded(path=str(path), cause="include", parent=str(file.path), **facts)


class WatchedTools:
    """`source`, whose tools tell `memory` what they touch and when others may have written their results."""

    def __init__(self, source: ToolSource, memory: RunMemory) -> None:
        self._source = source
        self._memory = memory
        self._seen: tuple[Tool, ...] | None = None
        self._watched: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._watched = tuple(
                _WatchedTool(tool, self._memory) if _is_watched(tool.spec) else tool for tool in tools
            )
        return self._watched


def _is_watched(spec: ToolSpec) -> bool:
    return spec.kind in OUTSIDE_KINDS or any(role in ("reads", "writes") for role in spec.roles.values())


class _WatchedTool:
    def __init__(self, tool: Tool, memory: RunMemory) -> None:
        self._tool = tool
        self._memory = memory

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return self._tool.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        output = await self._tool.invoke(args, context)
        spec, memory = self._tool.spec, self._memory
        if spec.kind in OUTSIDE_KINDS:
            memory.is_tainted = True
        if not isinstance(output, ToolOutput) or output.is_error:
            return output
        named = (args.get(name) for name, role in spec.roles.items() if role in ("reads", "writes"))
        paths = [path for path in named if isinstance(path, str)]
        if not paths or not memory.may_tell_of(paths, context.agent):
            return output
        import anyio.to_thread

        update = await anyio.to_thread.run_sync(memory.touched, paths, context.agent)
        await memory.tell_loads(context.session_id)
        if not update:
            return output
        content = (*output.content, TextBlock(text=f"\n\n{update}"))
        return ToolOutput(content=content, details=output.details)


class NoteRules:
    """`rules`, and a person's word for notes once others may have written in the conversation (C6)."""

    def __init__(self, rules: Rules, memory: RunMemory) -> None:
        self._rules = rules
        self._memory = memory

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Any:
        """The verdict on a call; see `Rules`."""
        decision = self._rules.decide(tool, args)
        if not (tool.persists and self._memory.is_tainted and isinstance(decision, Decision)):
            return decision
        if decision.action != "allow" or decision.by in ("rule", "mode"):
            return decision
        return Decision(action="ask", reason=UNTRUSTED, by=decision.by)
