"""Which key means what to the question on screen, and when none means anything yet."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from caliban_tui.overlay.overlay import key_name
from caliban_tui.question.asked import (
    CallAnswer,
    CallQuestion,
    ChoiceQuestion,
    ChosenAnswer,
    FieldsQuestion,
    NoAnswer,
)
from caliban_tui.question.form import fields_step, writes
from caliban_tui.question.opened import NOT_MINE, OpenQuestion, QuestionOutcome, moved
from caliban_tui.question.textfield import TextField
from caliban_tui.screen import UNSCROLLED, ScrollRoom

ESC_S: Final = 1.0
MAX_PASTED: Final = 10_000
"""What is longer is no answer: it goes to the draft, which can hold it."""

MAX_COMMENT_CHARS: Final = 200
LONG_COMMENT: Final = f"a comment has at most {MAX_COMMENT_CHARS} characters"
CALL_KEYS: Final = ("y", "Y", "n", "N")
ALWAYS_DRAFT: Final = frozenset(["c-c", "c-d", "c-z", "c-l", "c-o", "c-t"])
"""Keys that mean the same whatever is asked: to interrupt, to leave, to suspend."""
SCROLLS: Final = frozenset(("pageup", "pagedown", "home", "end"))


def step(
    question: OpenQuestion, key: str, now_s: float, scroll: ScrollRoom = UNSCROLLED
) -> tuple[OpenQuestion, QuestionOutcome]:
    """The question after a key, and what came of it. A key that is none of its own goes to the draft."""
    key = key_name(key)
    if not question.is_armed(now_s):
        return replace(question, quiet_from_s=now_s, hint=""), NOT_MINE
    if key in ALWAYS_DRAFT:
        return replace(question, quiet_from_s=now_s), NOT_MINE
    if key == "escape":
        return _escape(question, now_s)
    before = replace(question, hint="", escaped_s=None)
    if key in SCROLLS and question.stage == "asked":
        return replace(before, top=_scrolled(before.top, key, scroll), engaged=True), None
    match question.asked:
        case CallQuestion():
            after, outcome = _call(before, question.asked, key)
        case ChoiceQuestion():
            after, outcome = _choice(before, question.asked, key)
        case FieldsQuestion():
            after, outcome = fields_step(before, question.asked, key)
    if outcome is NOT_MINE:
        back = replace(before, quiet_from_s=now_s, engaged=False, stage="asked", chosen=None)
        return back, outcome
    return replace(after, quiet_from_s=now_s), outcome


def pasted(question: OpenQuestion, text: str, now_s: float) -> OpenQuestion | None:
    """The question with `text` put where something is written, in one row; `None`: it is the draft's.

    Nothing that is pasted ever answers.
    """
    words = "".join(char for char in " ".join(text.split()) if char.isprintable())
    if not question.is_armed(now_s) or not _writes(question) or len(text) > MAX_PASTED:
        return None
    typed = question.text.typed(words)
    if question.stage == "comment" and len(typed.text) > MAX_COMMENT_CHARS:
        return replace(question, quiet_from_s=now_s, engaged=True, hint=LONG_COMMENT)
    return replace(question, text=typed, quiet_from_s=now_s, engaged=True, hint="")


def _writes(question: OpenQuestion) -> bool:
    asked = question.asked
    if isinstance(asked, FieldsQuestion):
        return writes(question, asked.fields[question.number])
    return question.stage in ("words", "edit", "comment")


def _scrolled(top: int, key: str, scroll: ScrollRoom) -> int:
    """The first row of the body that is seen after a key."""
    if key in ("home", "end"):
        return 0 if key == "home" else scroll.last
    step_rows = scroll.page if key == "pagedown" else -scroll.page
    return min(max(min(top, scroll.last) + step_rows, 0), scroll.last)


def _escape(question: OpenQuestion, now_s: float) -> tuple[OpenQuestion, QuestionOutcome]:
    """One step back; at the beginning it has to come twice, for it may have been meant for something else."""
    if question.stage in ("edit", "comment") and isinstance(question.asked, CallQuestion):
        return replace(question, stage="rule", hint=""), None
    if question.stage != "asked":
        return replace(question, stage="asked", engaged=True, hint="", quiet_from_s=now_s), None
    if question.escaped_s is not None and now_s - question.escaped_s < ESC_S:
        if isinstance(question.asked, CallQuestion):
            return question, CallAnswer(action="deny")
        return question, NoAnswer()
    return replace(question, escaped_s=now_s, engaged=True, hint="esc again says no"), None


def _call(question: OpenQuestion, asked: CallQuestion, key: str) -> tuple[OpenQuestion, QuestionOutcome]:
    match question.stage:
        case "rule":
            return _rule(question, asked, key)
        case "edit":
            return _edit(question, key), None
        case "comment":
            return _comment(question, key), None
        case "words":
            return _words(question, key, "deny")
        case "asked":
            pass
    arrow = moved(question, key, len(CALL_KEYS))
    if arrow is not None:
        return arrow, None
    if key == "enter" and question.chosen is not None:
        key = CALL_KEYS[question.chosen]
    match key:
        case "y":
            return question, CallAnswer(action="allow")
        case "n":
            return question, CallAnswer(action="deny")
        case "tab":
            return replace(question, stage="words", text=TextField()), None
        case "Y" | "N" | "e":
            return _lasting(question, asked, key), None
    return question, NOT_MINE


def _lasting(question: OpenQuestion, asked: CallQuestion, key: str) -> OpenQuestion:
    """To the rule that would answer this for good."""
    patterns = asked.patterns
    if key == "N" and not patterns:
        patterns = (asked.request.tool.name,)
    if not patterns:
        return replace(question, engaged=True, hint="no rule can answer this for good: it is asked each time")
    lasting: Literal["allow", "deny"] = "deny" if key == "N" else "allow"
    question = replace(question, stage="rule", lasting=lasting, patterns=patterns, pattern=0, chosen=None)
    return _editing(question, 0) if key == "e" else question


def _editing(question: OpenQuestion, place: int) -> OpenQuestion:
    return replace(question, stage="edit", pattern=place, text=TextField.of(question.patterns[place]))


def _rule(question: OpenQuestion, asked: CallQuestion, key: str) -> tuple[OpenQuestion, QuestionOutcome]:
    arrow = moved(question, key, len(asked.places))
    if arrow is not None:
        return arrow, None
    if key == "e":
        return _editing(question, 0), None
    if key == "c":
        return replace(question, stage="comment", text=TextField.of(question.comment)), None
    if key != "enter":
        return question, NOT_MINE
    if question.chosen is None:
        return replace(question, hint="choose with ↑↓ where it is kept, then enter"), None
    place = asked.places[question.chosen].place
    answer = CallAnswer(
        action=question.lasting, patterns=question.patterns, place=place, comment=question.comment
    )
    return question, answer


def _comment(question: OpenQuestion, key: str) -> OpenQuestion:
    """What the rule is for; empty, it says nothing."""
    if key == "enter":
        return replace(question, stage="rule", comment=question.text.text.strip())
    typed = question.text.key(key)
    if typed is not None and len(typed.text) > MAX_COMMENT_CHARS:
        return replace(question, hint=LONG_COMMENT)
    return question if typed is None else replace(question, text=typed)


def _edit(question: OpenQuestion, key: str) -> OpenQuestion:
    """One of the patterns is being changed; arrows go to another. What is emptied is dropped."""
    patterns = list(question.patterns)
    patterns[question.pattern] = question.text.text.strip()
    if key == "enter":
        kept = tuple(filter(None, patterns))
        if not kept:
            return replace(question, hint="a rule needs a pattern; esc goes back")
        return replace(question, stage="rule", patterns=kept, pattern=0, chosen=None)
    if key in ("up", "down") and len(patterns) > 1:
        place = (question.pattern + (1 if key == "down" else -1)) % len(patterns)
        return _editing(replace(question, patterns=tuple(patterns)), place)
    typed = question.text.key(key)
    return question if typed is None else replace(question, text=typed)


def _words(question: OpenQuestion, key: str, value: str) -> tuple[OpenQuestion, QuestionOutcome]:
    """Something is said with the answer `value`."""
    words = question.text.text.strip()
    if key == "enter":
        if not words:
            return replace(question, hint="say something, or esc goes back"), None
        if value == "deny":
            return question, CallAnswer(action="deny", reason=words)
        return question, ChosenAnswer(value=value, words=words)
    typed = question.text.key(key)
    return (question if typed is None else replace(question, text=typed)), None


def _choice(question: OpenQuestion, asked: ChoiceQuestion, key: str) -> tuple[OpenQuestion, QuestionOutcome]:
    options = asked.options
    if question.stage == "words":
        return _words(question, key, options[question.chosen or 0].value)
    arrow = moved(question, key, len(options))
    if arrow is not None:
        return arrow, None
    place = next((place for place, option in enumerate(options) if option.key == key), None)
    if key == "enter":
        place = question.chosen
    elif key == "tab":
        place = next((place for place, option in enumerate(options) if option.asks), None)
    if place is None:
        return question, NOT_MINE
    if options[place].asks:
        return replace(question, stage="words", chosen=place, text=TextField()), None
    return question, ChosenAnswer(value=options[place].value)
