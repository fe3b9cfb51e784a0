"""Tools that do nothing: they give what was recorded of the same call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from caliban_common.codec import dumps
from caliban_common.errors import ArgumentError
from caliban_common.text import one_line
from caliban_common.tool import Emit, Tool, ToolContext, ToolOutput, ToolSource, ToolSpec
from caliban_replay.lines import BackgroundResultLine, OutputData, ResultLine
from caliban_replay.recording import RecordedToolCall
from caliban_replay.replayer import Replay, Told
from caliban_replay.tape import plain

INPUT_CHARS = 200
"""How much is shown of the input of a call that was never recorded."""


class ReplayingTool:
    """The tool of `spec`, which answers out of the recording."""

    def __init__(self, spec: ToolSpec, replay: Replay) -> None:
        self.spec = spec
        self._replay = replay

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: the recording keeps the order."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """What the call gave."""
        call = self._replay.tool_call(context.agent, context.tool_use_id, self.spec.name, args)
        if call is None:
            return self._unknown(args)
        if call.title is not None and context.start_background is not None:
            context.start_background(call.title, lambda emit: self._background(call, emit))
        place = call.result
        playhead = self._replay.playhead
        if place is None:  # it was still at work where the recording, or its run, ended
            await playhead.end()
            return ToolOutput.of(f"Error: {self._replay.ended().message}", is_error=True)
        try:
            await playhead.turn(place)
        finally:
            playhead.leave(place)
        line = self._replay.recording.ordered[place]
        assert isinstance(line, ResultLine)
        if line.output is None:
            raise ArgumentError(line.invalid)
        return _output(line.output)

    async def _background(self, call: RecordedToolCall, emit: Emit) -> ToolOutput:
        place = call.background_result
        playhead = self._replay.playhead
        if place is None:
            await playhead.end()
            return ToolOutput.of(f"Error: {self._replay.ended().message}", is_error=True)
        try:
            await playhead.turn(place)
        finally:
            playhead.leave(place)
        line = self._replay.recording.ordered[place]
        assert isinstance(line, BackgroundResultLine)
        return _output(line.output)

    def _unknown(self, args: Mapping[str, Any]) -> ToolOutput:
        shown = one_line(dumps(plain(args)).decode(), max_chars=INPUT_CHARS)
        words = f"this call was never recorded, and nothing runs in a replay: {self.spec.name} {shown}"
        self._replay.tell(Told(subtype="call_not_recorded", message=words))
        return ToolOutput.of(f"Error: {words}", is_error=True)


class ReplayingTools:
    """`source`, whose tools keep their specs and do nothing."""

    def __init__(self, source: ToolSource, replay: Replay) -> None:
        self._source = source
        self._replay = replay
        self._seen: tuple[Tool, ...] | None = None
        self._tools: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._tools = replaying_tools((tool.spec for tool in tools), self._replay)
        return self._tools


def replaying_tools(specs: Iterable[ToolSpec], replay: Replay) -> tuple[Tool, ...]:
    """A tool for each of `specs`."""
    return tuple(ReplayingTool(spec, replay) for spec in specs)


def _output(data: OutputData) -> ToolOutput:
    return ToolOutput(content=data.content, is_error=data.is_error, details=data.details)
