"""What tools change of the session that they run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caliban.compose.permissions import Permissions
from caliban_common.tool import FixedTools, ToolSource
from caliban_drive.session import Session

if TYPE_CHECKING:
    from caliban.compose.recorder import RunCheckpoints
    from caliban.compose.resolved import ResolvedModel
    from caliban_mcp import ServerFleet
    from caliban_sessions import SessionWriter
    from caliban_tools_builtin.fence import Fence
    from caliban_tools_builtin.shell.background import BackgroundShells


class Board:
    """Plan mode is judged by `permissions`, and remembered, as the list of tasks is, by `session`.

    `tools` are those of the run, once they are made, and `transcript` the file of its mirror, if it has one;
    `checkpoints` keep what its calls change, once one of them does. `servers` are those of its tools.
    `writer` is the file of the session, where it is kept; `chosen` are the options of its agent that a person
    has set in this run, `models` the names that the provider listed last, `opened` the providers that a
    switch has opened, by name. `shells` are the commands in the background, once one was started.
    """

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions
        self.session: Session | None = None
        self.tools: ToolSource = FixedTools()
        self.transcript = ""
        self.servers: ServerFleet | None = None
        self.checkpoints: RunCheckpoints | None = None
        self.writer: SessionWriter | None = None
        self.chosen: dict[str, Any] = {}
        self.models: tuple[str, ...] = ()
        self.shells: BackgroundShells | None = None
        self.opened: list[ResolvedModel] = []
        self._fence: Fence | None = None
        self._roots: tuple[Path, ...] = ()
        self._todos: tuple[Mapping[str, Any], ...] | None = None
        self._sources: list[Callable[[], tuple[str, ...]]] = []

    def announce(self, source: Callable[[], tuple[str, ...]]) -> None:
        """Ask `source` too for what the model should be told."""
        self._sources.append(source)

    def show_shells(self, shells: BackgroundShells) -> None:
        """Remember the commands in the background, for whoever looks at them."""
        self.shells = shells

    def show_fence(self, fence: Fence) -> None:
        """Remember where tools may go, once one of them asks: directories may be given to the run later."""
        self._fence = fence
        for root in self._roots:
            fence.add_root(root)

    def add_root(self, root: Path) -> None:
        """Let tools, and what keeps their changes, go to the directory `root` too."""
        self._roots = (*self._roots, root)
        if self._fence is not None:
            self._fence.add_root(root)
        if self.checkpoints is not None:
            self.checkpoints.add_root(root)

    def news(self) -> tuple[str, ...]:
        """See `SessionParts`."""
        return tuple(line for source in self._sources for line in source())

    @property
    def plan_mode(self) -> bool:
        """See `SessionBoard`."""
        return self._permissions.plan_mode

    @property
    def todos(self) -> tuple[Mapping[str, Any], ...]:
        """The list of tasks: `id`, `content`, `status`."""
        if self._todos is not None or self.writer is None:
            return self._todos or ()
        return self.writer.state.todos

    def set_plan_mode(self, on: bool) -> None:
        """See `SessionBoard`."""
        self._permissions.set_plan_mode(on)
        if self.session is not None:
            self.session.note(plan_mode=on)

    def set_todos(self, todos: tuple[Mapping[str, Any], ...]) -> None:
        """See `SessionBoard`."""
        self._todos = todos
        if self.session is not None:
            self.session.note(todos=todos)
