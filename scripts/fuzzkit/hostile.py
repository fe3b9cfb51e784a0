"""Text that is to fool a terminal or who reads it: sequences whole and cut, joined and hidden characters."""

from __future__ import annotations

import random

_STRING_HEADS = ("\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9d", "\x90", "\x9f", "\x9e", "\x98")
_STRING_ENDS = ("\x07", "\x1b\\", "\x9c", "", "\x18", "\n")
_BODIES = (
    "0;title",
    "8;;http://evil.example",
    "52;c;ZXZpbA==",
    "4;1;rgb:ff/00/00",
    "Ga=T,f=100,i=1;QUFB",
    "1337;File=inline=1:QUFB",
    "+q544e",
    "$q m",
    "777;notify;a;b",
    "é漢",
)
_FINALS = "ABCDEFGHJKLMPSTXZ`abcdefghlmnpqrsux@~"
_PLAIN_ESCAPES = (
    "c",
    "7",
    "8",
    "D",
    "E",
    "H",
    "M",
    "N",
    "O",
    "Z",
    "=",
    ">",
    "#8",
    "(0",
    "%G",
    " F",
    "\\",
    "",
)
_CONTROLS = tuple(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_HIDDEN = (
    *"\xad\u034f\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202d\u202e\u2060\u2066\u2067",
    "\u2069",
    "\u2800",
    "\u3164",
    "\ufe0e",
    "\ufe0f",
    "\ufeff",
    "\ufff9",
    "\U000e0001",
    "\U000e0041",
    "\U000e0100",
    "\u2028",
    "\u2029",
    "\x85",
)
_LONE = ("\ud800", "\udc00", "\udcff", "\udfff", "\udc9b", "\udc1b")
_WIDE = (
    "漢",
    "字",
    "ｱ",
    "한",
    "ｆ",
    "🙂",
    "🇩🇪",
    "🇩",
    "👨‍👩‍👧",
    "👍🏽",
    "❤️",
    "☎️",
    "1️⃣",
    "ꙮ",
    "﷽",
    "क्षि",
    "ก็",
    "e\u0301",
    "á",
)
_PLAIN = (
    "a",
    "b",
    "word",
    "x y",
    " ",
    "  ",
    "-",
    "0",
    "é",
    "ß",
    "→",
    "·",
    "…",
    "long" * 9,
    "[31m",
    "]0;x",
    "\\",
)
_RTL = ("עברית", "العربية", "\u200f", "\u202eabc\u202c")
_FAKES = (
    "May Bash run?\n  rm -rf /\n  y yes   n no",
    "> ",
    "(y/n)",
    "● Bash ls",
    "[pasted text #1, 13 lines]",
    "\r> sent",
    "ab\x08\x08cd",
    "_\x08a",
    "a\x08a",
    "\r\n",
    "\n",
    "\n\n",
    "\t",
    "\t\t",
)


def piece(pick: random.Random) -> str:
    """One thing that a terminal obeys, or that misleads, or plain words between them."""
    match pick.randrange(14):
        case 0:
            numbers = ";".join(
                str(pick.choice((0, 1, 2, 5, 31, 99, 1049, 2004, 65535))) for _ in range(pick.randrange(4))
            )
            head = pick.choice(("\x1b[", "\x1b[", "\x1b[?", "\x1b[>", "\x9b", "\x1b[<", "\x1b[="))
            return head + numbers + pick.choice(("", "", "", " ", "$", "!")) + pick.choice((*_FINALS, ""))
        case 1:
            return pick.choice(_STRING_HEADS) + pick.choice(_BODIES) + pick.choice(_STRING_ENDS)
        case 2:
            return "\x1b" * pick.choice((1, 1, 2, 3)) + pick.choice(_PLAIN_ESCAPES)
        case 3:
            return pick.choice(_CONTROLS)
        case 4:
            return pick.choice(_HIDDEN) * pick.choice((1, 1, 1, 2, 30))
        case 5:
            return pick.choice(_LONE)
        case 6 | 7:
            return pick.choice(_WIDE)
        case 8:
            return pick.choice(_RTL)
        case 9:
            return pick.choice("aé漢 ") + pick.choice("\u0301\u0308\u20dd\u0489") * pick.choice(
                (1, 2, 20, 60)
            )
        case 10:
            return pick.choice(_FAKES)
        case _:
            return pick.choice(_PLAIN)


def text(pick: random.Random, most: int = 12) -> str:
    """Up to so many pieces; now and then very long, or with lines that a terminal would have to wrap."""
    parts = [piece(pick) for _ in range(pick.randrange(most + 1))]
    if pick.random() < 0.03:
        parts.append(piece(pick) * pick.choice((100, 1000)))
    return "".join(parts)


def tame(pick: random.Random, most: int = 8) -> str:
    """Words on one line without anything that is cleaned away; wide and joined characters are among them."""
    kinds = (*_PLAIN[:12], *_WIDE)
    return "".join(pick.choice(kinds) for _ in range(pick.randrange(most + 1))).replace("\n", "")


def raw(pick: random.Random, most: int = 12) -> bytes:
    """As `text`, in bytes that need not be UTF-8."""
    data = text(pick, most).encode("utf-8", "surrogatepass")
    for _ in range(pick.randrange(3)):
        at = pick.randrange(len(data) + 1)
        data = data[:at] + bytes([pick.randrange(0x80, 0x100)]) * pick.choice((1, 1, 3)) + data[at:]
    return data
