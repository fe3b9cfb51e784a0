"""What the draft has other programs do: an editor of the person's own, the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import anyio.to_thread

from caliban_tui.draft.clipboard import Clipboard, dropped_image, kept_image
from caliban_tui.draft.files import mention
from caliban_tui.draft.outside import edited, editor_words
from caliban_tui.draft.ports import EditorPorts, TerminalPrograms


class DraftText(Protocol):
    """A draft that can be written to."""

    @property
    def whole(self) -> str:
        """The draft with its pastes."""
        ...

    def set_text(self, text: str, cursor: int | None = None) -> None:
        """Put `text` in the draft's place."""
        ...

    def insert(self, text: str) -> None:
        """Type `text` at the cursor."""
        ...

    def stop_reading(self) -> AbstractContextManager[None]:
        """Leave the terminal's keys to somebody else for the length of the block."""
        ...


async def edit_draft(draft: DraftText, ports: EditorPorts, programs: TerminalPrograms) -> None:
    """Let the person write the draft in an editor. Raises `EditorFailed`; the draft is as it was then."""

    @contextmanager
    def given_over() -> Iterator[None]:
        with draft.stop_reading(), ports.given_over():
            yield

    before = draft.whole
    text = await edited(before, editor_words(programs.environ), programs.foreground, given_over)
    if text != before:
        draft.set_text(text)


async def paste_clipboard(draft: DraftText, ports: EditorPorts, programs: TerminalPrograms) -> None:
    """Put an image of the clipboard, or its text, where the cursor is. Raises `CalibanError`."""
    clipboard = Clipboard(programs)
    folder = ports.image_folder()
    image = await clipboard.image() if folder is not None else None
    if image is not None and folder is not None:
        path = await anyio.to_thread.run_sync(kept_image, *image, folder)
        draft.insert(f"{mention(str(path))} ")
        return
    text = await clipboard.text()
    if text:
        insert_pasted(draft.insert, text)
    else:
        ports.say("the clipboard is empty")


def insert_pasted(insert: Callable[[str], None], text: str) -> None:
    """Insert what was pasted; an image that was dropped on the terminal becomes a reference to it."""
    image = dropped_image(text)
    insert(text if image is None else f"{mention(image)} ")
