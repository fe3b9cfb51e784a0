"""`caliban rewind`: back to before a prompt, with the files, the conversation, or both."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.rewind.outcome import Rewound, conversation_json, steps_json, told
from caliban.compose.project import build_settings
from caliban.compose.rewinds import STOPS, RewindPoints, RewindScene, rewind_points
from caliban.compose.session import find_sessions
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.truncation import Cut, cut_before
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, MissingError, UsageError
from caliban.stdio import complain, print_text, write_out
from caliban_checkpoint import SUPPORTED, Manifest, RestoredFile, RestoreStep, forced
from caliban_common.codec import dumps
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_sessions import SessionWriter

NOT_DONE: Final = 1


class RewindInputs(Struct, frozen=True, kw_only=True):
    """The session to go back in, and its prompts."""

    session: str
    workspace: Path
    points: RewindPoints

    def named(self, index: int) -> Manifest:
        """Prompt `index`. Raises `MissingError`."""
        manifest = self.points.find(index)
        if manifest is None:
            raise MissingError(
                f"session {self.session!r} has no prompt {index} to go back to",
                hint=f"caliban rewind {self.session} --list shows those that it has",
            )
        return manifest


def rewind(invocation: Invocation) -> int:
    """Show where to go back to, or go back."""
    values = invocation.values
    _check(values)
    workspace = build_workspace(invocation.options.workspace.workspace)
    inputs = _inputs(invocation, workspace)
    if values["to"] is None:
        return print_text(_listed(inputs, as_json=values["json"]))
    manifest = inputs.named(values["to"])
    if not values["conversation"] and not SUPPORTED:
        raise CommandRefused(
            "files cannot be put back on this system",
            hint="--conversation goes back in the conversation alone",
        )
    if values["summarize"] is not None:
        from caliban.commands.rewind.summary import summarise

        return summarise(invocation, inputs.session, manifest)
    if values["dry_run"]:
        return _shown(invocation, inputs, manifest)
    store = session_store(invocation.options.session)
    with store.open(inputs.session, create=False) as session:
        return _go_back(invocation, inputs, manifest, session)


def _check(values: Mapping[str, Any]) -> None:
    if values["list"] and values["to"] is not None:
        raise UsageError("--list and --to exclude each other")
    if values["code"] and values["conversation"]:
        raise UsageError("--code and --conversation exclude each other", hint="without either, both go back")
    if values["summarize"] is not None:
        others = [name for name in ("code", "conversation", "force", "dry_run") if values[name]]
        if others:
            raise UsageError(f"--summarize and --{others[0].replace('_', '-')} exclude each other")
    elif values["provider"] is not None or values["model"] is not None:
        raise UsageError("--provider and --model say who summarises: they need --summarize")
    idle = [
        f"--{name.replace('_', '-')}"
        for name in ("code", "conversation", "summarize", "force", "dry_run")
        if values[name]
    ]
    if idle and values["to"] is None:
        raise UsageError(f"{idle[0]} needs --to", hint="--list shows the numbers that it takes")


def _inputs(invocation: Invocation, workspace: Path) -> RewindInputs:
    """Raises `MissingError` where there is no such session, and the errors of settings and sessions."""
    options, name = invocation.options, invocation.values["saved"]
    wanted = replace(
        options.session, resume=name, session=None, continue_session=name is None, fork_session=False
    )
    store = session_store(options.session)
    if name is not None:
        require_session(store, name)
    try:
        saved = find_sessions(wanted, workspace).saved
    except MissingError as error:  # its hint would begin a session: there is nothing to go back in
        raise MissingError(
            error.message, hint="caliban rewind SESSION takes one by its name; caliban sessions list --all"
        ) from None
    _check_place(store.load(saved.id).workspace, workspace, saved.id)
    for warning in saved.warnings:
        complain(f"caliban: {warning}\n")
    points = rewind_points(
        RewindScene(
            session=saved.id,
            messages=saved.messages,
            workspace=workspace,
            settings=build_settings(options.settings, workspace),
            environ=os.environ,
        )
    )
    for problem in points.problems:
        complain(f"caliban: {problem}\n")
    return RewindInputs(session=saved.id, workspace=workspace, points=points)


def _check_place(used: str, workspace: Path, session: str) -> None:
    """Raise `UsageError` for a session of another directory: its checkpoints are kept there."""
    if used not in ("", str(workspace)):
        raise UsageError(
            f"session {session!r} was used last in {one_line(used, max_chars=300)}, not in {workspace}",
            hint=f"--workspace {shlex.quote(one_line(used, max_chars=300))}",
        )


def _listed(inputs: RewindInputs, *, as_json: bool) -> str:
    """The prompts, the newest first."""
    rows = []
    for manifest in reversed(inputs.points.all):
        if as_json:
            row = {
                "prompt": manifest.prompt_index,
                "kind": manifest.kind,
                "title": manifest.title,
                "created_at": manifest.created_at or None,
                "message_id": manifest.prompt_id or None,
                "files": [entry.path for entry in manifest.entries],
                "partial": manifest.partial,
                "notes": list(_notes(manifest)),
            }
            rows.append(dumps(row).decode())
            continue
        files = plural(len(manifest.entries), "file") if manifest.entries else "no files"
        if manifest.kind == "damaged":
            files = "files unknown"
        state = {"cleared": ", given up for room", "rewind": ", put back"}.get(manifest.kind, "")
        when, title = visible(one_line(manifest.created_at)) or "-", visible(one_line(manifest.title))
        rows.append(f"{manifest.prompt_index:4}  {when:20}  {files}{state}  {title}")
        rows.extend(f"      {visible(note)}" for note in _notes(manifest))
    if not as_json:
        rows = rows or [f"(session {inputs.session} has no prompts)"]
    return "".join(f"{row}\n" for row in rows)


def _notes(manifest: Manifest) -> tuple[str, ...]:
    cut = "it was killed in the midst of a command, and nobody knows what that has changed"
    return (*map(one_line, manifest.notes), *((cut,) if manifest.running else ()))


def _shown(invocation: Invocation, inputs: RewindInputs, manifest: Manifest) -> int:
    """Say what going back would do."""
    steps, cut = _planned(invocation, inputs, manifest, None)
    files = tuple(RestoredFile(step=step) for step in steps)
    is_barred = _is_incomplete(invocation, inputs) or any(step.kind in STOPS for step in steps)
    return _report(invocation, inputs, Rewound(files=files, cut=cut, done=False, barred=is_barred))


def _go_back(invocation: Invocation, inputs: RewindInputs, manifest: Manifest, session: SessionWriter) -> int:
    """Do it: files first, so that what is cut off in between can be done again."""
    steps, cut = _planned(invocation, inputs, manifest, session)
    is_barred = _is_incomplete(invocation, inputs) or any(step.kind in STOPS for step in steps)
    if is_barred and not invocation.values["force"]:
        files = tuple(RestoredFile(step=step) for step in steps)
        return _report(invocation, inputs, Rewound(files=files, cut=cut, done=False, barred=True))
    files = _restored(inputs, steps, manifest)
    if cut is not None:
        session.replace(cut.kept)
        session.note_pending(())
        session.note(prefix={})
    return _report(invocation, inputs, Rewound(files=files, cut=cut, done=True))


def _is_incomplete(invocation: Invocation, inputs: RewindInputs) -> bool:
    """Whether files are to go back while a checkpoint cannot be read: nobody knows what it has kept."""
    return bool(inputs.points.problems) and not invocation.values["conversation"]


def _restored(
    inputs: RewindInputs, steps: tuple[RestoreStep, ...], manifest: Manifest
) -> tuple[RestoredFile, ...]:
    done = inputs.points.apply(steps, f"back to before prompt {manifest.prompt_index}")
    by_path = {item.step.path: item for item in done}
    return tuple(
        by_path.get(step.path) or RestoredFile(step=step, problem=step.reason if step.kind in STOPS else "")
        for step in steps
    )


def _planned(
    invocation: Invocation, inputs: RewindInputs, manifest: Manifest, session: SessionWriter | None
) -> tuple[tuple[RestoreStep, ...], Cut | None]:
    """What is to be done: to files, and to the conversation. Raises `CommandRefused`."""
    values = invocation.values
    cut = None
    if not values["code"]:
        state = (
            session.state
            if session is not None
            else session_store(invocation.options.session).load(inputs.session)
        )
        transcript = session.transcript() if session is not None else None
        cut = cut_before(state.messages, manifest.prompt_id, transcript)
        if cut is None:
            raise CommandRefused(
                f"prompt {manifest.prompt_index} is no part of the conversation any more",
                hint="--code puts back the files alone",
            )
    steps: tuple[RestoreStep, ...] = ()
    if not values["conversation"]:
        steps = inputs.points.plan(manifest.prompt_index)
        if values["force"]:
            steps = tuple(map(forced, steps))
    return steps, cut


def _report(invocation: Invocation, inputs: RewindInputs, rewound: Rewound) -> int:
    values = invocation.values
    is_whole = (
        rewound.done
        and not any(item.problem for item in rewound.files)
        and not _is_incomplete(invocation, inputs)
    )
    code = 0 if is_whole or (values["dry_run"] and not rewound.barred) else NOT_DONE
    notes = [note for m in inputs.points.all if m.prompt_index >= values["to"] for note in _notes(m)]
    if values["conversation"]:
        notes = []
    if values["json"]:
        data = {
            "session": inputs.session,
            "to": values["to"],
            "dry_run": values["dry_run"],
            "done": rewound.done,
            "files": steps_json(rewound),
            "conversation": conversation_json(rewound),
            "notes": notes,
        }
        return write_out(dumps(data) + b"\n") or code
    written = print_text(told(rewound, inputs.workspace, dry_run=values["dry_run"]))
    for note in notes:
        complain(f"caliban: {note}\n")
    if rewound.barred:
        hint = (
            "--force overwrites what others did, and does what can be done" if not values["dry_run"] else ""
        )
        complain("caliban: nothing was changed\n" + (f"hint: {hint}\n" if hint else ""))
    return written or code
