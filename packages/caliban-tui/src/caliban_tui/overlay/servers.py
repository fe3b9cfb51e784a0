"""MCP servers, to look at and to change for this session: connect anew, switch off and on, log in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban_common.errors import CalibanError
from caliban_common.text import plural
from caliban_tui.line import ScreenLine, plain
from caliban_tui.overlay.overlay import Choose, OverlayStep, Stay, Work
from caliban_tui.overlay.picker import PickerKey, PickerOverlay, PickerRow, picker
from caliban_tui.overlay.views import ServerRow, ViewHost
from caliban_tui.question.visible import visible

SIGNS: Final = MappingProxyType({"connected": "●", "pending": "◐", "needs-auth": "◐"})


def server_list(host: ViewHost, *, note: str = "", before: PickerOverlay | None = None) -> PickerOverlay:
    """The servers of the run, and those that it does not use; `before` says which one is chosen."""
    rows = host.servers()
    shown = picker(
        "MCP servers",
        tuple(map(_row, rows)),
        by="slash",
        empty="there are no MCP servers; caliban mcp add writes one",
    )
    by_name = {row.name: row for row in rows}
    shown = replace(
        shown,
        heading=(plain(visible(note), "warning"),) if note else (),
        preview=lambda row: _preview(by_name[row.value]),
        chosen=lambda overlay, row: Stay(overlay),
        renew=lambda overlay: replace(server_list(host, before=overlay), heading=overlay.heading),
        keys={
            "r": PickerKey(help="connect anew", does=partial(_do, host, host.reconnect_server, "connecting")),
            "d": PickerKey(help="switch off or on", does=partial(_do, host, host.toggle_server, "switching")),
            "l": PickerKey(help="log in", does=_log_in),
            "u": PickerKey(
                help="look again", does=lambda overlay, row: Stay(server_list(host, before=overlay))
            ),
        },
    )
    return shown if before is None else shown.like(before)


def _row(row: ServerRow) -> PickerRow:
    facts = (row.state, plural(row.tools, "tool") if row.tools else "", row.scope)
    return PickerRow(
        label=f"{SIGNS.get(row.state, '○')} {visible(row.name)}",
        detail=visible(" · ".join(filter(None, facts))),
        value=row.name,
    )


def _preview(row: ServerRow) -> tuple[ScreenLine, ...]:
    lines = [plain(visible(line), "dim") for line in row.about]
    return (*([plain(visible(row.words), "warning")] if row.words else []), *lines)


def _log_in(overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    """By the command, below the transcript: the address has to be seen, and the wait can be interrupted."""
    return Stay(overlay) if row is None else Choose(f"/mcp login {row.value}")


def _do(
    host: ViewHost,
    work: Callable[[str], Awaitable[str]],
    words: str,
    overlay: PickerOverlay,
    row: PickerRow | None,
) -> OverlayStep:
    """Do `work` with the chosen server; meanwhile, and where it fails, a line says so."""
    if row is None:
        return Stay(overlay)

    async def run() -> OverlayStep:
        try:
            note = await work(row.value)
        except CalibanError as error:
            note = " ".join(filter(None, (error.message, error.hint)))
        return Stay(server_list(host, note=note, before=overlay))

    waits = plain(f"{visible(row.value)}: {words} …", "dim")
    return Work(replace(overlay, heading=(waits,)), run, beside=True)
