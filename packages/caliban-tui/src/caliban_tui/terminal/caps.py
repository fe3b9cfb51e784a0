"""What a terminal answers when it is asked what it can, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_tui.theme.colour import Rgb

PUSH_KEYS: Final = b"\x1b[>1u"
"""Kitty's keyboard protocol, to tell keys apart; sent only where it was answered for."""

_ATTRIBUTES: Final = b"\x1b[c"
_COLOURS: Final = b"\x1b]10;?\x1b\\\x1b]11;?\x1b\\"
_SYNCHRONISED: Final = b"\x1b[?2026$p"
_KEYS: Final = b"\x1b[?u"
_GRAPHICS: Final = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"

_ANSWER: Final = lazy_pattern(
    r"\x1b\[\?(?P<da1>[0-9;]{1,60})c"
    r"|\x1b\[\?2026;(?P<sync>[0-4])\$y"
    r"|\x1b\[\?(?P<mode>[0-9]{1,5};[0-4])\$y"
    r"|\x1b\[\?(?P<keys>[0-9]{1,3})u"
    r"|\x1b\](?P<which>1[01]);(?P<colour>[^\x07\x1b]{1,60})(?:\x07|\x1b\\|\x9c)"
    r"|\x1b_Gi=31(?:,[^;\x1b]{0,60})?;(?P<graphics>[^\x1b]{0,200})(?:\x1b\\|\x9c)"
    r"|\x1b\[(?P<report>[0-9]{1,4};[0-9]{1,4})R"
)
_RGB: Final = lazy_pattern(
    r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?"
)


class TerminalCaps(Struct, frozen=True, kw_only=True):
    """What was answered; `None` or false where nothing was. `attributes` come last, from every one."""

    attributes: tuple[int, ...] = ()
    foreground: Rgb | None = None
    background: Rgb | None = None
    synchronised: bool = False
    kitty_keys: bool = False
    kitty_graphics: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is to come: the question for `attributes` is asked last."""
        return bool(self.attributes)

    @property
    def sixel(self) -> bool:
        """Whether it draws sixel images."""
        return 4 in self.attributes


UNKNOWN: Final = TerminalCaps()
"""Nothing was answered yet."""


def queries(env: Mapping[str, str]) -> bytes:
    """All questions for the terminal that `env` tells of, as one write; none that it would show as text."""
    term = env.get("TERM", "")
    if term in ("", "dumb", "linux") or term.startswith(("vt", "cons", "sun", "eterm")):
        return b""
    if env.get("TERM_PROGRAM") == "Apple_Terminal":  # shows the rest of what it does not know
        return _COLOURS + _ATTRIBUTES
    if "TMUX" in env or term.startswith(("screen", "tmux")):  # passes no images on
        return _COLOURS + _SYNCHRONISED + _KEYS + _ATTRIBUTES
    return _COLOURS + _SYNCHRONISED + _KEYS + _GRAPHICS + _ATTRIBUTES


def reflows(env: Mapping[str, str]) -> bool:
    """Whether the terminal wraps the lines that it shows anew when it becomes narrower; most do."""
    term = env.get("TERM", "")
    if "TMUX" in env:
        return True
    return not (term == "linux" or term.startswith(("screen", "vt")) or "XTERM_VERSION" in env)


def answered(caps: TerminalCaps, sequence: bytes) -> TerminalCaps | None:
    """`caps` with what one whole `sequence` answers; `None` where it is no answer to us and may be a key."""
    match = _ANSWER.fullmatch(sequence.decode("latin-1"))
    if match is None:
        return None
    groups = match.groupdict()
    if groups["da1"] is not None:
        numbers = tuple(int(number) for number in groups["da1"].split(";") if number and len(number) < 6)
        return replace(caps, attributes=numbers or (0,))
    if groups["sync"] is not None:
        return replace(caps, synchronised=groups["sync"] in "123")
    if groups["keys"] is not None:
        return replace(caps, kitty_keys=True)
    if groups["graphics"] is not None:
        return replace(caps, kitty_graphics=groups["graphics"].startswith("OK"))
    if groups["which"] is not None:
        rgb = _rgb(groups["colour"])
        return replace(caps, foreground=rgb) if groups["which"] == "10" else replace(caps, background=rgb)
    return caps  # a mode or a place that nobody asked for any more


def _rgb(text: str) -> Rgb | None:
    match = _RGB.fullmatch(text)
    if match is None:
        return None
    return Rgb(*(int(part, 16) * 255 // (16 ** len(part) - 1) for part in match.groups()))
