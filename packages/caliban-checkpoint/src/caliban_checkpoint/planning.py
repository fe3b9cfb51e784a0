"""What going back to before a prompt means for each file: pure, given what is there now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_checkpoint.manifest import FileEntry, Manifest
from caliban_checkpoint.state import ABSENT, DIRECTORY, FileState

History: TypeAlias = list[tuple[Manifest, FileEntry]]
"""What prompts did to one file, in order."""

StepKind: TypeAlias = Literal["restore", "delete", "unchanged", "conflict", "impossible"]
"""`conflict`: somebody else has changed it since. `impossible`: what was there cannot be put back."""


class RestoreStep(Struct, frozen=True, kw_only=True):
    """What is to become of one file.

    `target` is what it was before the prompt, and `index` the prompt that kept its bytes; `now` is what is
    there. `reason` says why a step is a conflict or impossible. `made` are directories that go with the file
    where nothing else is in them. With `clears` a directory stands in the place of the file, and holds
    nothing once the other steps are done.
    """

    path: str
    kind: StepKind
    target: FileState
    now: FileState
    index: int
    reason: str = ""
    made: tuple[str, ...] = ()
    clears: bool = False


def plan_restore(
    manifests: Sequence[Manifest],
    index: int,
    look: Callable[[str], FileState | str],
    inside: Callable[[str], Sequence[str] | None],
) -> tuple[RestoreStep, ...]:
    """The steps back to before prompt `index`, by path.

    `look` says what is at a path now, or, in words, why it cannot be looked at. `inside` names what is below
    a directory and is none itself, `None` where nobody can say.
    """
    histories: dict[str, History] = {}
    for manifest in sorted(manifests, key=lambda manifest: manifest.prompt_index):
        if manifest.prompt_index >= index:
            for entry in manifest.entries:
                histories.setdefault(entry.path, []).append((manifest, entry))
    steps: dict[str, RestoreStep] = {}
    for path in sorted(histories):
        above = _in_the_way(path, steps)
        step = _step(path, histories[path], look(path) if above is None else ABSENT)
        steps[path] = step if above is None else _behind(above, step)
    for path, step in steps.items():
        if step.now == DIRECTORY:
            steps[path] = _in_place_of(step, _step(path, histories[path], ABSENT), steps, inside)
    return tuple(steps.values())


def _in_the_way(path: str, steps: Mapping[str, RestoreStep]) -> RestoreStep | None:
    """The step of the file or link that stands where a directory led to `path`: nothing can be behind it."""
    above = (steps.get(str(folder)) for folder in PurePath(path).parents)
    return next((step for step in above if step is not None and step.now.kind in ("file", "link")), None)


def _behind(above: RestoreStep, step: RestoreStep) -> RestoreStep:
    """`step`, which can only be done once the one above it has made room."""
    if step.kind != "restore" or above.kind == "delete":
        return step
    kind: StepKind = "conflict" if above.kind == "conflict" else "impossible"
    return replace(step, kind=kind, reason=f"{above.now.in_words} is where its directory was")


def _in_place_of(
    step: RestoreStep,
    free: RestoreStep,
    steps: Mapping[str, RestoreStep],
    inside: Callable[[str], Sequence[str] | None],
) -> RestoreStep:
    """`step`, in whose place a directory stands, as `free` where that is empty once the others are done."""
    if free.kind == "unchanged":
        return free
    names = inside(step.path)
    if names is None:
        return step
    kinds = {steps[name].kind if name in steps else "impossible" for name in names}
    if kinds <= {"delete"}:
        reason = "it is a directory now" if free.kind == "conflict" else free.reason
        return replace(free, clears=True, reason=reason)
    if kinds <= {"delete", "conflict"}:
        return replace(
            free, clears=True, kind="conflict", reason="somebody else changed what is in its place"
        )
    return replace(step, reason="it is a directory now, with other files in it")


def _step(path: str, history: History, now: FileState | str) -> RestoreStep:
    manifest, first = history[0]
    target = first.before
    made = tuple(dict.fromkeys(folder for _, entry in history for folder in entry.made))
    seen = now if isinstance(now, FileState) else FileState(kind="other", target=now)
    reason = ""
    if now == target:
        kind: StepKind = "unchanged"
    elif isinstance(now, str):
        kind, reason = "impossible", now
    elif now.kind == "other":
        kind, reason = "impossible", f"it is {now.in_words} now"
    elif missing := _not_kept(manifest, first):
        kind, reason = "impossible", missing
    elif doubt := _doubt(history, now):
        kind, reason = "conflict", doubt
    else:
        kind = "delete" if target.kind == "absent" else "restore"
    return RestoreStep(
        path=path,
        kind=kind,
        target=target,
        now=seen,
        index=manifest.prompt_index,
        reason=reason,
        made=made,
    )


def _not_kept(manifest: Manifest, entry: FileEntry) -> str:
    """Why what was there before cannot be put back; empty where it can."""
    if entry.error:
        return f"it was not kept: {entry.error}"
    if entry.before.kind == "other":
        return f"it was {entry.before.in_words}"
    if entry.before.kind == "file" and manifest.kind == "cleared":
        return "its bytes were given up for room"
    return ""


def _doubt(history: History, now: FileState) -> str:
    """Why going back could lose what somebody else did; empty where all states are known to be ours.

    What a person overwrote on purpose, when files were put back, is in no doubt.
    """
    known: list[FileState] = []
    for manifest, entry in history:
        if known and entry.before not in known and manifest.kind != "rewind":
            return "somebody else changed it between two prompts"
        if entry.foreign:
            return "somebody else changed it between two changes of one prompt"
        known.append(entry.before)
        if entry.after is not None:
            known.append(entry.after)
    if now in known:
        return ""
    if any(entry.is_open for _, entry in history):
        return "a run was killed while it changed it, so nobody knows whose change this is"
    return "it was deleted since" if now.kind == "absent" else "somebody else changed it since"


def forced(step: RestoreStep) -> RestoreStep:
    """`step` where somebody says that what others did may go."""
    if step.kind != "conflict":
        return step
    return replace(step, kind="delete" if step.target.kind == "absent" else "restore")
