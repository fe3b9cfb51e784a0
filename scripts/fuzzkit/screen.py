"""Frames and blocks through every painter into an emulator: what is seen is what a fresh painting shows."""

from __future__ import annotations

import random
import traceback
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from caliban_tui.clean import in_line
from caliban_tui.line import ScreenLine, text_of
from caliban_tui.paint.full import FullPainter
from caliban_tui.paint.inline import InlinePainter, shown_part
from caliban_tui.paint.linear import LinearPainter
from caliban_tui.paint.sgr import encode_line
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.images import GRAPHICS
from caliban_tui.render.look import TranscriptLook
from caliban_tui.screen import ScreenFrame, ScreenSize
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock
from caliban_tui.width import line_cells, rows_of
from fuzzkit import frames
from fuzzkit.emulator import Cell, Emulator, Refused, Row
from fuzzkit.main import Miss

_ROUND = 60
SHELL = ("$ ls", "漢 was here before", "", "$ caliban")


class Wrong(Exception):
    """A law that does not hold."""


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Walks of some frames, one way of using the screen each."""
    while True:
        misses = []
        for _ in range(_ROUND):
            seed = pick.randrange(1 << 40)
            fault = fault_of(seed)
            if fault:
                misses.append(Miss(f"seed {seed}", fault))
        yield _ROUND, misses


def fault_of(seed: int) -> str:
    """What is wrong with the walk of a seed."""
    pick = random.Random(seed)
    walk = pick.choice((_inline, _inline, _resized, _full, _linear))
    try:
        walk(pick)
    except (Wrong, Refused) as error:
        return f"{walk.__name__}: {type(error).__name__}: {error}"
    except Exception:
        return f"{walk.__name__}: {traceback.format_exc(limit=-4)}"
    return ""


class Step:
    """A frame with the blocks that are finished before it."""

    def __init__(self, pick: random.Random, size: ScreenSize, look: TranscriptLook) -> None:
        self.frame: ScreenFrame = frames.frame(pick, size, look)
        self.blocks: list[TranscriptBlock] = [frames.block(pick) for _ in range(pick.choice((0, 0, 1, 2)))]
        if self.frame.lines and self.frame.lines[0] != frames.RAW:
            for line in self.frame.lines:
                _clean(line)
                if line_cells(line) > max(size.columns, 20):
                    raise Wrong(f"a line of {line_cells(line)} cells at {size}: {line}")
        if pick.random() < 0.1:  # what was open is finished as it stood
            self.frame = ScreenFrame(lines=self.frame.lines[1:], caret=None, look=self.frame.look)


def _clean(line: ScreenLine) -> None:
    for segment in line:
        if in_line(segment.text) != segment.text:
            raise Wrong(f"no clean text: {segment.text!r} in {line!r:.300}")


def _steps(pick: random.Random, size: ScreenSize) -> list[Step]:
    look = frames.look(pick)
    steps = [Step(pick, size, look) for _ in range(pick.randrange(1, 7))]
    for step in steps:
        for block in step.blocks:
            for line in block_lines(block, size.columns, look):
                _clean(line)
    return steps


def _terminal(pick: random.Random, size: ScreenSize) -> Emulator:
    screen = Emulator(size.columns, size.rows, joins=pick.random() < 0.6)
    for line in SHELL:
        screen.feed(f"{line}\r\n".encode())
    screen.touched()
    return screen


def _inline(pick: random.Random) -> None:
    size, theme = frames.size(pick), frames.theme(pick)
    screen = _terminal(pick, size)
    painter = InlinePainter(theme, is_synchronised=pick.random() < 0.5)
    steps = _steps(pick, size)
    place = screen.top + screen.y
    for step in steps:
        screen.feed(painter.paint(step.frame, step.blocks, size))
        touched = screen.touched()
        _hold(touched is None or touched >= place, f"row {touched} was written again; live from {place}")
        place = _check_live(screen, step.frame, size, theme)
        if pick.random() < 0.1:
            screen.feed(painter.redraw(size))
    every = [block for step in steps for block in step.blocks]
    fresh = _like(screen)
    fresh.feed(InlinePainter(theme).paint(steps[-1].frame, every, size))
    _same(screen.all, fresh.all, "painted afresh")
    screen.feed(painter.leave())
    _hold(screen.x == 0 and not screen.is_hidden and not screen.look and not screen.link, "left askew")
    _same(screen.all, _printed(_like(screen), every, size, steps[-1].frame, theme).all, "after the end")


def _check_live(screen: Emulator, frame: ScreenFrame, size: ScreenSize, theme: Theme) -> int:
    """The live lines stand where they should, with the cursor in them; the first row of them."""
    lines, caret = shown_part(frame, size)
    _hold(screen.is_hidden == (caret is None), "the cursor is hidden, or shown, and should not be")
    top = screen.y - (caret.row if caret is not None else len(lines) - 1)
    _hold(top >= 0, f"the live region begins in row {top}")
    if caret is not None:
        _hold(screen.x == caret.column, f"the cursor stands in column {screen.x} and not in {caret.column}")
    for number, line in enumerate(lines):
        wanted = _alone(screen, line, theme)
        _same([screen.screen[top + number]], [wanted], f"live line {number}")
    below = [row for row in screen.screen[top + len(lines) :] if row.shown]
    _hold(not below, f"{[row.text for row in below]} stands below the live region")
    return screen.top + top


def _alone(screen: Emulator, line: ScreenLine, theme: Theme) -> Row:
    other = Emulator(screen.columns, 2, joins=screen.joins)
    other.feed(encode_line(line, theme).encode())
    _hold(not other.gone and other.y == 0, f"a live line does not fit: {line}")
    return other.screen[0]


def _like(screen: Emulator) -> Emulator:
    other = Emulator(screen.columns, screen.rows, joins=screen.joins)
    for line in SHELL:
        other.feed(f"{line}\r\n".encode())
    return other


def _printed(
    screen: Emulator, blocks: Sequence[TranscriptBlock], size: ScreenSize, frame: ScreenFrame, theme: Theme
) -> Emulator:
    for line in chain.from_iterable(block_lines(block, size.columns, frame.look) for block in blocks):
        shown = tuple(segment for segment in line if segment.style != GRAPHICS)
        screen.feed(f"{encode_line(shown, theme)}\r\n".encode())
    return screen


def _resized(pick: random.Random) -> None:
    """Every finished line is there once, in order, whatever the screen does between the frames."""
    size, theme = frames.size(pick), frames.theme(pick)
    screen = _terminal(pick, size)
    screen.reflows = pick.random() < 0.7
    painter = InlinePainter(theme, reflows=screen.reflows)
    finished = [*map(str.rstrip, SHELL)]
    is_exact = True
    for _ in range(pick.randrange(1, 7)):
        if pick.random() < 0.6:
            before, size = size, frames.size(pick)
            size = size._replace(columns=max(size.columns, 2))  # no wide character has a row on less
            is_exact = is_exact and _holds_all(painter, screen, size)
            screen.resize(*size)
            if size != before:
                screen.feed(painter.redraw(size))
        step = Step(pick, size, frames.look(pick))
        screen.feed(painter.paint(step.frame, step.blocks, size))
        _check_live(screen, step.frame, size, theme)
        own = _printed(Emulator(size.columns, 2, joins=screen.joins), step.blocks, size, step.frame, theme)
        finished += own.lines + [""] * (own.top + own.y - len(own.all))
    screen.feed(painter.leave())
    if not screen.reflows:
        return
    seen = [line for line in screen.lines if line]
    wanted = [line for line in finished if line.rstrip()]
    if is_exact:
        _hold(seen == [line.rstrip() for line in wanted], f"{_difference(seen, wanted)}")
    else:
        left = iter(seen)
        for line in wanted:
            _hold(any(other == line.rstrip() for other in left), f"lost: {line!r}")


def _holds_all(painter: InlinePainter, screen: Emulator, size: ScreenSize) -> bool:
    """Whether the live region, wrapped anew, fits on the new screen, and nobody differs about the cursor."""
    rows = sum(rows_of(line, size.columns) for line in painter._lines)
    at = painter._lines[painter._row] if painter._lines else ()
    column = painter._caret.column if painter._caret is not None else 0
    known = text_of(at).isascii() and column <= line_cells(at)
    return screen.joins and known and rows < size.rows and size.rows >= screen.rows


def _full(pick: random.Random) -> None:
    size, theme = frames.size(pick), frames.theme(pick)
    screen = _terminal(pick, size)
    painter = FullPainter(theme, is_synchronised=pick.random() < 0.5, pushes_keys=pick.random() < 0.5)
    screen.feed(painter.enter())
    steps = _steps(pick, size)
    before = screen.top
    for step in steps:
        screen.feed(painter.paint(step.frame, step.blocks, size))
        for _ in range(pick.randrange(3)):
            painter.scroll(pick.randrange(-9, 10))
            screen.feed(painter.paint(step.frame, [], size))
        if pick.random() < 0.2:
            size = frames.size(pick)
            screen.resize(*size)
            before = screen.top
            screen.feed(painter.redraw(size))
            screen.feed(painter.paint(step.frame, [], size))
    _hold(screen.top == before, "the other screen scrolled")
    painter.end()
    last = steps[-1].frame
    screen.feed(painter.paint(last, [], size))
    every = [block for step in steps for block in step.blocks]
    fresh, again = Emulator(*size, joins=screen.joins), FullPainter(theme, every)
    fresh.feed(again.enter() + again.paint(last, [], size))
    _same(screen.screen, fresh.screen, "painted afresh")
    _hold((screen.y, screen.x) == (fresh.y, fresh.x), f"cursor {screen.y, screen.x}, not {fresh.y, fresh.x}")
    _hold(screen.is_hidden == fresh.is_hidden, "the cursor is hidden, or shown, and should not be")
    above = screen.top
    screen.feed(painter.leave())
    _hold(not screen.is_alternate and screen.wraps and not screen.is_hidden and not screen.look, "left askew")
    _hold(screen.top >= above, "rows of the main screen are gone")
    ended = Emulator(*size, joins=screen.joins)
    wanted = _printed(ended, every, size, ScreenFrame(lines=(), look=_flat(last)), theme)
    tail = screen.all[len(screen.all) - len(wanted.all) :] if wanted.all else []
    _same(tail, wanted.all, "printed at the end")


def _flat(frame: ScreenFrame) -> TranscriptLook:
    return replace(frame.look, images="")


def _linear(pick: random.Random) -> None:
    size, theme = frames.size(pick), frames.theme(pick)
    screen = _terminal(pick, size)
    painter = LinearPainter(theme)
    place = screen.top + screen.y
    for step in _steps(pick, size):
        data = painter.paint(step.frame, step.blocks, size)
        _hold(b"\x1b" not in data, "an escape sequence")
        screen.feed(data)
        touched = screen.touched()
        _hold(touched is None or touched >= place, f"row {touched} was written again; draft in {place}")
        place = screen.top + screen.y
        column = step.frame.caret.column if step.frame.caret is not None and step.frame.lines else 0
        column = min(column, size.columns - 1)
        if screen.joins:
            _hold(screen.x == column, f"the cursor stands in column {screen.x} and not in {column}")
    screen.feed(painter.leave())
    if screen.joins:
        _hold(screen.x == 0 and not screen.screen[screen.y].shown, "a draft is left")


def _hold(is_so: bool, why: str) -> None:
    if not is_so:
        raise Wrong(why)


def _same(rows: Sequence[Row], wanted: Sequence[Row], what: str) -> None:
    one, other = [_seen(row) for row in rows], [_seen(row) for row in wanted]
    _hold(one == other, f"{what}: {_difference(one, other)}")


def _seen(row: Row) -> tuple[Cell, ...]:
    """A row as a person sees it: ink does not show on a blank."""
    cells = [
        cell._replace(look="") if cell.text == " " and not _shows(cell.look) else cell for cell in row.cells
    ]
    while cells and cells[-1] == Cell():
        cells.pop()
    return tuple(cells)


def _shows(look: str) -> bool:
    parts = look.split(";")
    return any(part in ("4", "7", "9", "21", "48") or (part[:1] == "4" and len(part) == 2) for part in parts)


def _difference(one: Sequence[object], other: Sequence[object]) -> str:
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return f"row {number} is {_words(left)}\n  and not {_words(right)}\n  {_cell(left, right)}"
    rest = list(map(_words, one[len(other) :] or other[len(one) :]))
    return f"{len(one)} rows and not {len(other)}: {rest!r:.600}"


def _words(row: object) -> str:
    return repr("".join(cell.text for cell in row)) if isinstance(row, tuple) else repr(row)


def _cell(left: object, right: object) -> str:
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        return ""
    pairs = enumerate(zip(left, right, strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))
    return f"cell {at}: {left[at : at + 2]} {right[at : at + 2]}"
