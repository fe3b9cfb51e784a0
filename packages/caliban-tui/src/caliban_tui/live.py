"""What prompt-toolkit takes for its renderer: it draws nothing, and says when something is to be drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit.output import DummyOutput
from prompt_toolkit.renderer import Renderer
from prompt_toolkit.styles import DummyStyle

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import Layout


class LiveRenderer(Renderer):
    """See `Renderer`: `draw` paints the frame of now."""

    def __init__(self, draw: Callable[[], None]) -> None:
        self._draw: Callable[[], None] | None = None
        super().__init__(DummyStyle(), DummyOutput())
        self._draw = draw

    def render(self, app: Application[Any], layout: Layout, is_done: bool = False) -> None:
        """A key was read, or something asked for a frame."""
        if self._draw is not None and not is_done:
            self._draw()

    def erase(self, leave_alternate_screen: bool = True) -> None:
        """Nothing is drawn here that could be taken away."""

    def clear(self) -> None:
        """Likewise."""
