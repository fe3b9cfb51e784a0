"""What was typed and waits for its turn: nothing of it is ever lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio
from msgspec import Struct

from caliban_common.message import Message


class WaitingLine(Struct, frozen=True, kw_only=True):
    """A line as it was typed; with `message` the prompt that it makes is made already.

    `shown` is what a person reads in the place of `text`, where that is longer than what was typed. `model`
    and `effort` are asked in place of the session's.
    """

    text: str
    message: Message | None = None
    shown: str = ""
    model: str = ""
    effort: str = ""


class WaitingLines:
    """Lines in the order in which they are to be taken."""

    def __init__(self) -> None:
        self._lines: deque[WaitingLine] = deque()
        self._taken: WaitingLine | None = None
        self._came = anyio.Event()

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def texts(self) -> tuple[str, ...]:
        """What waits, for a person; first what is taken and stands nowhere else yet."""
        taken = () if self._taken is None else (self._taken,)
        return tuple(line.shown or line.text for line in (*taken, *self._lines))

    @contextmanager
    def being_taken(self, line: WaitingLine) -> Iterator[None]:
        """For the length of a block `line` is out of the row, and still shown in it."""
        self._taken = line
        try:
            yield
        finally:
            self._taken = None

    def put(self, line: WaitingLine) -> None:
        """Take `line` behind the others."""
        self._lines.append(line)
        self._came.set()

    def put_first(self, lines: Iterable[WaitingLine]) -> None:
        """Take `lines` before the others, in their order."""
        self._lines.extendleft(reversed(tuple(lines)))
        self._came.set()

    def take(self) -> WaitingLine:
        """The next one. Raises `IndexError` where there is none."""
        return self._lines.popleft()

    def take_back(self) -> tuple[WaitingLine, ...]:
        """The one that came last, taken out again; none where nothing waits."""
        return (self._lines.pop(),) if self._lines else ()

    def take_all(self) -> tuple[WaitingLine, ...]:
        """All of them, taken out."""
        lines = tuple(self._lines)
        self._lines.clear()
        return lines

    def wake(self) -> None:
        """Let whoever waits look again."""
        self._came.set()

    async def wait(self, *, for_more: bool = False) -> None:
        """Until there is one, or with `for_more` another one, or somebody wakes us."""
        if for_more or not self._lines:
            await self._came.wait()
        self._came = anyio.Event()
