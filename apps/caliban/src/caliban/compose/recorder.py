"""The checkpoints of a run: whose calls are kept, where, and of which prompt."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from caliban.compose.access import roots_of
from caliban.compose.tools import ToolInputs
from caliban.errors import UsageError
from caliban_agent_core.compact.cuts import is_request
from caliban_checkpoint import (
    SUPPORTED,
    CallFacts,
    CheckpointLimits,
    CheckpointParts,
    CheckpointRecorder,
    CheckpointStore,
    GitListing,
    PromptPoint,
    Roots,
    Shadow,
    workspace_dir,
)
from caliban_common.lazy import lazy_pattern
from caliban_common.mask import Masker
from caliban_common.message import Message
from caliban_common.paths import expand_user, home
from caliban_common.text import one_line
from caliban_common.tool import ToolContext, ToolSpec
from caliban_drive.notice import Notice
from caliban_permissions.secrets import is_secret

TITLE_CHARS = 80
HOOK_MARK = "<hook event="
_MAY_BE_STORED = lazy_pattern(r"/\.|^/(?:etc|var|run)/|/(?:Library|snap)/")
"""What every place of credentials has in its name."""

_XDG = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share"))


class RunCheckpoints:
    """Keeps what the calls of a run, and of its sub-agents, change."""

    def __init__(self, inputs: ToolInputs) -> None:
        self._inputs = inputs
        self._recorder: CheckpointRecorder | None = None
        self._roots: Roots | None = None
        self._messages: tuple[Message, ...] | None = None
        self._points: tuple[PromptPoint, ...] = ()
        inputs.board.checkpoints = self

    @asynccontextmanager
    async def around(
        self, spec: ToolSpec, args: Mapping[str, Any], context: ToolContext, *, runs: bool
    ) -> AsyncIterator[None]:
        """Keep what was there before a call, and note what it left; `runs` a command that may change it."""
        recorder = self._recorder_now()
        if recorder is None:
            yield
            return
        call = CallFacts(tool_name=spec.name, tool_use_id=context.tool_use_id, agent=context.agent)
        async with AsyncExitStack() as after:
            for path in self._paths(spec, args):
                if await recorder.before_edit(path, call):
                    after.push_async_callback(recorder.after_edit, path)
            if runs:
                await recorder.before_command(call)
                after.push_async_callback(recorder.after_command, call)
            yield

    async def forget(self) -> None:
        """Read what is kept anew: files were put back meanwhile."""
        if self._recorder is not None:
            await self._recorder.forget()

    def add_root(self, root: Path) -> None:
        """Keep what calls change in the directory `root` too."""
        if self._roots is not None:
            self._roots.add(root)

    def _paths(self, spec: ToolSpec, args: Mapping[str, Any]) -> tuple[str, ...]:
        """The files that a call names to be written, as the tool itself understands the names."""
        names = [args.get(name) for name, role in spec.roles.items() if role == "writes"]
        workspace = self._inputs.workspace
        return tuple(
            os.path.realpath(str(workspace / expand_user(name)))
            for name in names
            if isinstance(name, str) and name and "\0" not in name
        )

    def _recorder_now(self) -> CheckpointRecorder | None:
        inputs, session = self._inputs, self._inputs.board.session
        if session is None or session.store_error is not None or not SUPPORTED:
            return None
        if self._recorder is None:
            environ, workspace = inputs.host.environ, inputs.workspace
            place = workspace_dir(checkpoint_root(environ), workspace)
            roots = self._roots = Roots((workspace, *roots_of(inputs.live.now, workspace)))
            unwatched = why_unwatched(workspace)
            self._recorder = CheckpointRecorder(
                CheckpointParts(
                    store=CheckpointStore(place, session.id, limits_of(environ)),
                    roots=roots,
                    prompts=lambda: self._prompts(session.messages),
                    now=now,
                    report=self._report,
                    listing=GitListing(
                        workspace, place / "shadow", inputs.host.runner, environ.get("PATH", "")
                    ),
                    shadow=Shadow(place / "shadow", roots, withheld=withheld_files(environ)),
                    unwatched=unwatched,
                )
            )
        return self._recorder

    def _prompts(self, messages: tuple[Message, ...]) -> tuple[PromptPoint, ...]:
        """The prompts so far; the history stays the same value while a prompt is at work."""
        if messages is not self._messages:
            self._messages = messages
            self._points = prompt_points(messages, self._inputs.host.masker)
        return self._points

    def _report(self, words: str) -> None:
        self._inputs.report(Notice(subtype="checkpoint", message=words))


def checkpoint_root(environ: Mapping[str, str]) -> Path:
    """Where checkpoints of all workspaces are."""
    named = environ.get("CALIBAN_CHECKPOINT_ROOT")
    return expand_user(named).absolute() if named else home() / ".caliban" / "projects"


def withheld_files(environ: Mapping[str, str]) -> Callable[[str], bool]:
    """Says of which files no copies are kept before a command runs: those that usually hold credentials.

    They are what no command may show unasked, and where no command in a sandbox may look.
    """
    stores: list[str] = []

    def is_withheld(path: str) -> bool:
        if is_secret(path):
            return True
        if not _MAY_BE_STORED.search(path):
            return False  # most paths: the sandbox is not loaded for them
        if not stores:
            from caliban_sandbox.stores import credential_stores

            own = os.path.realpath(home())
            config, data = (environ.get(name) or f"{own}/{usual}" for name, usual in _XDG)
            stores.extend(credential_stores(own, config, data))
        return any(path == store or path.startswith(f"{store}/") for store in stores)

    return is_withheld


def limits_of(environ: Mapping[str, str]) -> CheckpointLimits:
    """The limits that the environment says. Raises `UsageError`."""
    base = CheckpointLimits()
    return CheckpointLimits(
        file_bytes=_number(environ, "CALIBAN_CHECKPOINT_MAX_FILE_BYTES", base.file_bytes),
        prompt_bytes=base.prompt_bytes,
        total_bytes=_number(environ, "CALIBAN_CHECKPOINT_MAX_BYTES", base.total_bytes),
    )


def why_unwatched(workspace: Path) -> str:
    """Why commands are not watched in `workspace`; empty where they are."""
    real, own = os.path.realpath(workspace), os.path.realpath(home())
    if Path(real).parent == Path(real):
        return "the workspace is the root of the file system"
    if own == real or own.startswith(real + os.sep):
        return "the workspace holds your home"
    return ""


def prompt_points(messages: Sequence[Message], masker: Masker | None = None) -> tuple[PromptPoint, ...]:
    """The prompts among `messages`: what a person said, and none of what the loop or a hook put in."""
    points: list[PromptPoint] = []
    before = ""
    for message in messages:
        if is_persons(message):
            text = message.text if masker is None else masker.text(message.text)
            title = one_line(text, max_chars=TITLE_CHARS)
            points.append(PromptPoint(id=message.id, title=title, last_message_id=before))
        before = message.id
    return tuple(points)


def is_persons(message: Message) -> bool:
    """Whether a person said it."""
    return is_request(message) and not is_hook_context(message)


def is_hook_context(message: Message) -> bool:
    """Whether a hook said it to the model."""
    return message.role == "user" and message.text.startswith(HOOK_MARK)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 18 and int(text) > 0):
        raise UsageError(f"{name} must be a whole number above 0, not {one_line(text, max_chars=40)!r}")
    return int(text)
