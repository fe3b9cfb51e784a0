"""What the draft has other programs do: an editor of the person's own, the clipboard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import anyio.to_thread

from caliban_tui.draft.clipboard import Clipboard, copied_image, dropped_image, kept_image
from caliban_tui.draft.files import mention
from caliban_tui.draft.outside import edited, editor_words
from caliban_tui.draft.ports import EditorPorts, TerminalPrograms


class DraftText(Protocol):
    """A draft that can be written to."""

    @property
    def text(self) -> str:
        """The draft as it is drawn."""
        ...

    @property
    def cursor(self) -> int:
        """Where in `text` the next character goes."""
        ...

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

    def spawn(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do something beside the keys; what fails is said."""
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
        _refer(draft, str(path))
        return
    text = await clipboard.text()
    if text:
        insert_pasted(draft, ports, text)
    else:
        ports.say("the clipboard is empty")


def insert_pasted(draft: DraftText, ports: EditorPorts, text: str) -> None:
    """Insert what was pasted; an image that was dropped on the terminal becomes a reference to it.

    One outside of the workspace becomes one to a copy: there no reference is followed.
    """
    image, folder, workspace = dropped_image(text), ports.image_folder(), ports.workspace()
    if image is None:
        draft.insert(text)
    elif folder is None or workspace is None or _is_within(image, workspace):
        _refer(draft, image)
    else:
        draft.spawn(lambda: _insert_copy(draft, image, folder))


def _refer(draft: DraftText, path: str) -> None:
    """Insert a reference to a file, which begins a word: within one it would be none."""
    before = draft.text[: draft.cursor][-1:]
    draft.insert(f"{' ' if before.strip() else ''}{mention(path)} ")


async def _insert_copy(draft: DraftText, image: str, folder: Path) -> None:
    path = await anyio.to_thread.run_sync(copied_image, image, folder)
    _refer(draft, str(path))


def _is_within(image: str, workspace: Path) -> bool:
    return Path(image).expanduser().resolve().is_relative_to(workspace.resolve())
