"""Bytes of a terminal, taken apart: keys for the draft, pastes as one, answers to whoever asked.

Nothing that is no key is ever typed: answers, reports and sequences that nobody knows go no further.
"""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.keys.extended import extended_key, without_locks
from caliban_tui.keys.stroke import PASTE, KeyStroke

PASTE_START: Final = b"\x1b[200~"
PASTE_END: Final = b"\x1b[201~"
MAX_SEQUENCE: Final = 256
MAX_ANSWER: Final = 1 << 16
TYPED_AT_ONCE: Final = 1000
"""So many bytes in one read are a paste, whether or not the terminal says so."""

NO_TEXT: Final = frozenset((*map(chr, range(0x7F, 0xA0)), "\ufffd"))
"""Characters that nobody types: controls, and what stands for a byte that is no UTF-8."""

STALL_S: Final = 2.0
"""A paste that has stopped for so long has lost its end."""

# Alternatives of one sequence: the Linux console's F keys, a mouse report of old, then all others.
_CSI: Final = lazy_pattern(r"\x1b\[(?:\[[ -~]|M[\s\S]{3}|(?![M\[])[0-?]*[ -/]*[@-~])")
_CSI_HEAD: Final = lazy_pattern(r"\x1b\[(?:\[?\Z|M[\s\S]{0,2}\Z|(?![M\[])[0-?]*[ -/]*)")
_SS3: Final = lazy_pattern(r"\x1bO[0-9;]*[@-~]")
_SS3_HEAD: Final = lazy_pattern(r"\x1bO[0-9;]*")
_STRING: Final = lazy_pattern(r"\x1b[\]PX^_][^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)")
_STRING_HEAD: Final = lazy_pattern(r"\x1b[\]PX^_][^\x07\x18\x1a\x1b]*\x1b?")
_ANSWER: Final = lazy_pattern(r"\x1b\[(?:[?>=<][\d;:]*\$?[cuynRS]|\d+;\d+R|\d+(?:;\d+)*t|\d+(?:;\d+)*n|[IO])")
_ANY_SEQUENCE: Final = lazy_pattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[\s\S]|[\]PX^_][^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)|[\s\S])?"
)
_NO_WORDS: Final = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd]")
_WHEEL: Final = lazy_pattern(r"\x1b\[<(6[45]);\d+;\d+M")
_TYPED: Final = lazy_pattern(r"[^\x00-\x1f\x7f]+")
_STRING_STARTS: Final = "]PX^_"


class KeyFilter:
    """The bytes of one terminal as strokes, however they come in pieces.

    `answer` is given every answer and report of the terminal whole: focus, colours, attributes, modes.
    `names` gives the key that a sequence stands for; the table of prompt-toolkit where it is not given.
    """

    def __init__(
        self,
        answer: Callable[[bytes], None] = lambda data: None,
        *,
        names: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._answer = answer
        self._names = sequence_names() if names is None else names
        self._clock = clock
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # each counts in a mouse report
        self._pending = ""
        self._paste: list[bytes] | None = None
        self._tail = b""
        self._has_pasted = False
        self._held = b""
        self._came_s = 0.0

    def feed(self, data: bytes) -> list[KeyStroke]:
        """The strokes that are whole with `data`."""
        strokes: list[KeyStroke] = []
        now = self._clock()
        if self._paste is not None and now - self._came_s > STALL_S and PASTE_END not in data:
            strokes += self._pasted(self._taken())
        self._came_s = now
        while data:
            if self._paste is not None:
                data = self._more_of_paste(data, strokes)
            elif self._has_pasted:
                data = self._behind_paste(data, strokes)
            else:
                data = self._until_paste(data, strokes)
        return strokes

    def flush(self) -> list[KeyStroke]:
        """Nothing more has come for the time of an Escape: what is begun ends here."""
        strokes: list[KeyStroke] = []
        if self._paste is not None:
            return strokes
        self._has_pasted = False
        held, self._held = self._held, b""
        if held:
            strokes += self.feed(held)
        pending, self._pending = self._pending, ""
        self._decoder.reset()
        if pending in ("\x1b", "\x1b\x1b"):
            strokes += [KeyStroke("escape")] * len(pending)
        elif pending.startswith("\x1b\x1b"):
            strokes.append(KeyStroke("escape"))
        elif len(pending) == 2 and pending[1] in "O" + _STRING_STARTS:
            strokes.append(KeyStroke(f"a-{pending[1]}"))
        return strokes

    def _until_paste(self, data: bytes, strokes: list[KeyStroke]) -> bytes:
        """Take the keys before a paste; the bytes behind its start."""
        if len(data) >= TYPED_AT_ONCE and not self._pending and b"\x1b" not in data:
            strokes += self._pasted(data)
            return b""
        begins = data.find(PASTE_START) + len(PASTE_START) if PASTE_START in data else len(data)
        strokes += self._keys(
            self._decoder.decode(data[:begins])
        )  # the paste itself is no key: not looked at
        if self._paste is None:
            return data[begins:]
        rest, self._pending = self._pending, ""
        return rest.encode("utf-8", "ignore") + self._undecoded() + data[begins:]

    def _undecoded(self) -> bytes:
        state = self._decoder.getstate()[0]
        self._decoder.reset()
        return state

    def _more_of_paste(self, data: bytes, strokes: list[KeyStroke]) -> bytes:
        """Take what is pasted; the bytes behind its end."""
        assert self._paste is not None
        begun, size = self._tail, len(PASTE_END)
        end = (begun + data[: size - 1]).find(PASTE_END) - len(begun)  # it may have begun in what came before
        if end < -len(begun):
            escape = data.find(b"\x1b")  # one character is found much sooner than several
            end = data.find(PASTE_END, escape) if escape >= 0 else -1
            if end < 0:
                self._paste.append(data)
                self._tail = (begun + data[1 - size :])[1 - size :]
                return b""
        self._paste.append(data[: max(end, 0)])
        whole = self._taken()
        strokes += self._pasted(whole[:end] if end < 0 else whole)
        # What was pasted may hold the end of a paste itself: what is behind it must not act at once.
        self._has_pasted = True
        return data[end + size :]

    def _behind_paste(self, data: bytes, strokes: list[KeyStroke]) -> bytes:
        """Take what comes at once behind a paste: characters are typed, keys wait until no end comes."""
        data, self._held = self._held + data, b""
        if data.startswith(PASTE_START):
            self._has_pasted = False
            return data
        last = data.rfind(PASTE_END)
        if last >= 0:
            between, *pastes = (self._undecoded() + data[:last]).split(PASTE_START)
            strokes += self._pasted(self._without_sequences(between) if pastes else between)
            for paste in pastes:
                inside, _, behind = paste.partition(PASTE_END)
                strokes += (*self._pasted(inside), *self._pasted(self._without_sequences(behind)))
            return data[last + len(PASTE_END) :]
        typed = next((place for place, byte in enumerate(data) if byte < 0x20 or byte == 0x7F), len(data))
        strokes += self._keys(self._decoder.decode(data[:typed]))
        self._held = data[typed:]
        return b""

    def _without_sequences(self, data: bytes) -> bytes:
        """What stands between two pastes as text: an answer goes where it belongs, a key does nothing.

        It may be the rest of a paste that has both an end and a beginning in it: no key may act.
        """

        def taken_out(match: re.Match[str]) -> str:
            if _ANSWER.fullmatch(match[0]) or _STRING.fullmatch(match[0]):
                self._answer(match[0].encode("utf-8", "ignore"))
            return ""

        text = _ANY_SEQUENCE.sub(taken_out, data.decode("utf-8", "replace"))
        return _NO_WORDS.sub("", text).encode()

    def _taken(self) -> bytes:
        pasted, self._paste, self._tail = b"".join(self._paste or ()), None, b""
        return pasted

    def _pasted(self, data: bytes) -> list[KeyStroke]:
        if b"\x1b" in data:
            data = data.replace(PASTE_END, b"").replace(PASTE_START, b"")
        text = data.decode("utf-8", "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return [KeyStroke(PASTE, text)] if text else []

    def _keys(self, text: str) -> list[KeyStroke]:
        """The strokes of `text` up to the start of a paste; what is not whole yet stays pending."""
        text, self._pending = self._pending + text, ""
        strokes: list[KeyStroke] = []
        place = 0
        while place < len(text):
            if text[place] != "\x1b":
                match = _TYPED.match(text, place)
                run = match[0] if match else text[place]
                strokes += self._typed(run)
                place += len(run)
                continue
            end = self._sequence_end(text, place)
            if end is None:
                self._pending = text[place:]
                break
            sequence = text[place:end]
            place = end
            if sequence == PASTE_START.decode():
                self._paste = []
                self._pending = text[place:]
                break
            strokes += self._stroke_of(sequence)
        return strokes

    def _typed(self, run: str) -> list[KeyStroke]:
        name = self._names.get(run) if len(run) == 1 and run <= "\x7f" else None
        if name is not None:
            return [KeyStroke(name)]
        return [KeyStroke(character) for character in run if character not in NO_TEXT]

    def _sequence_end(self, text: str, place: int) -> int | None:
        """Where the sequence that begins at `place` ends; `None` while more of it may come."""
        if len(text) == place + 1:
            return None
        second = text[place + 1]
        if second == "\x1b":
            return self._end_of_doubled(text, place)
        if second == "[":
            whole, head, limit = _CSI, _CSI_HEAD, MAX_SEQUENCE
        elif second == "O":
            whole, head, limit = _SS3, _SS3_HEAD, MAX_SEQUENCE
        elif second in _STRING_STARTS:
            whole, head, limit = _STRING, _STRING_HEAD, MAX_ANSWER
        else:
            return place + 2
        match = whole.match(text, place)
        if match is not None:
            return match.end()
        begun = head.match(text, place)
        end = begun.end() if begun is not None else place + 3
        if end < len(text) or end - place > limit:
            return end - 1 if text[end - 1] == "\x1b" else end
        return None

    def _end_of_doubled(self, text: str, place: int) -> int | None:
        """Two Escapes: the first is one of its own unless a key of function follows, pressed with Alt."""
        if len(text) > place + 2 and text[place + 2] not in "[O":
            return place + 1
        end = self._sequence_end(text, place + 1)
        if end is None:
            return None
        return end if self._names.get(text[place + 1 : end]) is not None else place + 1

    def _stroke_of(self, sequence: str) -> list[KeyStroke]:
        """What a whole sequence stands for: a key, or nothing."""
        if sequence == "\x1b":
            return [KeyStroke("escape")]
        if sequence.startswith("\x1b\x1b"):
            return [KeyStroke(f"a-{self._names[sequence[1:]]}")]
        if len(sequence) == 2 and sequence[1] not in "[O" + _STRING_STARTS:
            name = self._names.get(sequence[1], sequence[1])
            return [KeyStroke(f"a-{name}")] if not "\x7f" < name <= "\x9f" else []
        if sequence[1] in _STRING_STARTS:
            if _STRING.fullmatch(sequence):
                self._answer(sequence.encode("utf-8", "ignore"))
            return []
        if _ANSWER.fullmatch(sequence):
            self._answer(sequence.encode())
            return []
        if wheel := _WHEEL.fullmatch(sequence):
            return [KeyStroke("scroll-up" if wheel[1] == "64" else "scroll-down")]
        extended = extended_key(sequence) if len(sequence) <= MAX_SEQUENCE else ""
        if extended is None:
            plain = without_locks(sequence)
            extended = self._names.get(plain, "") if plain is not None else ""
        return [KeyStroke(extended)] if extended else []


@cache
def sequence_names() -> Mapping[str, str]:
    """Every sequence that prompt-toolkit knows, and every control character, with the name of its key."""
    from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
    from prompt_toolkit.keys import Keys

    names: dict[str, str] = {}
    for sequence, keys in ANSI_SEQUENCES.items():
        pressed = [key_label(str(key.value)) for key in (keys if isinstance(keys, tuple) else (keys,))]
        if pressed in (["<ignore>"], ["<bracketed-paste>"]) or sequence == "\x1b":
            continue
        if keys is Keys.CPRResponse or len(pressed) > 2:
            continue
        if len(pressed) == 2:
            if pressed[0] != "escape":
                continue
            names[sequence] = f"a-{pressed[1]}"
        else:
            names[sequence] = pressed[0]
    names["\x1b"] = "escape"
    names["\x1bOM"] = "s-enter"  # Konsole's; the keypad sends it only where somebody asks for its own codes
    return MappingProxyType(names)


LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {"c-m": "enter", "c-i": "tab", "c-h": "backspace", "c-@": "c-space"}
)
"""Names that a person gives to keys which prompt-toolkit calls after their character."""


def key_label(name: str) -> str:
    """The name of a key as a person gives it."""
    return LABELS.get(name, name)
