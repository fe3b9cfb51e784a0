"""Keys of a question with fields: one field at a time, each checked before the next."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from msgspec.structs import replace

from caliban_tui.question.asked import AskedField, FieldOption, FieldsAnswer, FieldsQuestion
from caliban_tui.question.opened import NOT_MINE, OpenQuestion, QuestionOutcome, moved
from caliban_tui.question.textfield import TextField

YES_NO: Final = (FieldOption(value="yes", label="yes"), FieldOption(value="no", label="no"))
OTHER: Final = FieldOption(value="", label="something else")


def options_of(field: AskedField) -> tuple[FieldOption, ...]:
    """What a field lets choose, the way to another text last; nothing where it is written."""
    if field.kind == "boolean":
        return YES_NO
    if not field.options:
        return ()
    return (*field.options, OTHER) if field.is_open else field.options


def writes(question: OpenQuestion, field: AskedField) -> bool:
    """Whether the field takes letters now."""
    return question.stage == "words" or not options_of(field)


def fields_step(
    question: OpenQuestion, asked: FieldsQuestion, key: str
) -> tuple[OpenQuestion, QuestionOutcome]:
    """See `step`."""
    field = asked.fields[question.number]
    if key == "s-tab":
        return _at(question, asked, question.number - 1), None
    if writes(question, field):
        return _written(question, asked, key)
    options = options_of(field)
    arrow = moved(question, key, len(options))
    if arrow is not None:
        return arrow, None
    if key.isdecimal() and len(key) == 1 and 0 < int(key) <= len(options):
        chosen = replace(question, chosen=int(key) - 1, engaged=True)
        return (_marked(chosen, options), None) if field.kind == "choices" else _picked(chosen, asked)
    if key == " " and field.kind == "choices" and question.chosen is not None:
        return _marked(question, options), None
    if key == "tab" or (key == "enter" and question.engaged):
        skips = question.chosen is None and not question.marked
        return _skip(question, asked) if skips or key == "tab" else _picked(question, asked)
    return question, NOT_MINE


def _written(question: OpenQuestion, asked: FieldsQuestion, key: str) -> tuple[OpenQuestion, QuestionOutcome]:
    field = asked.fields[question.number]
    text = question.text.text.strip()
    if key == "tab" or (key == "enter" and (question.engaged or question.stage == "words")):
        if not text:
            return _skip(question, asked)
        value = parsed(field, text)
        if value is None:
            kind = "a whole number" if field.kind == "integer" else "a number"
            return replace(question, hint=f"this must be {kind}", engaged=True), None
        if field.kind == "choices":
            value = [*question.marked, text]
        return _filled(question, asked, value)
    typed = question.text.key(key)
    if typed is None:
        return question, NOT_MINE
    return replace(question, text=typed, engaged=True), None


def parsed(field: AskedField, text: str) -> Any:
    """What `text` is as a value of the field; `None`: it is none."""
    if field.kind not in ("number", "integer"):
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    whole = int(number) if number == int(number) else None
    return whole if field.kind == "integer" or whole is not None else number


def _marked(question: OpenQuestion, options: tuple[FieldOption, ...]) -> OpenQuestion:
    option = options[question.chosen or 0]
    if option is OTHER:
        return replace(question, stage="words", text=TextField())
    has = option.value in question.marked
    rest = tuple(value for value in question.marked if value != option.value)
    return replace(question, marked=rest if has else (*rest, option.value))


def _picked(question: OpenQuestion, asked: FieldsQuestion) -> tuple[OpenQuestion, QuestionOutcome]:
    field = asked.fields[question.number]
    options = options_of(field)
    option = options[question.chosen or 0]
    if option is OTHER:
        return replace(question, stage="words", text=TextField()), None
    match field.kind:
        case "boolean":
            return _filled(question, asked, option.value == "yes")
        case "choices":
            values = [each.value for each in options if each.value in question.marked]
            return _filled(question, asked, values or [option.value])
        case _:
            return _filled(question, asked, option.value)


def _skip(question: OpenQuestion, asked: FieldsQuestion) -> tuple[OpenQuestion, QuestionOutcome]:
    """Past a field that nothing was said to."""
    field = asked.fields[question.number]
    if field.name in question.values:
        return _onward(question, asked)
    if field.default is not None:
        return _filled(question, asked, field.default)
    if field.required:
        return replace(question, hint="this needs an answer; esc twice gives none", engaged=True), None
    return _onward(question, asked)


def _filled(
    question: OpenQuestion, asked: FieldsQuestion, value: Any
) -> tuple[OpenQuestion, QuestionOutcome]:
    field = asked.fields[question.number]
    wrong = field.check(value)
    if wrong is not None:
        return replace(question, hint=wrong, engaged=True), None
    return _onward(replace(question, values={**question.values, field.name: value}), asked)


def _onward(question: OpenQuestion, asked: FieldsQuestion) -> tuple[OpenQuestion, QuestionOutcome]:
    if question.number + 1 < len(asked.fields):
        return _at(question, asked, question.number + 1), None
    return question, FieldsAnswer(values=question.values)


def _at(question: OpenQuestion, asked: FieldsQuestion, number: int) -> OpenQuestion:
    number = min(max(number, 0), len(asked.fields) - 1)
    had = question.values.get(asked.fields[number].name)
    text = TextField.of(str(had)) if isinstance(had, str | int | float) and had is not True else TextField()
    marked = tuple(had) if isinstance(had, list) else ()
    return replace(
        question, number=number, text=text, marked=marked, chosen=None, engaged=True, stage="asked", top=0
    )
