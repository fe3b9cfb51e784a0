"""Commands in the background, with what they write; and the list of tasks."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_tui.line import ScreenLine, plain
from caliban_tui.overlay.overlay import (
    CLOSING,
    Close,
    OverlayStep,
    Stay,
    TextOverlay,
    framed,
    key_name,
    page_of,
)
from caliban_tui.overlay.picker import PickerKey, PickerOverlay, PickerRow, confirmed, picker
from caliban_tui.overlay.views import BackgroundRow, ViewHost
from caliban_tui.question.visible import broken, visible
from caliban_tui.screen import ScreenSize

MARKS: Final = (("completed", "[x]"), ("in_progress", "[>]"))


def background_list(host: ViewHost, *, selected: int = 0) -> PickerOverlay:
    """The commands in the background."""
    rows = tuple(map(_row, host.background()))
    overlay = picker("In the background", rows, by="none", empty="nothing runs in the background")
    return replace(
        overlay,
        selected=min(selected, max(len(rows) - 1, 0)),
        chosen=lambda overlay, row: Stay(
            OutputOverlay(host=host, id=row.value, title=row.label, before=overlay)
        ),
        preview=lambda row: _tail(host, row.value, 200, 5),
        keys={
            "r": PickerKey(
                help="look again", does=lambda o, row: Stay(background_list(host, selected=o.selected))
            ),
            "x": PickerKey(help="end it", does=partial(_end, host)),
        },
    )


class OutputOverlay(Struct, frozen=True, kw_only=True):
    """The output of one command, its end followed until one scrolls up. See `Overlay`."""

    host: ViewHost
    id: str
    title: str
    before: PickerOverlay
    back: int = 0

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        rows, page = _tail(self.host, self.id, size.columns, None), page_of(size)
        last = max(len(rows) - page - self.back, 0)
        state = "" if not self.back else f" · {self.back} rows back"
        return framed(self.title, rows[last : last + page], f"↑↓ PgUp PgDn · esc back{state}", size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name, page = key_name(name), page_of(size)
        if name == "q":
            return Close()
        if name in CLOSING:
            return Stay(background_list(self.host, selected=self.before.selected))
        steps = {"up": 1, "down": -1, "pageup": page, "pagedown": -page, "end": -self.back, "G": -self.back}
        most = max(len(_tail(self.host, self.id, size.columns, None)) - page, 0)
        return Stay(replace(self, back=min(max(self.back + steps.get(name, 0), 0), most)))

    def paste(self, text: str, size: ScreenSize) -> None:
        """See `Overlay`. Nothing is typed here."""


def todo_overlay(host: ViewHost) -> TextOverlay:
    """The list of tasks."""
    marks = dict(MARKS)
    lines = [f"{marks.get(todo.status, '[ ]')} {visible(todo.content)}" for todo in host.todos()]
    return TextOverlay(title="Tasks", text="\n".join(lines) or "the list of tasks is empty")


def _row(row: BackgroundRow) -> PickerRow:
    return PickerRow(label=f"{row.id} {visible(row.title)}", detail=row.state, value=row.id)


def _end(host: ViewHost, overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    if row is None:
        return Stay(overlay)

    def yes() -> OverlayStep:
        host.stop_background(row.value)
        return Stay(background_list(host, selected=overlay.selected))

    return Stay(confirmed(f"End {row.label}?", yes, overlay))


def _tail(host: ViewHost, id: str, columns: int, rows: int | None) -> tuple[ScreenLine, ...]:
    text = visible(host.background_output(id).rstrip("\n"))
    lines = tuple(plain(piece) for piece in broken(text, columns)) if text else ()
    return lines if rows is None else lines[-rows:]
