"""What one tool call says while it runs."""

from __future__ import annotations

from anyio import lowlevel
from msgspec.structs import replace

from caliban_agent_core.state import RunState
from caliban_common.event import ChildEvent, ToolProgress


class CallProgress:
    """Passes on what a call says, under its own id; after `close` nobody hears it any more."""

    def __init__(self, state: RunState, tool_use_id: str) -> None:
        self._state: RunState | None = state
        self._tool_use_id = tool_use_id

    async def emit(self, event: ToolProgress | ChildEvent) -> None:
        """Send `event`, waiting while the reader is far behind. Raises `TypeError` for any other value."""
        if not isinstance(event, ToolProgress | ChildEvent):
            raise TypeError(f"a tool emits ToolProgress and ChildEvent, not {type(event).__name__}")
        # A tool that only speaks can be stopped here and nowhere else.
        await lowlevel.checkpoint_if_cancelled()
        if self._state is None:
            return
        if event.tool_use_id != self._tool_use_id:
            event = replace(event, tool_use_id=self._tool_use_id)
        await self._state.emit(event)

    def close(self) -> None:
        """The call has ended: a task that it left behind speaks to nobody."""
        self._state = None
