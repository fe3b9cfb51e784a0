"""What commands and overlays want of the screen and of programs beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec import Struct

from caliban_commands.answer import CommandEffect, CopyText, EditFile
from caliban_common.errors import CalibanError
from caliban_tui.draft.clipboard import Clipboard, osc52
from caliban_tui.draft.outside import edited, editor_words
from caliban_tui.draft.ports import TerminalPrograms
from caliban_tui.errors import EditorFailed, TerminalError

if TYPE_CHECKING:
    from caliban_tui.draft.editor import LineEditor
    from caliban_tui.host import TerminalHost
    from caliban_tui.stage import Stage


class OutsideWork(Struct, frozen=True, kw_only=True):
    """What runs programs, and sends bytes to the terminal.

    `stop_reading` and `pause` leave its keys and its screen to somebody else for the length of a block.
    """

    programs: TerminalPrograms
    stop_reading: Callable[[], AbstractContextManager[None]]
    pause: Callable[[], AbstractContextManager[None]]
    send: Callable[[bytes], None]

    @contextmanager
    def given_over(self) -> Iterator[None]:
        """Leave the whole terminal to a program for the length of the block."""
        with self.stop_reading(), self.pause():
            yield


def outside_of(host: TerminalHost | None, editor: LineEditor, stage: Stage) -> OutsideWork:
    """Programs beside the conversation of `host`. Raises `TerminalError` where there is none."""
    if host is None:
        raise TerminalError("nothing is open yet that could run programs")
    return OutsideWork(
        programs=host.draft_help.programs,
        stop_reading=editor.stop_reading,
        pause=stage.paused,
        send=stage.send,
    )


async def do_outside(effect: CommandEffect, outside: OutsideWork) -> str:
    """Do what takes a program or the clipboard; what to say of it. Raises `TerminalError`."""
    match effect:
        case CopyText():
            return await copy_text(effect.text, outside)
        case EditFile():
            await edit_file(effect.path, outside)
            return ""
        case _:
            raise TerminalError(f"the terminal interface has no {effect.type}")


async def copy_text(text: str, outside: OutsideWork) -> str:
    """Put `text` on the clipboard, by the terminal and by a program of the desktop; what to say of it.

    Raises `TerminalError` where neither takes it.
    """
    sequence = osc52(text, in_tmux="TMUX" in outside.programs.environ)
    if sequence is not None:
        outside.send(sequence)
    try:
        await Clipboard(outside.programs).copy(text)
    except CalibanError as error:
        if sequence is None:
            raise TerminalError(f"nothing was copied: {error.message}", hint=error.hint) from error
    return f"copied: {len(text):,} characters"


async def show_in_editor(text: str, outside: OutsideWork) -> None:
    """Open `text` in the person's editor; what becomes of it there is nobody's concern."""
    await edited(
        text, editor_words(outside.programs.environ), outside.programs.foreground, outside.given_over
    )


async def edit_file(path: str, outside: OutsideWork) -> None:
    """Open a file in the person's editor. Raises `EditorFailed`."""
    words = editor_words(outside.programs.environ)
    try:
        with outside.given_over():
            code = await anyio.to_thread.run_sync(outside.programs.foreground, (*words, path))
    except OSError as error:
        hint = "set VISUAL or EDITOR to one that is there"
        raise EditorFailed(f"the editor cannot be started: {error.strerror}", hint=hint) from error
    if code:
        raise EditorFailed(f"the editor ended with code {code}")
