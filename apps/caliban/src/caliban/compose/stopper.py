"""What a signal stops: whatever the program is at just then."""

from __future__ import annotations

from collections.abc import Callable


class Stopper:
    """Passes a stop on to the last that said it can be stopped, at once where the stop came first."""

    def __init__(self) -> None:
        self._stopped = False
        self._action: Callable[[], None] | None = None

    def stops(self, action: Callable[[], None]) -> None:
        """From now on a stop means `action`."""
        self._action = action
        if self._stopped:
            action()

    def stop(self) -> None:
        """Stop it."""
        self._stopped = True
        if self._action is not None:
            self._action()
