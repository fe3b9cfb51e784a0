"""The root of every package's error tree.

    CalibanError
    ├── DataError        stored or received JSON that does not have the promised shape
    ├── ArgumentError    the model's arguments do not fit the tool's schema
    ├── NotRegularFile   a FIFO, device, socket or directory where a file was expected
    ├── TooLarge         a file above the bound the caller gave
    ├── FileFailed       the operating system refused; the message carries its reason
    └── RunFailed        a run did not come to the end that it was asked for

Each package draws its own tree below `CalibanError` in its own `errors.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban_common.remedy import Remedy, RemedyKind

if TYPE_CHECKING:
    from typing import Self

    from caliban_common.stop import Stop


class CalibanError(Exception):
    """Something in the environment is wrong; `message` says what and why, `hint` says what to do next.

    A hint speaks of what a program can change. Where a face has flags for it, `remedy` says which thing to
    do is meant, and the face puts its own words in the place of the hint.
    """

    remedy: Remedy | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def with_remedy(self, kind: RemedyKind, name: str = "") -> Self:
        """The same error, with the remedy that its hint describes."""
        self.remedy = Remedy(kind=kind, name=name)
        return self

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class DataError(CalibanError):
    """A value read from disk or from a wire lacks the shape its format promises."""


class ArgumentError(CalibanError):
    """The model's arguments do not fit the tool's schema; the message names the argument."""


class NotRegularFile(CalibanError):
    """Opening it could block for ever or give what no file gives."""


class TooLarge(CalibanError):
    """The file has more bytes than the caller can take."""


class FileFailed(CalibanError):
    """The operating system refused; `missing` is true when there is no such file."""

    def __init__(self, message: str, *, hint: str | None = None, missing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.missing = missing


class RunFailed(CalibanError):
    """A run did not come to the end that it was asked for; `stop` says why."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.message or stop.kind, hint=stop.hint)
        self.stop = stop
        self.remedy: Remedy | None = stop.remedy
