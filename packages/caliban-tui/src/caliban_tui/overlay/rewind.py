"""Back to before a prompt: which one, what goes back, and what that would do before it is done."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec.structs import replace

from caliban_common.text import plural
from caliban_tui.line import ScreenLine, plain
from caliban_tui.overlay.overlay import OverlayStep, Stay, Tell, Work
from caliban_tui.overlay.picker import PickerOverlay, PickerRow, confirmed, picker
from caliban_tui.overlay.views import PromptRow, RestoreKind, RestorePlan, ViewHost
from caliban_tui.question.call import change_lines
from caliban_tui.question.visible import visible

KINDS: Final[tuple[tuple[RestoreKind, str], ...]] = (
    ("both", "files and conversation"),
    ("code", "files only"),
    ("conversation", "conversation only"),
    ("summarise_from", "summarise from here on"),
    ("summarise_to", "summarise up to here"),
)
UNSEEN: Final = "what commands of the shell changed is not among it, unless a tool had the file before"


async def rewind_picker(host: ViewHost) -> PickerOverlay:
    """The prompts, the newest first. Raises `CalibanError`."""
    prompts = await host.prompts()
    by_value = {str(prompt.index): prompt for prompt in prompts}
    shown = picker("Back to before which prompt?", tuple(map(_row, prompts)), empty="no prompt was given yet")

    def chosen(overlay: PickerOverlay, row: PickerRow) -> OverlayStep:
        async def run() -> OverlayStep:
            plan = await host.restore_plan(by_value[row.value])
            return Stay(kind_picker(host, plan, overlay))

        return Work(overlay, run)

    return replace(shown, chosen=chosen, heading=(plain(UNSEEN, "dim"),))


def _row(prompt: PromptRow) -> PickerRow:
    files = plural(prompt.files, "file") if prompt.files else "no files"
    when = f"{prompt.when} · " if prompt.when else ""
    return PickerRow(
        label=f"{prompt.index} {visible(prompt.title)}", detail=f"{when}{files}", value=str(prompt.index)
    )


def kind_picker(host: ViewHost, plan: RestorePlan, before: PickerOverlay) -> PickerOverlay:
    """What goes back, with what that does; the first is what Enter does."""
    rows = tuple(
        PickerRow(label=words, detail=_why_not(plan, kind), value=kind, is_fixed=bool(_why_not(plan, kind)))
        for kind, words in KINDS
    )
    title = f"Back to before {plan.prompt.index} {visible(plan.prompt.title)}"
    shown = picker(title, rows, by="none")
    return replace(shown, preview=partial(_preview, plan), chosen=partial(_restore, host, plan, before))


def _why_not(plan: RestorePlan, kind: str) -> str:
    if kind in ("both", "code") and plan.no_files:
        return plan.no_files
    return plan.no_conversation if kind != "code" else ""


def _preview(plan: RestorePlan, row: PickerRow) -> tuple[ScreenLine, ...]:
    lines: list[ScreenLine] = []
    if row.value in ("both", "conversation"):
        lines.append(plain(f"{plural(plan.removed, 'message')} of the conversation go", "warning"))
    if row.value.startswith("summarise"):
        lines.append(plain("a summary by the model takes their place; files stay", "dim"))
    if row.value in ("both", "code"):
        if not plan.files:
            lines.append(plain("no file changes", "dim"))
        for file in plan.files:
            why = f": {visible(file.reason)}" if file.reason else ""
            style = "error" if file.reason else "bold"
            lines.append(plain(f"{file.does} {visible(file.path)}{why}", style))
            lines += change_lines(file.change) if file.change is not None else ()
        lines += [plain(visible(note), "dim") for note in plan.prompt.notes]
    return tuple(lines)


def _restore(
    host: ViewHost, plan: RestorePlan, before: PickerOverlay, overlay: PickerOverlay, row: PickerRow
) -> OverlayStep:
    kind = next(kind for kind, _ in KINDS if kind == row.value)
    force = kind in ("both", "code") and plan.is_barred

    async def run() -> OverlayStep:
        done = await host.restore(plan.prompt, kind, force=force)
        return Tell(done.words, reopens=done.reopens)

    if force:
        words = "Files were changed by somebody else since. Put them back all the same?"
        return Stay(confirmed(words, lambda: Work(overlay, run), overlay))
    return Work(overlay, run)
