"""The prompt of a run: from the flags, from standard input, or from both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import PromptOptions
from caliban.compose.access import roots_of
from caliban.compose.permissions import Permissions
from caliban.errors import UsageError
from caliban_common.message import Message, TextBlock, user
from caliban_common.paths import expand_user
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_headless.beside import PATIENCE_S, may_hold_text, read_beside
from caliban_headless.stdin import Stdin, read_text

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban.compose.servers.build import RunServers
    from caliban_images import MediaLimits

STDIN = "-"
HOW = 'caliban -p "…", or pipe text into caliban -p -'
SLOW = f"waiting up to {PATIENCE_S:g} s for standard input; < /dev/null says that there is none"
NOTHING = f"nothing came on standard input within {PATIENCE_S:g} s; the prompt goes without it"


class PromptInputs(Struct, frozen=True, kw_only=True):
    """What flags say of the prompt, and what decides which files may come with it.

    `fenced` keeps them inside the `workspace` and the further `roots`; `permissions` has the Read rules.
    `media` says what the model takes of images and PDFs. A `command` that was called gives the words that
    stand in the place of the typed ones, and those of them that may name files. Of `servers` resources may be
    named.
    """

    options: PromptOptions
    workspace: Path
    permissions: Permissions
    fenced: bool
    roots: tuple[Path, ...]
    report: Report
    media: Callable[[], MediaLimits]
    command: Callable[[], Awaitable[tuple[str, str]]] | None = None
    servers: RunServers | None = None

    @classmethod
    def of(cls, app: App) -> PromptInputs:
        """Those of a prompt that is typed in the open `app`."""
        return cls(
            options=app.options.prompt,
            workspace=app.workspace,
            permissions=app.permissions,
            fenced=app.options.workspace.restrict_paths,
            roots=roots_of(app.live.now, app.workspace),
            report=app.reporter,
            media=app.media,
            servers=app.servers,
        )


async def read_prompt(inputs: PromptInputs) -> Message:
    """The prompt, then what was piped in.

    Standard input is read to its end where it was promised, by `-` or by no prompt; beside a prompt a file is
    read, and a pipe whose first byte or end comes in time. Of several prompts the first counts: that of -p,
    then --prompt, then the positional one. Files that the typed words name with `@` are attached as far as
    they may be. Raises `UsageError` for an empty prompt and `AttachmentRefused`.
    """
    options = inputs.options
    places = (options.print_prompt, options.prompt_flag, options.prompt)
    given = [text for text in places if text is not None]
    words = [text for text in given if text != STDIN]
    for ignored in words[1:]:
        shown = one_line(ignored, max_chars=80)
        ignored_words = f"there are several prompts; this one is not used: {shown}"
        inputs.report(Notice(subtype="prompt_ignored", message=ignored_words))
    typed = words[0] if words else ""
    is_promised = STDIN in given or not given
    if words and not typed.strip() and not is_promised:
        raise UsageError("the prompt is empty", hint=HOW)
    piped = await read_text(Stdin()) if is_promised else await _beside(inputs.report)
    if not typed.strip() and not piped.strip():
        raise UsageError("the prompt is empty", hint=HOW)
    written = typed
    if inputs.command is not None:
        typed, written = await inputs.command()
    message = await _with_files(written, inputs) if typed.strip() else user(piped)
    if written is not typed:
        message = replace(message, content=(TextBlock(text=typed), *message.content[1:]))
    if typed.strip() and piped.strip():
        message = replace(message, content=(TextBlock(text=f"{typed}\n\n{piped}"), *message.content[1:]))
    return await _with_images(message, inputs) if options.images else message


async def typed_prompt(text: str, inputs: PromptInputs) -> Message:
    """The prompt that a person typed, with the files that it names. Raises `AttachmentRefused`."""
    return await _with_files(text, inputs)


async def _beside(report: Report) -> str:
    """Text piped in beside a prompt; the wait, and giving up on it, are reported."""
    if not may_hold_text():
        return ""
    piped = await read_beside(Stdin(), lambda: report(Notice(subtype="stdin_awaited", message=SLOW)))
    if piped is None:
        hint = "- beside the prompt waits for it to the end"
        report(Notice(subtype="stdin_not_read", message=NOTHING, hint=hint))
    return piped or ""


async def _with_files(typed: str, inputs: PromptInputs) -> Message:
    if "@" not in typed:
        return user(typed)
    if inputs.servers is None:
        return await _with_local_files(typed, inputs)
    from caliban.faces.resources import resource_blocks, without_references

    names = [server.name for server in inputs.servers.fleet.servers]
    message = await _with_local_files(without_references(typed, names), inputs)
    more = await resource_blocks(typed, inputs.servers, inputs.permissions)
    return replace(message, content=(TextBlock(text=typed), *message.content[1:], *more))


async def _with_local_files(typed: str, inputs: PromptInputs) -> Message:
    from anyio import to_thread

    from caliban.faces.attachments import AttachmentPolicy, expand_options
    from caliban_drive.expand import expand
    from caliban_tools_builtin.fence import Fence

    fence = Fence(inputs.workspace, restrict=inputs.fenced, extra_roots=inputs.roots)
    policy = AttachmentPolicy(inputs.permissions, fence, expands=inputs.options.expand_files)
    notices: list[Notice] = []
    options = expand_options(inputs.options, inputs.workspace, inputs.media(), notices.append)
    judged = replace(options, objection=policy.objection, read=policy.read)
    try:
        return await to_thread.run_sync(expand, typed, judged)
    finally:
        _report_all(notices, inputs.report)


async def _with_images(message: Message, inputs: PromptInputs) -> Message:
    from anyio import to_thread

    from caliban.faces.attachments import AttachmentPolicy, expand_options
    from caliban_drive.expand import image_block
    from caliban_tools_builtin.fence import Fence

    # A flag is a person's word: it may name any file that no rule denies.
    policy = AttachmentPolicy(inputs.permissions, Fence(inputs.workspace, restrict=False), expands=True)
    notices: list[Notice] = []
    options = expand_options(inputs.options, inputs.workspace, inputs.media(), notices.append)
    options = replace(options, read=policy.read)
    blocks = []
    for name in inputs.options.images:
        path = inputs.workspace / expand_user(name)
        given = f"--image {one_line(name, max_chars=200)}"
        objection = policy.objection(path)
        if objection is not None:
            raise UsageError(f"{given}: {objection}")
        blocks.append(await to_thread.run_sync(image_block, given, path, options))
    _report_all(notices, inputs.report)
    return replace(message, content=(*message.content, *blocks))


def _report_all(notices: list[Notice], report: Report) -> None:
    """Report what a worker thread collected: reporting belongs to the event loop."""
    for notice in notices:
        report(notice)
