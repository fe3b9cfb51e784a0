"""A question on screen as a value: how far the person is with it, and who takes a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_tui.question.asked import PersonAnswer, PersonQuestion
from caliban_tui.question.textfield import TextField

ARM_S: Final = 0.6
"""How long no key may come before one counts."""

QuestionStage: TypeAlias = Literal["asked", "rule", "edit", "comment", "words"]
"""Asked; a rule that lasts is looked at; its words, or its comment, are changed; something is said with the
answer."""


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """A question, and how far the person is with it.

    `quiet_from_s` is when the last key came, or the question; `engaged` says that the person has turned to
    it, so that the next key need not wait. `chosen` is the place of the option that arrows chose. `waiting`
    counts the questions behind it. `top` is how far its body is scrolled. `comment` is what is said of the
    rule. `number` is the field of a form, `values` and `marked` what is filled in so far.
    """

    asked: PersonQuestion
    quiet_from_s: float
    waiting: int = 0
    engaged: bool = False
    stage: QuestionStage = "asked"
    chosen: int | None = None
    top: int = 0
    hint: str = ""
    escaped_s: float | None = None
    lasting: Literal["allow", "deny"] = "allow"
    patterns: tuple[str, ...] = ()
    pattern: int = 0
    comment: str = ""
    text: TextField = TextField()
    number: int = 0
    values: Mapping[str, Any] = field(default_factory=dict)
    marked: tuple[str, ...] = ()

    def is_armed(self, now_s: float) -> bool:
        """Whether a key counts now."""
        return self.engaged or self.stage != "asked" or now_s - self.quiet_from_s >= ARM_S


class NotMine(Struct, frozen=True, kw_only=True):
    """The key is the draft's."""


QuestionOutcome: TypeAlias = PersonAnswer | NotMine | None
"""An answer, or whose key it was; `None`: the question's own, and it stays."""

NOT_MINE: Final = NotMine()


def moved(question: OpenQuestion, key: str, count: int) -> OpenQuestion | None:
    """The question with another of `count` options chosen; `None`: the key is no arrow."""
    if key not in ("up", "down") or not count:
        return None
    first = 0 if key == "down" else count - 1
    step = 1 if key == "down" else -1
    chosen = first if question.chosen is None else (question.chosen + step) % count
    return replace(question, chosen=chosen, engaged=True)
