"""The built-in tools and what they are built from.

Specs are data and leave with the first request; what does the work is loaded when a tool is first called: all
of it together would add 28 ms to the start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from caliban_common.lazy import cached_property
from caliban_common.mask import Masker
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSpec
from caliban_process import Runner
from caliban_tools_builtin.specs import builtin_specs, needed_option

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from caliban_images import MediaLimits
    from caliban_tools_builtin.fence import Fence
    from caliban_tools_builtin.fs.tracker import ReadTracker
    from caliban_tools_builtin.search.engine import SearchEngine
    from caliban_tools_builtin.search.inside import Sight
    from caliban_tools_builtin.session.ports import Asker, SessionBoard, TopicStore
    from caliban_tools_builtin.shell.background import BackgroundShells
    from caliban_tools_builtin.web.ports import SearchService, WebClient


class ToolOptions(Struct, frozen=True, kw_only=True):
    """How the built-in tools behave.

    `restrict_paths` fences every path, the directory of Bash included, to `workspace` and `extra_roots`.
    `env` is added to the environment of commands as it stands. `host_environment` is what that environment is
    chosen from. `readable` says of an absolute path whether Glob may show its name and Grep its lines: the
    place for rules that deny reading; `readable_file`, where it is given, says so of a path without links
    and need not look for any. `runner` starts the programs of Bash, Glob and Grep: one for a whole
    process, so that a wrapper stands around all of them. Commands get the variables of `host_environment`
    without credentials, or with `strict_environment` only those that are known to be harmless; none of them
    gets a value that `masker` knows. Without a `board` the tools that change the session are left out;
    without an `asker` questions are declined. Commands in the background live in `tasks`; without it there
    are none, and `announce` is given, with the first of them, what tells of those that ended unseen, in lines
    that come once. `show_fence` is given the fence with the first call that needs
    it. `web` makes a client for each page, `search` says who searches. `media` says what the
    model takes of images and PDFs at the moment. `topics` keeps notes for later sessions; `powershell`
    is where that program is, on Windows, and without it there is no such tool. `permits` judges
    what a call leads to, such as a redirect, as if it were a call of its own. `runs_outside` says whether a
    command that may run is one that a person lets out of the sandbox of `runner`; `explained` is given what
    a failed command in it printed, and says in a line for the model what the sandbox refused.
    """

    workspace: Path
    restrict_paths: bool = True
    extra_roots: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    host_environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    readable: Callable[[str], bool] | None = None
    readable_file: Callable[[str], bool] | None = None
    runner: Runner = field(default_factory=Runner)
    strict_environment: bool = False
    masker: Masker = field(default_factory=Masker)
    board: SessionBoard | None = None
    asker: Asker | None = None
    tasks: TaskGroup | None = None
    announce: Callable[[Callable[[], tuple[str, ...]]], None] | None = None
    show_shells: Callable[[BackgroundShells], None] | None = None
    show_fence: Callable[[Fence], None] | None = None
    web: Callable[[], WebClient] | None = None
    search: Callable[[], SearchService] | None = None
    media: Callable[[], MediaLimits] | None = None
    topics: TopicStore | None = None
    powershell: str | None = None
    permits: Callable[[ToolSpec, Mapping[str, Any]], bool] = lambda spec, args: True
    runs_outside: Callable[[ToolSpec, Mapping[str, Any]], bool] = lambda spec, args: False
    explained: Callable[[str], str] = lambda output: ""


def builtin_tools(options: ToolOptions) -> tuple[Tool, ...]:
    """The built-in tools for one session, as far as `options` has what they need.

    They share one fence, and one ledger of what the session's model has read: make a set per session.
    """
    parts = _Parts(options)
    return tuple(_LazyTool(spec, parts) for spec in builtin_specs() if _is_served(spec, options))


def _is_served(spec: ToolSpec, options: ToolOptions) -> bool:
    """Whether there is what the tool works on."""
    needed = needed_option(spec.name)
    return not needed or getattr(options, needed) is not None


class _Work(Protocol):
    """A tool without its spec."""

    def conflict_key(self, args: Mapping[str, Any]) -> str | None: ...

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput: ...


class _LazyTool:
    """A tool whose work is loaded with its first call."""

    def __init__(self, spec: ToolSpec, parts: _Parts) -> None:
        self.spec = spec
        self._parts = parts

    @cached_property
    def _work(self) -> _Work:
        return self._parts.work(self.spec.name)

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """See `Tool`."""
        return self._work.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        return await self._work.invoke(args, context)


class _Parts:
    """What the tools of one set share."""

    def __init__(self, options: ToolOptions) -> None:
        self._options = options

    @cached_property
    def fence(self) -> Fence:
        from caliban_tools_builtin.fence import Fence

        options = self._options
        fence = Fence(options.workspace, restrict=options.restrict_paths, extra_roots=options.extra_roots)
        if options.show_fence is not None:
            options.show_fence(fence)
        return fence

    @cached_property
    def ledger(self) -> ReadTracker:
        from caliban_tools_builtin.fs.tracker import ReadTracker

        return ReadTracker()

    @cached_property
    def engine(self) -> SearchEngine:
        from caliban_tools_builtin.search.engine import SearchEngine

        return SearchEngine(self.fence.workspace, self._options.runner)

    @cached_property
    def sight(self) -> Sight:
        from caliban_tools_builtin.search.inside import Sight

        options = self._options
        return Sight(path=options.readable, file=options.readable_file or options.readable)

    @cached_property
    def shells(self) -> BackgroundShells | None:
        from caliban_tools_builtin.shell.background import BackgroundShells

        options = self._options
        if options.tasks is None:
            return None
        shells = BackgroundShells(options.runner, options.tasks)
        if options.announce is not None:
            options.announce(shells.news)
        if options.show_shells is not None:
            options.show_shells(shells)
        return shells

    def _shell_environment(self) -> dict[str, str]:
        from caliban_process.environ import shell_environment

        options = self._options
        return shell_environment(
            options.host_environment,
            options.env,
            strict=options.strict_environment,
            is_held=options.masker.holds,
        )

    def work(self, name: str) -> _Work:
        """The working part of the tool `name`."""
        match name:
            case "Read":
                from caliban_tools_builtin.fs.read import Read

                return Read(self.fence, self.ledger, self._options.media)
            case "Write":
                from caliban_tools_builtin.fs.write import Write

                return Write(self.fence, self.ledger)
            case "Edit":
                from caliban_tools_builtin.fs.edit import Edit

                return Edit(self.fence, self.ledger)
            case "MultiEdit":
                from caliban_tools_builtin.fs.multiedit import MultiEdit

                return MultiEdit(self.fence, self.ledger)
            case "NotebookEdit":
                from caliban_tools_builtin.fs.notebookedit import NotebookEdit

                return NotebookEdit(self.fence, self.ledger)
            case "Glob":
                from caliban_tools_builtin.search.glob import Glob

                return Glob(self.fence, self.engine, self.sight)
            case "Grep":
                from caliban_tools_builtin.search.grep import Grep

                return Grep(self.fence, self.engine, self.sight)
            case "Bash":
                return self._bash(name)
            case "PowerShell":
                from caliban_tools_builtin.shell.powershell import PowerShell

                program = self._options.powershell
                assert program is not None, "it is left out where there is none"
                return PowerShell(self.fence, self._options.runner, program, self._shell_environment)
            case "BashOutput" | "KillShell":
                return self._watching_work(name)
            case "WebFetch" | "WebSearch":
                return self._web_work(name)
            case "ReadMemoryTopic" | "WriteMemoryTopic":
                return self._note_work(name)
            case _:
                return self._session_work(name)

    def _bash(self, name: str) -> _Work:
        from caliban_tools_builtin.shell.bash import Bash, ShellPort

        options = self._options
        spec = next(spec for spec in builtin_specs() if spec.name == name)
        port = ShellPort(
            environment=self._shell_environment,
            shells=lambda: self.shells,
            runs_outside=lambda args: options.runs_outside(spec, args),
            explained=options.explained,
            shown=None if options.asker is None else options.masker.text,
        )
        return Bash(self.fence, options.runner, port)

    def _web_work(self, name: str) -> _Work:
        options = self._options
        if name == "WebSearch":
            from caliban_tools_builtin.web.search import WebSearch

            assert options.search is not None, "it is left out where there is none"
            return WebSearch(options.search)
        from caliban_tools_builtin.web.fetch import WebFetch

        spec = next(spec for spec in builtin_specs() if spec.name == name)
        assert options.web is not None, "it is left out where there is none"
        return WebFetch(options.web, lambda url: options.permits(spec, {"url": url}))

    def _watching_work(self, name: str) -> _Work:
        from caliban_tools_builtin.shell.watch import BashOutput, KillShell

        assert self.shells is not None, "these tools are left out where there is none"
        return BashOutput(self.shells) if name == "BashOutput" else KillShell(self.shells)

    def _session_work(self, name: str) -> _Work:
        board = self._options.board
        assert board is not None, "these tools are left out where there is none"
        match name:
            case "TodoWrite":
                from caliban_tools_builtin.session.todos import TodoWrite

                return TodoWrite(board)
            case "EnterPlanMode":
                from caliban_tools_builtin.session.plan import EnterPlanMode

                return EnterPlanMode(board)
            case "ExitPlanMode":
                from caliban_tools_builtin.session.plan import ExitPlanMode

                return ExitPlanMode(board)
            case "AskUser":
                from caliban_tools_builtin.session.ask import AskUser

                return AskUser(self._options.asker)
            case _:
                raise KeyError(name)

    def _note_work(self, name: str) -> _Work:
        from caliban_tools_builtin.session.memory import ReadMemoryTopic, WriteMemoryTopic

        topics = self._options.topics
        assert topics is not None, "these tools are left out where there is none"
        return ReadMemoryTopic(topics) if name == "ReadMemoryTopic" else WriteMemoryTopic(topics)
