"""Which painter a way of using the screen has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

from caliban_tui.paint.full import FullPainter
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.paint.linear import LinearPainter
from caliban_tui.terminal.caps import UNKNOWN, TerminalCaps
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock

ScreenMode: TypeAlias = Literal["inline", "full", "linear"]


def painter_for(
    mode: ScreenMode,
    theme: Theme,
    blocks: Sequence[TranscriptBlock] = (),
    *,
    caps: TerminalCaps = UNKNOWN,
    reflows: bool = True,
) -> InlinePainter | FullPainter | LinearPainter:
    """The painter of `mode`; `blocks` were painted before, by another one, and stand on the main screen.

    `caps` are what the terminal answered, `reflows` is whether it wraps its lines anew.
    """
    match mode:
        case "inline":
            return InlinePainter(theme, reflows=reflows, is_synchronised=caps.synchronised)
        case "full":
            return FullPainter(theme, blocks, pushes_keys=caps.kitty_keys, is_synchronised=caps.synchronised)
        case "linear":
            return LinearPainter(theme)
        case _:
            assert_never(mode)
