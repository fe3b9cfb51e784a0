"""The buffer of the draft. Importing this loads prompt-toolkit: the line editor does, once it is made."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document


class DraftBuffer(Buffer):
    """A buffer of several lines whose way up from the first one leads to `recall`, and down from the last.

    `recall(steps, text)` gives the entry so many steps on, those back being negative, or `None` at the end;
    `text` is what stands here now.
    """

    def __init__(
        self,
        recall: Callable[[int, str], str | None],
        *,
        changed: Callable[[], None],
        moved: Callable[[], None],
    ) -> None:
        self._recall = recall
        super().__init__(
            multiline=True,
            on_text_changed=lambda _: changed(),
            on_cursor_position_changed=lambda _: moved(),
        )

    def history_backward(self, count: int = 1) -> None:
        """Go to an older entry, the cursor at its end."""
        self._go(-count)

    def history_forward(self, count: int = 1) -> None:
        """Go to a newer one."""
        self._go(count)

    def _go(self, steps: int) -> None:
        text = self._recall(steps, self.text)
        if text is not None:
            self.save_to_undo_stack()
            self.document = Document(text, len(text))
