"""How much of a block is shown, and in what way: what a person has chosen, and what the terminal can."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

DetailLevel: TypeAlias = Literal["brief", "normal", "full"]
ImageProtocol: TypeAlias = Literal["", "kitty", "iterm2", "sixel"]


class TranscriptLook(Struct, frozen=True, kw_only=True):
    """`detail` says how much of the outputs of tools is shown, `images` how pictures are drawn, if they are.

    `cell` are the pixels of one across and down, where the terminal says so: sixels are drawn by these.
    With `wraps_prose` prose is broken at words, else the terminal breaks it. The same for every block of a
    painting: a line that is printed is never changed.
    """

    detail: DetailLevel = "normal"
    images: ImageProtocol = ""
    wraps_prose: bool = True
    cell: tuple[int, int] | None = None


NORMAL: Final = TranscriptLook()
