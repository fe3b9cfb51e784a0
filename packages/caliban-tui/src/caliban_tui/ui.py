"""What a person is doing at the keyboard, as a value that frames are made of."""

from __future__ import annotations

from msgspec import Struct

from caliban_tui.draft.menu import MenuView
from caliban_tui.overlay.overlay import Overlay
from caliban_tui.question.opened import OpenQuestion
from caliban_tui.render.look import NORMAL, TranscriptLook
from caliban_tui.status import StatusLine


class DraftView(Struct, frozen=True, kw_only=True):
    """The text being written and the place in it, in characters; `mark` is what stands before it, as `>`.

    `mode` is the mode that vim is in, such as `normal`; empty where keys are those of emacs.
    """

    text: str = ""
    cursor: int = 0
    mark: str = "> "
    mode: str = ""


class UiState(Struct, frozen=True, kw_only=True):
    """All below the transcript: the draft and its menu, prompts that wait, the open question, the status.

    `hint` is one line for a moment, such as "again to quit"; `tick` counts quarters of a second while
    something moves. An `overlay` stands in the place of everything, but for a question.
    """

    draft: DraftView = DraftView()
    menu: MenuView | None = None
    queued: tuple[str, ...] = ()
    question: OpenQuestion | None = None
    status: StatusLine = StatusLine()
    hint: str = ""
    tick: int = 0
    look: TranscriptLook = NORMAL
    overlay: Overlay | None = None
