"""What a signal stops, and the one error inside a group of errors."""

from __future__ import annotations

from collections.abc import Callable


def alone(error: BaseException) -> BaseException:
    """The one error inside groups that hold nothing else; `error` itself where there are more."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class CancelTarget:
    """Passes a stop on to the action registered last; a stop that came before it acts at once."""

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
