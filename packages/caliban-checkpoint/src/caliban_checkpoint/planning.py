"""What going back to before a prompt means for each file: pure, given what is there now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_checkpoint.manifest import FileEntry, Manifest
from caliban_checkpoint.state import FileState

StepKind: TypeAlias = Literal["restore", "delete", "unchanged", "conflict", "impossible"]
"""`conflict`: somebody else has changed it since. `impossible`: what was there cannot be put back."""


class RestoreStep(Struct, frozen=True, kw_only=True):
    """What is to become of one file.

    `target` is what it was before the prompt, and `index` the prompt that kept its bytes; `now` is what is
    there. `reason` says why a step is a conflict or impossible. `made` are directories that go with the file
    where nothing else is in them.
    """

    path: str
    kind: StepKind
    target: FileState
    now: FileState
    index: int
    reason: str = ""
    made: tuple[str, ...] = ()


def plan_restore(
    manifests: Sequence[Manifest], index: int, look: Callable[[str], FileState | str]
) -> tuple[RestoreStep, ...]:
    """The steps back to before prompt `index`, by path.

    `look` says what is at a path now, or, in words, why it cannot be looked at.
    """
    histories: dict[str, list[tuple[Manifest, FileEntry]]] = {}
    for manifest in sorted(manifests, key=lambda manifest: manifest.prompt_index):
        if manifest.prompt_index >= index:
            for entry in manifest.entries:
                histories.setdefault(entry.path, []).append((manifest, entry))
    return tuple(_step(path, histories[path], look(path)) for path in sorted(histories))


def _step(path: str, history: list[tuple[Manifest, FileEntry]], now: FileState | str) -> RestoreStep:
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


def _doubt(history: list[tuple[Manifest, FileEntry]], now: FileState) -> str:
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
    kind: StepKind = "delete" if step.target.kind == "absent" else "restore"
    return RestoreStep(
        path=step.path,
        kind=kind,
        target=step.target,
        now=step.now,
        index=step.index,
        reason=step.reason,
        made=step.made,
    )
