"""Settings, to look at and to change: what counts, where it comes from, the file that a change goes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from caliban_common.errors import CalibanError
from caliban_tui.line import ScreenLine, plain
from caliban_tui.overlay.overlay import OverlayStep, Stay, Work
from caliban_tui.overlay.picker import InputOverlay, PickerKey, PickerOverlay, PickerRow, picker
from caliban_tui.overlay.views import SettingRow, ViewHost
from caliban_tui.question.textfield import TextField
from caliban_tui.question.visible import visible


def settings_list(
    host: ViewHost, *, place: int = 0, note: str = "", before: PickerOverlay | None = None
) -> PickerOverlay:
    """Every setting; `place` is that of the file that changes go to, `before` says which one is chosen."""
    rows, files = host.settings(), host.setting_files()
    by_name = {row.name: row for row in rows}
    scope, path = files[place % len(files)]
    shown = picker("Settings", tuple(map(_row, rows)), by="slash")
    heading = [plain(f"changes go to: {scope}, {visible(path)}", "bold")]
    heading += [plain(visible(note), "warning")] if note else []
    again = partial(settings_list, host)

    def changed(work: Callable[[], Awaitable[str]], overlay: PickerOverlay) -> OverlayStep:
        async def run() -> OverlayStep:
            try:
                note = await work()
            except CalibanError as error:
                note = " ".join(filter(None, (error.message, error.hint)))
            return Stay(again(place=place, note=note, before=overlay))

        return Work(overlay, run)

    def write(name: str, overlay: PickerOverlay, text: str) -> OverlayStep:
        return changed(partial(host.write_setting, name, text, scope), overlay)

    def choose(overlay: PickerOverlay, row: PickerRow) -> OverlayStep:
        setting = by_name[row.value]
        if setting.choices:
            return write(setting.name, overlay, next_choice(setting))
        return edit(overlay, row)

    def edit(overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
        if row is None:
            return Stay(overlay)
        setting = by_name[row.value]
        title = f"{setting.name}, in {scope} ({visible(path)})"
        done = partial(write, setting.name, overlay)
        return Stay(InputOverlay(title=title, done=done, before=overlay, text=TextField.of(setting.text)))

    def unset(overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
        if row is None:
            return Stay(overlay)
        return changed(partial(host.unset_setting, row.value, scope), overlay)

    shown = replace(
        shown,
        heading=tuple(heading),
        chosen=choose,
        preview=lambda row: _preview(by_name[row.value]),
        keys={
            "tab": PickerKey(
                help="another file",
                does=lambda overlay, row: Stay(again(place=(place + 1) % len(files), before=overlay)),
            ),
            "e": PickerKey(help="type a value", does=edit),
            "u": PickerKey(help="take it out", does=unset),
        },
    )
    return shown if before is None else shown.like(before)


def next_choice(setting: SettingRow) -> str:
    """The value behind the one that counts now, the first one behind the last."""
    now = setting.choices.index(setting.now) if setting.now in setting.choices else -1
    return setting.choices[(now + 1) % len(setting.choices)]


def _row(row: SettingRow) -> PickerRow:
    value = f" = {visible(row.value)}" if row.value else ""
    return PickerRow(
        label=f"{visible(row.name)}{value}", detail=visible(row.origin) or "not set", value=row.name
    )


def _preview(row: SettingRow) -> tuple[ScreenLine, ...]:
    lines = [plain(visible(row.about), "dim")]
    if row.choices:
        lines.append(plain(visible(f"enter goes on: {', '.join(row.choices)}"), "dim"))
    return tuple(lines)
