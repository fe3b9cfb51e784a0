"""A terminal as prompt-toolkit reads one, and its keys on their way to the bindings.

Importing this loads prompt-toolkit: the line editor does, once it is made.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

from prompt_toolkit.application import get_app
from prompt_toolkit.input import Input
from prompt_toolkit.input.vt100 import _attached_input, _detached_input
from prompt_toolkit.key_binding import KeyBindingsBase, KeyPress
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import KEY_ALIASES, Keys

from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.stroke import PASTE, KeyStroke

READ_BYTES = 1 << 16
READS = 512
"""A read of a terminal gives 4 KB at most: so many are taken before a key is looked at."""


class StrokePress(KeyPress):
    """A stroke as prompt-toolkit carries keys."""

    def __init__(self, stroke: KeyStroke) -> None:
        super().__init__(Keys.Ignore, stroke.text)
        self.stroke = stroke


class TerminalInput(Input):
    """The terminal at `read_fd` through a `KeyFilter`. Its modes are the stage's business.

    `unread` are bytes that somebody read before.
    """

    def __init__(self, read_fd: int, keys: KeyFilter) -> None:
        self.unread: bytes = b""
        self._fd = read_fd
        self._keys = keys
        self._closed = False
        self._ready = select.poll()
        self._ready.register(read_fd, select.POLLIN)

    def fileno(self) -> int:
        """The descriptor of the terminal."""
        return self._fd

    def typeahead_hash(self) -> str:
        """The name of what was typed ahead."""
        return f"caliban-{self._fd}"

    @property
    def closed(self) -> bool:
        """Whether nothing more comes."""
        return self._closed

    def read_keys(self) -> list[KeyPress]:
        """All that can be read now."""
        parts = [self.unread] if self.unread else []
        self.unread = b""
        for _ in range(READS):
            if not self._is_ready():
                break
            try:
                data = os.read(self._fd, READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self._closed = True
                break
            parts.append(data)
        return [StrokePress(stroke) for stroke in self._keys.feed(b"".join(parts))]

    def flush_keys(self) -> list[KeyPress]:
        """What was begun and has not gone on."""
        return [StrokePress(stroke) for stroke in self._keys.flush()]

    def raw_mode(self) -> AbstractContextManager[None]:
        """Nothing: the modes are set when the editor begins."""
        return nullcontext()

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Likewise."""
        return nullcontext()

    @contextmanager
    def attach(self, input_ready_callback: Callable[[], None]) -> Iterator[None]:
        """Call back whenever something can be read."""
        with _attached_input(self, input_ready_callback):  # type: ignore[arg-type]
            if self.unread:
                input_ready_callback()
            yield

    def detach(self) -> AbstractContextManager[None]:
        """Leave it to somebody else for a while."""
        return _detached_input(self)  # type: ignore[arg-type]

    def _is_ready(self) -> bool:
        try:
            return bool(self._ready.poll(0))
        except (OSError, ValueError):
            self._closed = True
            return False


class StrokeProcessor(KeyProcessor):
    """Offers each stroke to `take` first; what that leaves goes to prompt-toolkit's own bindings.

    `taken` hears of each stroke once all is done that it does.
    """

    def __init__(
        self,
        bindings: KeyBindingsBase,
        take: Callable[[KeyStroke], bool],
        taken: Callable[[KeyStroke], None],
    ) -> None:
        self._taken = taken
        self._strokes: deque[KeyPress] = deque()
        self._take = take
        self._is_at_work = False
        super().__init__(bindings)

    def feed_multiple(self, key_presses: list[KeyPress], first: bool = False) -> None:
        """Take in keys of the terminal, or those of a binding, which come first."""
        if any(isinstance(press, StrokePress) for press in key_presses):
            self._strokes += key_presses
        else:
            super().feed_multiple(key_presses, first)

    def process_keys(self) -> None:
        """Do what the keys mean that were taken in."""
        if self._is_at_work:
            super().process_keys()
            return
        self._is_at_work = True
        try:
            app = get_app()
            super().process_keys()
            while self._strokes and not app.is_done:
                press = self._strokes.popleft()
                if isinstance(press, StrokePress):
                    self.stroke(press.stroke)
        finally:
            self._is_at_work = False

    def stroke(self, stroke: KeyStroke) -> None:
        """One key, with all that it does."""
        if self._take(stroke):
            get_app().invalidate()
        else:
            self.press(stroke)
        self._taken(stroke)

    def press(self, stroke: KeyStroke) -> None:
        """Give a key to prompt-toolkit's bindings; one that nothing is bound to does nothing."""
        presses = presses_of(stroke)
        if len(presses) > 1 and not self._get_matches(list(presses)) and not _is_vi():
            return
        if presses:
            super().feed_multiple(list(presses))
            super().process_keys()

    def empty_queue(self) -> list[KeyPress]:
        """What was not looked at."""
        left = list(self._strokes)
        self._strokes.clear()
        return [*super().empty_queue(), *left]


def _is_vi() -> bool:
    from prompt_toolkit.enums import EditingMode

    return get_app().editing_mode == EditingMode.VI


def presses_of(stroke: KeyStroke) -> Sequence[KeyPress]:
    """A stroke as prompt-toolkit's own keys; none where it has no such key."""
    if stroke.name == PASTE:
        return (KeyPress(Keys.BracketedPaste, stroke.text),)
    if len(stroke.name) == 1:
        return (KeyPress(stroke.name, stroke.name),)
    if stroke.name.startswith("a-"):
        rest = presses_of(KeyStroke(stroke.name[2:]))
        return (KeyPress(Keys.Escape, "\x1b"), *rest) if rest else ()
    key = _keys().get(stroke.name)
    return (KeyPress(key, _characters().get(key, "")),) if key is not None else ()


@cache
def _keys() -> dict[str, Keys]:
    names = {str(key.value): key for key in Keys if not str(key.value).startswith("<")}
    names |= {alias: Keys(name) for alias, name in KEY_ALIASES.items() if name in names}
    return {**names, "scroll-up": Keys.ScrollUp, "scroll-down": Keys.ScrollDown}


@cache
def _characters() -> dict[Keys, str]:
    from prompt_toolkit.input.ansi_escape_sequences import REVERSE_ANSI_SEQUENCES

    return {key: text for key, text in REVERSE_ANSI_SEQUENCES.items() if isinstance(key, Keys)}
