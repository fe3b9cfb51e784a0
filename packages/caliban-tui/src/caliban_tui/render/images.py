"""Pictures by the terminal's own protocol, or one line in their place.

PNG data goes to kitty as it is, and any format to iTerm2; for sixels it is decoded, where there is a library
for that. Inside a multiplexer there are none: it would lose them, or draw them elsewhere.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from caliban_common.message import ImageBlock
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.words import flat
from caliban_tui.render.look import ImageProtocol, TranscriptLook

MAX_COLUMNS: Final = 60
MAX_ROWS: Final = 16
CELL_WIDTH, CELL_HEIGHT = 10, 20
"""Pixels of a cell, where nobody knows better."""
SMALL_CELL: Final = (6, 12)
"""The same for sixels: what is drawn larger than the cells are would cover the lines below."""
MAX_DATA_CHARS: Final = 8_000_000
CHUNK_CHARS: Final = 4_096
GRAPHICS: Final = "graphics"
"""The style of a segment whose link is sent as it stands: only made here, of base64 and numbers."""


class PictureSize(Struct, frozen=True, kw_only=True):
    """Pixels across and down."""

    width: int
    height: int


def image_protocol(asked: str, env: Mapping[str, str], answered: ImageProtocol = "") -> ImageProtocol:
    """How this terminal shows pictures: as a person has `asked`, as it answered, or as its name says.

    `asked` is `kitty`, `iterm`, `sixel`, `none`, or empty, where the terminal is to say it. One that draws
    sixels and is known to draw whole pictures does that.
    """
    if asked in ("kitty", "sixel"):
        return asked  # type: ignore[return-value]  # two of its members
    if asked:
        return "iterm2" if asked.startswith("iterm") else ""
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "")
    if env.get("TMUX") or term.startswith(("tmux", "screen", "dumb")):
        return ""
    if answered == "kitty":
        return answered
    if env.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    return "iterm2" if program in ("iTerm.app", "WezTerm", "mintty") else answered


def picture_size(data: str) -> PictureSize | None:
    """The size of a PNG picture given as base64; `None` for anything else."""
    try:
        head = b64decode(data[:64], validate=True)
    except (NoBase64, ValueError):
        return None
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n" or head[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", head[16:24])
    return PictureSize(width=width, height=height) if 0 < width < 1 << 16 and 0 < height < 1 << 16 else None


def image_lines(image: ImageBlock, columns: int, look: TranscriptLook) -> Iterator[ScreenLine]:
    """The picture, if this terminal shows it, and a line that names it."""
    size = picture_size(image.data or "")
    facts = [image.media_type or "image"]
    if size is not None:
        facts.append(f"{size.width}×{size.height}")
    if image.data is not None:
        facts.append(f"{len(image.data) * 3 // 4 / 1000:,.0f} KB")
    elif image.url is not None:
        facts.append(image.url)
    picture = ""
    if look.images and size is not None and look.detail != "brief":
        across, down = cells_of(size, columns)
        picture = drawn(image.data or "", across, down, look)
        if picture:
            yield from ((),) * down
        elif look.images == "sixel":
            facts.append("sixels need Pillow, and a picture that it reads")
    words = plain(flat(f"  [image: {', '.join(facts)}]"), "dim")
    yield (StyledText("", GRAPHICS, picture), *words) if picture else words


def drawn(data: str, across: int, down: int, look: TranscriptLook) -> str:
    """What draws a picture over the `down` rows above the cursor, which stays; empty where it cannot be."""
    if len(data) > MAX_DATA_CHARS or not _is_base64(data):
        return ""
    match look.images:
        case "kitty":
            payload = _kitty(data, across, down)
        case "sixel":
            payload = _sixels(data, across, down, look.cell or SMALL_CELL)
        case _:
            payload = _iterm2(data, across, down)
    if not payload:
        return ""
    return f"\x1b7\x1b[{down}A{payload}\x1b8"


def cells_of(size: PictureSize, columns: int) -> tuple[int, int]:
    """How many cells a picture takes across and down: no more than its pixels, and within the bounds."""
    widest = max(min(columns, MAX_COLUMNS), 1)
    scale = min(1.0, widest * CELL_WIDTH / size.width, MAX_ROWS * CELL_HEIGHT / size.height)
    across = max(round(size.width * scale / CELL_WIDTH), 1)
    down = max(round(size.height * scale / CELL_HEIGHT), 1)
    return min(across, widest), min(down, MAX_ROWS)


def _is_base64(data: str) -> bool:
    return data.isascii() and not data.strip(_SIGNS)


def _kitty(data: str, across: int, down: int) -> str:
    """Sent in parts; `C=1` leaves the cursor, `q=2` asks for no answer."""
    parts = [data[place : place + CHUNK_CHARS] for place in range(0, len(data), CHUNK_CHARS)]
    sent = []
    for number, part in enumerate(parts):
        more = int(number < len(parts) - 1)
        head = f"a=T,f=100,C=1,q=2,c={across},r={down},m={more}" if not number else f"m={more},q=2"
        sent.append(f"\x1b_G{head};{part}\x1b\\")
    return "".join(sent)


def _iterm2(data: str, across: int, down: int) -> str:
    size = len(data) * 3 // 4 - data[-2:].count("=")
    shape = f"width={across};height={down};preserveAspectRatio=1;inline=1;size={size}"
    return f"\x1b]1337;File={shape}:{data}\x07"


def _sixels(data: str, across: int, down: int, cell: tuple[int, int]) -> str:
    from caliban_tui.render.sixel import sixel_picture

    try:
        return sixel_picture(b64decode(data, validate=True), across * cell[0], down * cell[1])
    except (NoBase64, ValueError):
        return ""


_SIGNS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
