"""What a person is asked, and what they answer: values that the one widget for all of it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from caliban_common.tagged import Tagged
from caliban_tui.line import ScreenLine

if TYPE_CHECKING:
    from caliban_agent_core.ports import ApprovalRequest

AnswerPlace: TypeAlias = Literal["session", "local", "project", "user"]
"""How far a rule reaches that an answer makes: this process, the workspace for this person, the workspace for
everyone, this person everywhere."""

AskedKind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
"""What a field takes: a line, a number, a whole number, yes or no, one of its options, several of them."""


class RulePlace(Struct, frozen=True, kw_only=True):
    """Where a rule can be kept: the words for it, and its file, empty where it is kept in none."""

    place: AnswerPlace
    label: str
    file: str = ""


class CallBrief(Struct, frozen=True, kw_only=True):
    """What the app knows of a call that a person decides about.

    `text` is all that would run or be sent; with `path` it is the change of a file, from `before` (`None`:
    there is no such file) to `after`. `effects` are what the permission engine found that it does.
    """

    text: str
    path: str = ""
    before: str | None = None
    after: str = ""
    effects: tuple[str, ...] = ()
    places: tuple[RulePlace, ...] = ()


class CallQuestion(Tagged, frozen=True, kw_only=True, tag="call"):
    """May this call run? `body` are the lines of what would, whole and of any width, nothing hidden in them.

    `patterns` are the rules that would answer it for good.
    """

    request: ApprovalRequest
    title: str
    body: tuple[ScreenLine, ...]
    effects: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    places: tuple[RulePlace, ...] = ()


class AnswerOption(Struct, frozen=True, kw_only=True):
    """One answer: its letter, what it means to whoever asked, its words.

    With `asks` the person says something with it, and `asks` says what.
    """

    key: str
    value: str
    label: str
    asks: str = ""


class ChoiceQuestion(Tagged, frozen=True, kw_only=True, tag="choice"):
    """Something to look at as a whole, and one of a few answers to it. `agent` is who asks.

    What is looked at are the lines of `body`, whole, or words as `markdown`.
    """

    title: str
    options: tuple[AnswerOption, ...]
    body: tuple[ScreenLine, ...] = ()
    markdown: str = ""
    agent: str = ""


class FieldOption(Struct, frozen=True, kw_only=True):
    """A value that a field may have, and the words for it."""

    value: str
    label: str


def no_objection(value: Any) -> str | None:
    """Every value will do."""
    return None


class AskedField(Struct, frozen=True, kw_only=True):
    """One thing to fill in. With `is_open` another text is taken beside the options.

    `warning` stands with it: what a person should think of before they type. `check` says what is wrong with
    a value.
    """

    name: str
    label: str
    kind: AskedKind = "text"
    detail: str = ""
    options: tuple[FieldOption, ...] = ()
    is_open: bool = False
    required: bool = True
    default: Any = None
    warning: str = ""
    check: Callable[[Any], str | None] = no_objection


class FieldsQuestion(Tagged, frozen=True, kw_only=True, tag="fields"):
    """Things to fill in, one after the other; `words` stand above the first. `agent` is who asks."""

    title: str
    fields: tuple[AskedField, ...]
    words: str = ""
    agent: str = ""


PersonQuestion: TypeAlias = CallQuestion | ChoiceQuestion | FieldsQuestion


class CallAnswer(Tagged, frozen=True, kw_only=True, tag="call"):
    """The answer about a call: with `patterns` these hold from now on, as far as `place` says.

    `comment` is what they are for, for people.
    """

    action: Literal["allow", "deny"]
    reason: str = ""
    patterns: tuple[str, ...] = ()
    place: AnswerPlace = "session"
    comment: str = ""


class ChosenAnswer(Tagged, frozen=True, kw_only=True, tag="chosen"):
    """The value of the option that was chosen, with what was said to it."""

    value: str
    words: str = ""


class FieldsAnswer(Tagged, frozen=True, kw_only=True, tag="fields"):
    """Values by the names of their fields; one that was left out is not there."""

    values: Mapping[str, Any] = field(default_factory=dict)


class NoAnswer(Tagged, frozen=True, kw_only=True, tag="none"):
    """The person does not want to answer."""


PersonAnswer: TypeAlias = CallAnswer | ChosenAnswer | FieldsAnswer | NoAnswer

SESSION_ONLY: Final = (RulePlace(place="session", label="for this session"),)
