"""The list of sessions: which one goes on, its last words, renamed or forked; and their tree."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from caliban_commands.answer import SwitchSession
from caliban_tui.line import ScreenLine, plain
from caliban_tui.overlay.overlay import Do, OverlayStep, Stay, Work
from caliban_tui.overlay.picker import InputOverlay, PickerKey, PickerOverlay, PickerRow, picker
from caliban_tui.overlay.views import SessionRow, ViewHost
from caliban_tui.question.visible import visible


async def session_picker(
    host: ViewHost, *, everywhere: bool = False, search: str = "", chosen: str = ""
) -> PickerOverlay:
    """The sessions of the workspace, or of all. Raises `CalibanError` where they cannot be read."""
    rows = await host.sessions(everywhere=everywhere)
    title = "Sessions everywhere" if everywhere else "Sessions of this workspace"
    shown = picker(title, tuple(map(_row, rows)), by="slash", empty="there are no sessions")
    shown = replace(
        shown,
        chosen=_switch,
        preview=partial(_preview, host),
        keys={
            "tab": PickerKey(
                help="those of here" if everywhere else "all", does=partial(_other, host, not everywhere)
            ),
            "r": PickerKey(help="rename", does=partial(_rename, host, everywhere)),
            "f": PickerKey(help="fork", does=_fork),
        },
    )
    if search:
        shown = shown.found(replace(shown.search, text=search, cursor=len(search)), searches=False)
    return shown.at(chosen) if chosen else shown


def _row(row: SessionRow) -> PickerRow:
    labels = "".join(f" #{label}" for label in row.labels)
    count = "" if row.messages is None else f" · {row.messages} messages"
    place = f" · {row.workspace}" if row.workspace else ""
    return PickerRow(
        label=f"{'  ' * row.depth}{row.title or row.name}{labels}",
        detail=f"{row.when}{count}{place}",
        value=row.name,
        is_current=row.is_current,
    )


def _preview(host: ViewHost, row: PickerRow) -> tuple[ScreenLine, ...]:
    return tuple(plain(visible(line), "dim") for line in host.session_preview(row.value))


def _switch(overlay: PickerOverlay, row: PickerRow) -> OverlayStep:
    return Do(SwitchSession(name=row.value))


def _fork(overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    return Stay(overlay) if row is None else Do(SwitchSession(name=row.value, fork=True))


def _other(host: ViewHost, everywhere: bool, overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    async def run() -> OverlayStep:
        text = overlay.search.text
        return Stay(await session_picker(host, everywhere=everywhere, search=text))

    return Work(overlay, run)


def _rename(host: ViewHost, everywhere: bool, overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    if row is None:
        return Stay(overlay)

    def done(title: str) -> OverlayStep:
        async def run() -> OverlayStep:
            await host.rename_session(row.value, title)
            return Stay(await session_picker(host, everywhere=everywhere, chosen=row.value))

        return Work(overlay, run)

    return Stay(InputOverlay(title=f"Call {row.label.strip()} what?", done=done, before=overlay))
