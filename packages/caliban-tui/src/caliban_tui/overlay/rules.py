"""What tools may do, to look at and to change: the mode, what bars others, every rule."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from caliban_tui.line import plain
from caliban_tui.overlay.overlay import OverlayStep, Stay, Work
from caliban_tui.overlay.picker import PickerKey, PickerOverlay, PickerRow, confirmed, picker
from caliban_tui.overlay.views import RuleRow, ViewHost
from caliban_tui.question.visible import visible


def rules_list(host: ViewHost, *, selected: int = 0, note: str = "") -> PickerOverlay:
    """The rules in the order in which they count."""
    shown = host.permissions()
    rows = tuple(_row(number, rule) for number, rule in enumerate(shown.rules))
    heading = [plain(f"mode: {shown.mode}", "bold")]
    heading += [plain(f"barred: {visible(words)}", "dim") for words in shown.barred]
    heading += [plain(visible(note), "warning")] if note else []
    overlay = picker(
        "Permissions", rows, by="slash", empty="no rule is written: what only reads runs, all else is asked"
    )
    return replace(
        overlay,
        heading=tuple(heading),
        chosen=lambda overlay, row: Stay(overlay),
        selected=min(selected, max(len(rows) - 1, 0)),
        keys={
            "tab": PickerKey(help="next mode", does=partial(_next_mode, host)),
            "d": PickerKey(help="delete", does=partial(_delete, host, shown.rules)),
        },
    )


def _row(number: int, rule: RuleRow) -> PickerRow:
    comment = f"# {rule.comment} ·" if rule.comment else ""
    place = f"{comment} {rule.source} {rule.file}".strip()
    return PickerRow(
        label=f"{rule.action:5} {visible(rule.pattern)}", detail=visible(place), value=str(number)
    )


def _next_mode(host: ViewHost, overlay: PickerOverlay, row: PickerRow | None) -> OverlayStep:
    note = host.next_mode()
    return Stay(rules_list(host, selected=overlay.selected, note=note))


def _delete(
    host: ViewHost, rules: tuple[RuleRow, ...], overlay: PickerOverlay, row: PickerRow | None
) -> OverlayStep:
    if row is None:
        return Stay(overlay)
    rule = rules[int(row.value)]
    if rule.fixed:
        return Stay(rules_list(host, selected=overlay.selected, note=rule.fixed))

    async def run() -> OverlayStep:
        note = await host.delete_rule(rule)
        return Stay(rules_list(host, selected=overlay.selected, note=note))

    where = f" from {rule.file}" if rule.file else ""
    words = f"Delete {rule.action} {visible(rule.pattern)}{visible(where)}?"
    return Stay(confirmed(words, lambda: Work(overlay, run), overlay))
