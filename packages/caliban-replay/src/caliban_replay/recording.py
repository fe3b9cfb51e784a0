"""A recording as it is read: checked line by line, with an index of what belongs together.

What was cut off in the middle of a line is a recording up to there; anything else that does not fit is told
by the number of its line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from caliban_agent_core.compact.summarize import INSTRUCTIONS
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError, DataError, FileFailed
from caliban_common.files import read_regular
from caliban_common.message import Message
from caliban_common.tool import ToolSpec
from caliban_common.typed import typed
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest
from caliban_replay.errors import RecordingBroken, RecordingMissing
from caliban_replay.faults import error_from_data
from caliban_replay.lines import (
    ASKED,
    ORDERED,
    VERSION,
    AnyLine,
    BackgroundLine,
    BackgroundResultLine,
    CallLine,
    CapabilitiesLine,
    ChildLine,
    DecisionLine,
    EndLine,
    Head,
    NewsLine,
    ReadingLine,
    RecordedLine,
    ReplyErrorLine,
    ReplyLine,
    RequestLine,
    ResultLine,
    Scene,
    SummaryLine,
    ToolsLine,
)
from caliban_replay.pieces import event_from_data
from caliban_replay.tape import START, read_home

MAX_BYTES: Final = 1 << 30


class RecordedCall(Struct, kw_only=True):
    """A model call: its request, and the places of what came of it. `turn` counts from 0 on the main lane."""

    line: RequestLine
    places: list[int] = field(default_factory=list)
    turn: int = 0


class RecordedToolCall(Struct, kw_only=True):
    """A tool call; `result` and `background_result` are places, `title` that of work in the background."""

    line: CallLine
    result: int | None = None
    title: str | None = None
    background_result: int | None = None


class Recording:
    """What is in a recording. `ordered` are the lines whose order is kept: a place is an index of these.

    `is_cut` says that it does not come to the end of its run; `line_count` counts whole lines.
    """

    def __init__(self, head: Head) -> None:
        self.head = head
        self.ordered: list[RecordedLine] = []
        self.asked: list[int] = []
        self.calls: dict[int, RecordedCall] = {}
        self.lanes: dict[int, list[RecordedCall]] = {}
        self.summaries: dict[int, list[int]] = {}
        self.tool_calls: dict[int, RecordedToolCall] = {}
        self.decisions: list[DecisionLine] = []
        self.children: list[ChildLine] = []
        self.capabilities: dict[str, Capabilities] = {}
        self.tools: dict[int, tuple[ToolSpec, ...]] = {}
        self.code: int | None = None
        self.readings: list[float] = []
        self.news: dict[int, tuple[str, ...]] = {}
        self.line_count = 1
        self._heights: dict[int, int] = {}
        self._turns: dict[int, RecordedCall] = {}

    @property
    def scene(self) -> Scene:
        """What the run began with."""
        return self.head.scene

    @property
    def is_cut(self) -> bool:
        """Whether it ends before its run does."""
        return self.code is None

    @property
    def turns(self) -> int:
        """How many turns of the main agent there are."""
        last = self._turns.get(0)
        return 0 if last is None else last.turn + 1

    def add(self, line: AnyLine) -> None:
        """Take in the next line. Raises `DataError` for one that fits to none before it."""
        if isinstance(line, ORDERED):
            self._add_ordered(line)
            return
        match line:
            case RequestLine():
                self._add_request(line)
            case CallLine():
                if line.number in self.tool_calls:
                    raise DataError(f"there are two calls with the number {line.number}")
                self.tool_calls[line.number] = RecordedToolCall(line=line)
            case BackgroundLine():
                self._tool_call(line.number).title = line.title
            case DecisionLine():
                self.decisions.append(line)
            case ChildLine():
                self.children.append(line)
            case CapabilitiesLine():
                self.capabilities[line.model] = line.value
            case ToolsLine():
                self.tools[line.number] = line.specs
            case NewsLine():
                self.news[line.number] = line.lines
            case ReadingLine():
                self.readings.append(line.value_s)
            case EndLine():
                self.code = line.code

    def _add_ordered(self, line: RecordedLine) -> None:
        place = len(self.ordered)
        self.ordered.append(line)
        match line:
            case ReplyLine():
                for event in line.events:
                    event_from_data(event)
                self._call(line.call).places.append(place)
            case ReplyErrorLine():
                error_from_data(line.error)
                self._call(line.call).places.append(place)
            case SummaryLine():
                self.summaries.setdefault(line.lane, []).append(place)
            case ResultLine():
                self._tool_call(line.number).result = place
            case BackgroundResultLine():
                self._tool_call(line.number).background_result = place
            case _ if isinstance(line, ASKED):
                self.asked.append(place)
            case _:
                pass

    def _add_request(self, line: RequestLine) -> None:
        height = self._heights.get(line.lane, 0)
        if line.keep > height:
            raise DataError(f"a request keeps {line.keep} messages, and there are {height}")
        if line.call in self.calls:
            raise DataError(f"there are two model calls with the number {line.call}")
        if line.tools is not None and line.tools not in self.tools:
            raise DataError(f"a request offers tools that are not there: {line.tools}")
        typed(dict(line.rest), RequestRest, what="a request")
        self._heights[line.lane] = line.keep + len(line.messages)
        lane = self.lanes.setdefault(line.lane, [])
        call = self.calls[line.call] = RecordedCall(line=line)
        before = self._turns.get(line.lane)
        if before is not None:
            is_again = lane[-1] is before and not line.messages and line.keep == height
            call.turn = before.turn + (not is_again and not is_summary_call(line))
        if not is_summary_call(line):
            self._turns[line.lane] = call
        lane.append(call)

    def _call(self, number: int) -> RecordedCall:
        call = self.calls.get(number)
        if call is None:
            raise DataError(f"a reply belongs to no request: {number}")
        return call

    def _tool_call(self, number: int) -> RecordedToolCall:
        call = self.tool_calls.get(number)
        if call is None:
            raise DataError(f"a result belongs to no call: {number}")
        return call

    def request(self, line: RequestLine, messages: tuple[Message, ...]) -> CompletionRequest:
        """The request of `line`, whose `messages` were put together by whoever counts."""
        rest = typed(dict(line.rest), RequestRest, what="a request")
        return CompletionRequest(
            model=line.model,
            messages=messages,
            max_tokens=line.max_tokens,
            tools=() if line.tools is None else self.tools[line.tools],
            tool_choice=rest.tool_choice,
            temperature=rest.temperature,
            thinking_tokens=rest.thinking_tokens,
            effort=rest.effort,  # type: ignore[arg-type]
            response_schema=rest.response_schema,
            cache=rest.cache,
            min_cache_tokens=rest.min_cache_tokens,
            extra=rest.extra,
        )


class RequestRest(Struct, frozen=True, kw_only=True):
    """Members of a request that a line holds only where they are not the usual ones."""

    tool_choice: str = "auto"
    temperature: float | None = None
    thinking_tokens: int | None = None
    effort: str | None = None
    response_schema: Mapping[str, Any] | None = None
    cache: bool = True
    min_cache_tokens: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


def is_summary_call(line: RequestLine) -> bool:
    """Whether a request asks for a summary of the conversation, and is no turn of it."""
    return bool(line.messages) and line.keep == 0 and line.messages[0].text.startswith(INSTRUCTIONS)


def load_recording(path: Path, *, home: str) -> Recording:
    """The recording at `path`, with `home` where that of its writer stood.

    Raises `RecordingMissing` and `RecordingBroken`.
    """
    try:
        data = read_regular(path, max_bytes=MAX_BYTES)
    except FileFailed as error:
        kind = RecordingMissing if error.missing else RecordingBroken
        raise kind(error.message, hint=error.hint) from error
    except CalibanError as error:
        raise RecordingBroken(error.message, hint=error.hint) from error
    if not data.strip():
        raise RecordingBroken(f"{path} is no recording: it is empty")
    whole, newline, _ = data.rpartition(b"\n")
    if not newline and data.startswith(START):
        raise RecordingBroken(f"{path} is no whole recording: it was cut off in its first line")
    lines = whole.split(b"\n")
    recording = Recording(_head(lines[0], path, home))
    for number, line in enumerate(lines[1:], 2):
        try:
            recording.add(_line(_json(line, home)))
        except DataError as error:
            raise RecordingBroken(f"{path}: line {number} is none of a recording: {error.message}") from error
        recording.line_count = number
    return recording


def _line(data: Any) -> AnyLine:
    if isinstance(data, dict) and data.get("type") == "recording":
        raise DataError("another recording begins there")
    line: AnyLine = typed(data, AnyLine, what="the line")
    return line


def _head(line: bytes, path: Path, home: str) -> Head:
    try:
        data = _json(line, home)
        if not isinstance(data, dict) or data.get("type") != "recording":
            raise DataError("it does not begin as one")
        version = data.get("version")
        if version != VERSION:
            raise RecordingBroken(
                f"{path} is a recording of the version {dumps(version).decode()[:40]};"
                f" this program reads version {VERSION}",
                hint=f"it was written by caliban {str(data.get('caliban', '?'))[:40]}",
            )
        return typed(data, Head, what="its first line")
    except DataError as error:
        raise RecordingBroken(f"{path} is no recording: {error.message}") from error


def _json(line: bytes, home: str) -> Any:
    try:
        return json.loads(read_home(line.decode("utf-8"), home))
    except (ValueError, RecursionError) as error:
        raise DataError("it is not JSON") from error
