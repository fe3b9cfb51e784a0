"""A recording while it is written: line by line, each whole in the file before the run goes on.

Without secrets: every line goes through the maskers. The person's home stands in it as `HOME_MARK`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count, takewhile
from operator import is_
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import anyio
from msgspec import Struct, to_builtins

from caliban_agent_core.timing import Timing
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.files import failed
from caliban_common.mask import Masker
from caliban_common.masked import masked_data
from caliban_common.message import Message, NewId
from caliban_common.tool import ToolSpec
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import ProviderError
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_replay.draws import Draws, new_seed
from caliban_replay.errors import RecordingUnwritable
from caliban_replay.faults import error_to_data
from caliban_replay.lines import (
    VERSION,
    CapabilitiesLine,
    Head,
    ReadingLine,
    RecordedLine,
    ReplyErrorLine,
    ReplyLine,
    RequestLine,
    Scene,
    ToolsLine,
)
from caliban_replay.pieces import event_to_data

HOME_MARK: Final = "⟨home⟩"
"""What stands for the home of whoever recorded; played again it is that of whoever plays it."""
MIN_HOME_CHARS: Final = 4
PART_EVENTS: Final = 256
PART_S: Final = 0.25
"""How many events of a reply, and for how long, are gathered before they are written."""
HEAD_BYTES: Final = 64
START: Final = b'{"type":"recording",'
_OWN: Final = frozenset({"model", "messages", "max_tokens", "tools", "agent"})


class Tape:
    """The recording of one run. `begin` writes the first line, and what had come before it.

    `on_failure` is told once when the file takes no more: the run goes on, and `error` says why.
    """

    def __init__(
        self,
        path: Path,
        maskers: Sequence[Masker],
        *,
        home: str = "",
    ) -> None:
        self.error: CalibanError | None = None
        self.on_failure: Callable[[CalibanError], None] | None = None
        self.seed: str = new_seed()
        self._path = path
        self._maskers = maskers
        self._home = _escaped(home) if len(home) >= MIN_HOME_CHARS else ""
        self._is_new = not path.exists()
        self._descriptor: int | None = _opened(path)
        self._waiting: list[bytes] | None = []
        self._started = perf_counter()
        self._now_s = 0.0
        self._calls = count()
        self._tools = count()
        self._lanes: dict[int, tuple[Message, ...]] = {}
        self._offered: tuple[tuple[ToolSpec, ...], int | None] = ((), None)
        self._parts: dict[int, list[StreamEvent]] = {}
        self._part_began_s = 0.0
        self._models: set[str] = set()
        self.tool_numbers: Iterator[int] = count()
        draws = Draws(self.seed)
        self.new_id: NewId = draws.new_id
        self.timing: Timing = Timing(clock=lambda: self._now_s, sleep=anyio.sleep, jitter=draws.jitter)

    def begin(self, scene: Scene, caliban: str) -> None:
        """Write the first line. Raises `RecordingUnwritable`; what was in the file before is gone then."""
        waiting, self._waiting = self._waiting or [], None
        self._put(Head(version=VERSION, caliban=caliban, scene=scene))
        for data in waiting:
            self._append(data)
        if self.error is not None:
            raise RecordingUnwritable(
                f"the recording cannot be written: {self.error.message}", hint=self.error.hint
            )

    def write(self, line: RecordedLine) -> None:
        """Write `line` as it is, behind what has come of replies by now."""
        self.flush()
        self._put(line)

    def moment(self) -> float:
        """The time that it is now; from here on the run's clock says so, too."""
        self._now_s = max(self._now_s, round(perf_counter() - self._started, 6))
        return self._now_s

    def read(self) -> float:
        """The time for the output, which shows things in its own time."""
        value_s = round(perf_counter() - self._started, 6)
        self._put(ReadingLine(at_s=self._now_s, value_s=value_s))
        return value_s

    def close(self) -> None:
        """Let go of the file; one that nothing was written to is as it was."""
        self.flush()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        os.close(descriptor)
        if self._waiting is not None and self._is_new:
            with suppress(OSError):
                self._path.unlink()

    def capabilities(self, model: str, value: Capabilities) -> None:
        """What the provider says of `model`, once."""
        if model not in self._models:
            self._models.add(model)
            self._put(CapabilitiesLine(at_s=self._now_s, model=model, value=value))

    def asked(self, lane: int, request: CompletionRequest) -> int:
        """A request goes out; the number of the call."""
        before = self._lanes.get(lane, ())
        keep = sum(1 for _ in takewhile(bool, map(is_, before, request.messages)))
        self._lanes[lane] = request.messages
        call = next(self._calls)
        rest = {
            name: value
            for name, value in plain(request).items()
            if name not in _OWN and value != plain(_DEFAULT).get(name)
        }
        line = RequestLine(
            at_s=self._now_s,
            call=call,
            lane=lane,
            keep=keep,
            messages=request.messages[keep:],
            tools=self._numbered(request.tools),
            model=request.model,
            max_tokens=request.max_tokens,
            rest=rest,
        )
        self.write(line)
        return call

    def came(self, call: int, event: StreamEvent) -> None:
        """A piece of the reply to `call`."""
        if not self._parts:
            self._part_began_s = perf_counter()
        part = self._parts.setdefault(call, [])
        part.append(event)
        if len(part) >= PART_EVENTS or perf_counter() - self._part_began_s >= PART_S:
            self.flush()

    def ended(self, call: int) -> None:
        """The reply to `call` is complete."""
        part = self._parts.pop(call, [])
        self.flush()
        self._reply(call, part, ended=True)

    def failed(self, call: int, error: ProviderError) -> None:
        """The call has failed."""
        self.flush()
        self._put(ReplyErrorLine(at_s=self.moment(), call=call, error=error_to_data(error)))

    def flush(self) -> None:
        """Write what has come of replies."""
        parts, self._parts = self._parts, {}
        for call, part in parts.items():
            self._reply(call, part, ended=False)

    def _reply(self, call: int, part: Sequence[StreamEvent], *, ended: bool) -> None:
        events = tuple(map(event_to_data, part))
        self._put(ReplyLine(at_s=self.moment(), call=call, events=events, ended=ended))

    def _numbered(self, specs: tuple[ToolSpec, ...]) -> int | None:
        """The number of `specs`, which stand on a line of their own the first time."""
        known, number = self._offered
        if not specs:
            return None
        if known is not specs:
            number = next(self._tools)
            self._offered = (specs, number)
            self.write(ToolsLine(at_s=self._now_s, number=number, specs=specs))
        return number

    def _put(self, line: Struct) -> None:
        data = plain(line)
        for masker in self._maskers:
            data = masked_data(data, masker)  # as it is, for in JSON text a secret in lines has none
        text = dumps(data).decode()
        for masker in self._maskers:
            text = masker.text(text)
        if self._home:
            text = text.replace(self._home, HOME_MARK)
        self._append(text.encode() + b"\n")

    def _append(self, data: bytes) -> None:
        if self._waiting is not None:
            self._waiting.append(data)
            return
        if self._descriptor is None or self.error is not None:
            return
        try:
            if data.startswith(START):
                os.ftruncate(self._descriptor, 0)
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            self.error = failed("write", self._path, error)
            if self.on_failure is not None and not data.startswith(START):
                self.on_failure(self.error)


_DEFAULT: Final = CompletionRequest(model="", messages=(), max_tokens=1)


def plain(value: object) -> Any:
    """`value` as plain data; what JSON does not know is text."""
    return to_builtins(value, enc_hook=_table, str_keys=True)


def read_home(text: str, home: str) -> str:
    """A line of a recording, with the home of whoever reads it."""
    return text.replace(HOME_MARK, _escaped(home))


def _escaped(text: str) -> str:
    """`text` as it stands inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _table(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _opened(path: Path) -> int:
    """The file for writing, its owner's alone, as it was. Raises `RecordingUnwritable`."""
    ways = "name a file that is not there yet, or an old recording"
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise RecordingUnwritable(f"{path} is no regular file; nothing can be recorded there", hint=ways)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
    except (OSError, ValueError) as error:
        words = failed("write", path, error)
        raise RecordingUnwritable(f"nothing can be recorded: {words.message}", hint=words.hint) from error
    start = os.read(descriptor, HEAD_BYTES)
    if start and not start.startswith(START):
        os.close(descriptor)
        raise RecordingUnwritable(f"{path} holds something that is no recording; it is left alone", hint=ways)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)
    return descriptor
