"""Bytes of a terminal through the filter of keys: each key, paste and answer is what it is, however cut."""

from __future__ import annotations

import random
import traceback
from collections.abc import Sequence

from caliban_tui.keys.filter import TYPED_AT_ONCE, KeyFilter
from caliban_tui.keys.stroke import PASTE, KeyStroke
from fuzzkit import hostile

_MAX_BYTES = 400
"""Of what is no paste: every key is looked at by itself."""

NAMED = {
    "up": b"\x1b[A",
    "down": b"\x1bOB",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "delete": b"\x1b[3~",
    "s-tab": b"\x1b[Z",
    "f5": b"\x1b[15~",
    "c-right": b"\x1b[1;5C",
    "s-enter": b"\x1b[27;2;13~",
    "c-c": b"\x03",
    "a-enter": b"\x1b\r",
    "a-b": b"\x1bb",
    "a-f": b"\x1bf",
    "enter": b"\r",
    "tab": b"\t",
    "backspace": b"\x7f",
    "c-r": b"\x12",
    "c-w": b"\x17",
    "c-_": b"\x1f",
}
ANSWERS = (
    b"\x1b[?62;4;22c",
    b"\x1b[>1;4000;29c",
    b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    b"\x1b]10;rgb:ff/ff/ff\x07",
    b"\x1b[?2026;2$y",
    b"\x1b[?1u",
    b"\x1b[I",
    b"\x1b[O",
    b"\x1b[12;40R",
    b"\x1b_Gi=31;OK\x1b\\",
    b"\x1bP>|xterm(390)\x1b\\",
    b"\x1b[8;24;80t",
    b"\x1b[?997;1n",
)
_MORE = (
    *(bytes([code]) for code in range(0x20)),
    b"\x1b[13;2u",
    b"\x1b[99;5u",
    b"\x1b[97;;229u",
    b"\x1b[57399u",
    b"\x1b[1;3A",
    b"\x1b[<65;3;4M",
    b"\x1b[M !!",
    b"\x1b\x1b[A",
    b"\x1b\x1b",
    b"\x1bO",
    b"\x1b[",
    b"\x1b]",
    b"\x1b[200~",
    b"\x1b[201~",
    b"\x1b[999999999999999999u",
    b"\xff",
    b"\xe6\xbc",
    b"\xed\xa0\x80",
    b"\x9b1m",
    b"\xc2\x9b1m",
)


class Wrong(Exception):
    """A law that does not hold."""


def filter_fault(seed: int) -> str:
    """What is wrong with what the filter makes of a stream."""
    pick = random.Random(seed)
    try:
        if pick.random() < 0.5:
            _known(pick)
        else:
            _unknown(pick)
    except Wrong as error:
        return str(error)
    except Exception:
        return traceback.format_exc(limit=-3)
    return ""


def _known(pick: random.Random) -> None:
    """Of whole keys, pastes and answers each comes out as what it is, however they are cut."""
    data, strokes, answers = b"", [], []
    pastes_from, pastes_to = sorted((pick.randrange(12), pick.randrange(12)))
    for number in range(pick.randrange(1, 12)):
        # Keys behind a paste wait until it is known to be over: between two pastes at once they do nothing.
        kind = pick.choice("patt" if pastes_from <= number < pastes_to else "katt")
        if kind == "k":
            name = pick.choice(sorted(NAMED))
            data += NAMED[name]
            strokes.append(KeyStroke(name))
        elif kind == "a":
            answer = pick.choice(ANSWERS)
            data += answer
            answers.append(answer)
        elif kind == "p":
            text = pasted(pick)
            data += b"\x1b[200~" + text.encode() + b"\x1b[201~"
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            strokes += [KeyStroke(PASTE, text)] if text else []
        else:
            text = "".join(pick.choice("abc q1z漢é🙂❤️👩‍👧") for _ in range(pick.randrange(6)))
            data += text.encode()
            strokes += [KeyStroke(char) for char in text]
    if len(data) >= TYPED_AT_ONCE:
        return
    replies: list[bytes] = []
    seen = _through(KeyFilter(replies.append, clock=lambda: 0.0), cut(pick, data))
    if _runs(seen) != _runs(strokes):
        raise Wrong(f"{data!r:.600} became {_runs(seen)!r:.500} and not {_runs(strokes)!r:.500}")
    if replies != answers:
        raise Wrong(f"{data!r}: the answers are {replies} and not {answers}")


def _unknown(pick: random.Random) -> None:
    """Whatever comes, in other pieces it is the same, and nothing but characters is typed."""
    data = b"".join(any_bytes(pick) for _ in range(pick.randrange(1, 10)))
    if len(data) >= TYPED_AT_ONCE:
        return
    replies: list[bytes] = []
    again: list[bytes] = []
    one = _through(KeyFilter(replies.append, clock=lambda: 0.0), [data])
    other = _through(KeyFilter(again.append, clock=lambda: 0.0), cut(pick, data))
    is_text = data.decode("utf-8", "ignore").encode() == data
    if is_text and _runs(one) != _runs(other):
        raise Wrong(f"{data!r:.600} is {_runs(one)!r:.500} at once and {_runs(other)!r:.500} in pieces")
    if is_text and replies != again:
        raise Wrong(f"{data!r}: answers are {replies} at once and {again} in pieces")
    for stroke in one:
        if stroke.is_character and not (stroke.name.isprintable() or stroke.name > "\x9f"):
            raise Wrong(f"{data!r} types {stroke.name!r}")
        if stroke.name == PASTE and any("\ud800" <= char <= "\udfff" for char in stroke.text):
            raise Wrong(f"{data!r} pastes {stroke.text!r}")


def any_bytes(pick: random.Random) -> bytes:
    """One thing that a terminal may send, or only a part of one."""
    match pick.randrange(6):
        case 0:
            return pick.choice(list(NAMED.values()))
        case 1:
            return pick.choice(ANSWERS)
        case 2:
            return pick.choice(_MORE)
        case 3:
            return (
                b"\x1b[200~"
                + hostile.raw(pick, 3)[:_MAX_BYTES]
                + pick.choice((b"\x1b[201~", b"\x1b[201~", b""))
            )
        case 4:
            return hostile.raw(pick, 2)[:_MAX_BYTES]
        case _:
            return pick.choice((b"q", b"7", b"z", b" ", "漢".encode(), b"/", b"@"))


def pasted(pick: random.Random) -> str:
    """What may be pasted: any text that a terminal sends as a paste."""
    text = hostile.text(pick, 4) + pick.choice(("", "q2z", "\n" * 13, "x" * 30))
    text = "".join(char for char in text if not "\ud800" <= char <= "\udfff")
    return text.replace("\x1b[200~", "").replace("\x1b[201~", "")


def cut(pick: random.Random, data: bytes) -> list[bytes]:
    """The same in pieces."""
    pieces, at = [], 0
    most = pick.choice((1, 2, 7, 50))
    while at < len(data):
        step = pick.randrange(1, most + 1)
        pieces.append(data[at : at + step])
        at += step
    return pieces


def _through(keys: KeyFilter, pieces: Sequence[bytes]) -> list[KeyStroke]:
    strokes = [stroke for piece in pieces for stroke in keys.feed(piece)]
    for _ in range(3):  # what is held behind a paste may begin another one
        strokes += keys.flush()
    return strokes


def _runs(strokes: Sequence[KeyStroke]) -> list[str]:
    """What is typed and pasted between two keys as one text: where one ends is the pieces' affair."""
    runs: list[str] = []
    text = ""
    for stroke in strokes:
        if stroke.is_character or stroke.name == PASTE:
            text += stroke.text if stroke.name == PASTE else stroke.name
            continue
        runs += [repr(text)] if text else []
        text = ""
        runs.append(stroke.name)
    runs += [repr(text)] if text else []
    return [run for run in (run.replace("\ufffd", "") for run in runs) if run != "''"]
