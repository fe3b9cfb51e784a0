"""What the auto mode remembers, in memory only: verdicts until something may have changed, and refusals."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from caliban_permissions.auto.verdict import ClassifierVerdict

MAX_VERDICTS: Final = 256
MAX_IN_A_ROW: Final = 3
MAX_IN_ALL: Final = 20


class VerdictKey(Struct, frozen=True):
    """What a verdict is about: the question (tool, input, directory), the mode, and when.

    `generation` counts what may have changed files or rules: a verdict does not outlive that.
    """

    digest: str
    mode: str
    generation: int

    @classmethod
    def of(cls, question: str, mode: str, generation: int) -> VerdictKey:
        """The key for a question."""
        return cls(hashlib.sha256(question.encode()).hexdigest(), mode, generation)


class VerdictCache:
    """The last verdicts, at most `MAX_VERDICTS`, the least used gone first."""

    def __init__(self) -> None:
        self._verdicts: OrderedDict[VerdictKey, ClassifierVerdict] = OrderedDict()

    def get(self, key: VerdictKey) -> ClassifierVerdict | None:
        """The verdict that was given, if it still counts."""
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._verdicts.move_to_end(key)
        return verdict

    def put(self, key: VerdictKey, verdict: ClassifierVerdict) -> None:
        """Remember a verdict."""
        self._verdicts[key] = verdict
        self._verdicts.move_to_end(key)
        while len(self._verdicts) > MAX_VERDICTS:
            self._verdicts.popitem(last=False)


class Breaker:
    """Ends the classifier's part in a session: after three refusals in a row, or twenty in all.

    A model that is refused tries other words; the classifier must not be asked until it gives in. Failures of
    the classifier count as refusals.
    """

    def __init__(self) -> None:
        self._in_a_row = 0
        self._in_all = 0

    @property
    def why(self) -> str | None:
        """Why nobody is asked any more, or `None`."""
        if self._in_a_row >= MAX_IN_A_ROW:
            return f"the auto mode rests: {MAX_IN_A_ROW} calls in a row were not allowed"
        if self._in_all >= MAX_IN_ALL:
            return f"the auto mode rests: {MAX_IN_ALL} calls were not allowed"
        return None

    def allowed(self) -> None:
        """The classifier allowed a call."""
        if self.why is None:
            self._in_a_row = 0

    def refused(self) -> None:
        """It did not, or could not say."""
        if self.why is None:
            self._in_a_row += 1
            self._in_all += 1
