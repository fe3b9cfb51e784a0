"""What a tool is: a spec the model reads, and one method the loop calls; and where tools come from.

Tools are structural: any object with these members is one, and nobody needs to import the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from operator import is_
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from caliban_common.event import ChildEvent, ToolProgress
from caliban_common.message import ResultPart, TextBlock
from caliban_common.permission import JudgedPaths

ToolKind: TypeAlias = Literal["read", "edit", "execute", "network", "session", "other"]
"""What a call can do at most: `read` runs in plan mode, `edit` counts as progress on files, `session` changes
nothing but the session itself, such as its list of tasks."""

ArgumentRole: TypeAlias = Literal["reads", "searches", "writes", "command", "directory", "url"]
"""What an argument means to policies: a path that the call reads, one below which it searches (the workspace
when left out), one that it writes; a shell command, the directory that it runs in; a URL."""

RepeatKey: TypeAlias = tuple[str, ...] | Literal["all"]
"""The arguments in which two calls that ask the same agree; the first of them names the question."""


class ShownArgument(Struct, frozen=True, kw_only=True):
    """An argument that tells a person, in a line, what a call is about.

    Of a list of objects that is their number, and the text `of` of the first one. With `where`, a member and
    its value, it is the first that has it; where none has, the number alone.
    """

    name: str
    of: str = ""
    where: tuple[str, str] | None = None


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What the model, the gate and the screens know of a tool; only the first three fields go to the model.

    `input_schema` is a JSON Schema of type object. `main_argument` says most about a call in one line.
    `roles` say what arguments mean to policies: permission patterns such as `Bash:git *` match the command,
    the paths or the URL among them, and the main argument where there are none. A call that agrees with an
    earlier one in the `repeat_key` makes its result stale; without a key none does. A call of a tool that
    `begins_plan` enters plan mode, and those behind it in a reply are judged in that; one of a tool that
    `ends_plan` leaves it. What a call says to a tool that `lasts` holds until the next one, as a list
    of tasks does: it outlives a summary of the conversation. `aliases` are names that models give to its
    arguments, and the right ones (also `timeout`, in milliseconds, for `timeout_seconds`); `extras` are
    arguments that change nothing. `shows` are the arguments in the line that a person reads of a call, in
    place of the main one. The schema of a `deferred` tool may be held back until a search finds it (ADR
    0038). What a call says to a tool that `persists` is read by later sessions: it does not run in plan mode,
    whatever its kind. `server` is the name of the server that a tool is of, empty for none. What a tool says
    of itself opens nothing unless somebody vouches for it (ADR 0024).
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    kind: ToolKind = "other"
    main_argument: str | None = None
    roles: Mapping[str, ArgumentRole] = field(default_factory=dict)
    repeat_key: RepeatKey | None = None
    begins_plan: bool = False
    ends_plan: bool = False
    lasts: bool = False
    aliases: Mapping[str, str] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    shows: tuple[ShownArgument, ...] = ()
    deferred: bool = False
    persists: bool = False
    server: str = ""


Emit: TypeAlias = Callable[[ToolProgress | ChildEvent], Awaitable[None]]


async def drop(event: ToolProgress | ChildEvent) -> None:
    """Take what a call says where nobody listens."""


BackgroundWork: TypeAlias = Callable[[Emit], Awaitable["ToolOutput"]]
"""Work that outlives its call: it is given what to speak with, and gives what the model is to read."""

StartBackground: TypeAlias = Callable[[str, BackgroundWork], None]


class ToolContext(Struct, frozen=True, kw_only=True):
    """Where a call stands: the session, the turn (from 0), the call's id, the agent (empty: the main one).

    `context` is what the program gave to the run for its tools: a connection, a user, whatever they need.

    `await context.emit(event)` tells whoever follows the run, and waits while they are far behind. It does
    nothing once the call has ended.

    `start_background(title, work)` lets work go on after the call: the model reads its output between two
    later turns, and the run does not end before. It is `None` where nobody would wait for it.

    `paths` are the paths of the call as it was judged: what a text among them leads to elsewhere by now is
    not opened (ADR 0057). `None` where nobody judged any.
    """

    session_id: str
    turn: int
    tool_use_id: str
    agent: str = ""
    emit: Emit = drop
    context: Any = None
    start_background: StartBackground | None = None
    paths: JudgedPaths | None = None


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What a call gave: `content` for the model, `details` for a screen. Failure is a value.

    `refused` says that the tool did nothing, for what it was asked lies beyond its fence.
    """

    content: tuple[ResultPart, ...]
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    refused: bool = False

    @classmethod
    def of(cls, text: str, *, is_error: bool = False, details: Mapping[str, Any] | None = None) -> ToolOutput:
        """An output of one text block."""
        return cls(content=(TextBlock(text=text),), is_error=is_error, details=details or {})

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


class Tool(Protocol):
    """One tool.

    `invoke` raises nothing for what the model did wrong: it returns an output with `is_error`. It is
    cancelled by its scope and must leave no process and no half-written file behind.
    """

    @property
    def spec(self) -> ToolSpec:
        """The tool's spec; the same value on every call."""
        ...

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """Calls with the same key never run at once; `None` conflicts with nothing."""
        ...

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the call. `args` is the decoded input of the model: a JSON object, not yet validated."""
        ...


class ToolSource(Protocol):
    """Where the tools of an agent come from; they may change while it works."""

    def tools(self) -> tuple[Tool, ...]:
        """The tools at this moment, in the order of the prompt: the same object while nothing has changed.

        Asked before every turn: quick, and waiting for nobody. Whoever adds a tool adds it at the end, so
        that the prompt's cached prefix lives.
        """
        ...


class FixedTools:
    """A source that never changes."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = tuple(tools)

    def tools(self) -> tuple[Tool, ...]:
        """Those it was made with."""
        return self._tools


class FilteredTools:
    """`source` without the tools that `keep` turns down; `keep` is asked once per change of the source."""

    def __init__(self, source: ToolSource, keep: Callable[[ToolSpec], bool]) -> None:
        self._source = source
        self._keep = keep
        self._all: tuple[Tool, ...] | None = None
        self._kept: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source that are kept."""
        tools = self._source.tools()
        if tools is not self._all:
            self._all = tools
            self._kept = tuple(tool for tool in tools if self._keep(tool.spec))
        return self._kept


class HeldTools:
    """`source`, and `more` tools that can be called, and are shown behind all others once they were.

    It has to be the outermost source of an agent: who calls what is not shown asks for `held_back`.
    """

    def __init__(self, source: ToolSource, more: Iterable[Tool]) -> None:
        self._source = source
        self._called: tuple[Tool, ...] = ()
        self._more: tuple[Tool, ...] = tuple(_HeldTool(tool, self._show) for tool in more)
        self._before: tuple[tuple[Tool, ...], ...] = ()
        self._shown: tuple[Tool, ...] = ()
        self._inner: tuple[Tool, ...] | None = None
        self._held: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those that the model is shown."""
        now = (self._source.tools(), self._called)
        if len(self._before) != len(now) or not all(map(is_, self._before, now)):
            self._before, self._shown = now, (*now[0], *now[1])
        return self._shown

    def held_back(self) -> tuple[Tool, ...]:
        """Those that it is not shown, and may call; also those of the source."""
        held_back = getattr(self._source, "held_back", tuple)
        inner: tuple[Tool, ...] = held_back()
        if inner is not self._inner:
            self._inner, self._held = inner, (*inner, *self._more)
        return self._held

    def _show(self, tool: Tool) -> None:
        if tool not in self._called:
            self._called = (*self._called, tool)
            self._more = tuple(held for held in self._more if held.spec.name != tool.spec.name)
            self._inner = None


class _HeldTool:
    """`tool`, which `show` is told of with its first call."""

    def __init__(self, tool: Tool, show: Callable[[Tool], None]) -> None:
        self._tool = tool
        self._show = show

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return self._tool.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        self._show(self._tool)
        return await self._tool.invoke(args, context)
