"""AskUser: questions that only the person can answer, with answers to pick from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.session.ports import Asker, Question

MAX_QUESTIONS: Final = 4
MAX_OPTIONS: Final = 10
MAX_CHARS: Final = 2000
_KNOWN: Final = ("question", "multi")
NOBODY: Final = (
    "Declined: nobody is here to answer. Take the safest assumption and name it in your answer, "
    "or end with the question"
)


class AskUser:
    """The tool AskUser; without an asker every question is declined."""

    def __init__(self, asker: Asker | None) -> None:
        self._asker = asker

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The person: one thing at a time."""
        return "the person"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Put the questions; see `Tool`."""
        return await answered(lambda: self._ask(args))

    async def _ask(self, args: Mapping[str, Any]) -> ToolOutput:
        items = Arguments(args, known=("questions",)).objects("questions")
        if not 1 <= len(items) <= MAX_QUESTIONS:
            raise ArgumentError(f"there must be 1 to {MAX_QUESTIONS} questions, not {len(items)}")
        questions = tuple(_question(item, number) for number, item in enumerate(items, 1))
        if self._asker is None:
            return ToolOutput.of(NOBODY, is_error=True, details={"declined": True})
        answers = await self._asker.ask(questions)
        if answers is None:
            return ToolOutput.of("Declined: the user does not want to answer that", is_error=True)
        pairs = zip(questions, answers, strict=True)
        lines = (f"→ {one_line(question.text)}\n{answer}" for question, answer in pairs)
        return ToolOutput.of(clean("\n".join(lines)))


def _question(item: Mapping[str, Any], number: int) -> Question:
    given = Arguments({name: item.get(name) for name in _KNOWN}, known=_KNOWN)
    text = given.string("question")
    if not text.strip() or len(text) > MAX_CHARS:
        raise ArgumentError(f"question {number} must have 1 to {MAX_CHARS} characters")
    options = item.get("options") or ()
    if not isinstance(options, list | tuple) or len(options) > MAX_OPTIONS:
        raise ArgumentError(f"question {number}: options must be an array of at most {MAX_OPTIONS} texts")
    several = item.get("multiSelect") is True
    return Question(
        text=text,
        options=tuple(_option(option, number) for option in options),
        multi=given.boolean("multi", several),
    )


def _option(option: object, number: int) -> str:
    """The words of one option; models also send a label and a description of it."""
    if isinstance(option, Mapping):
        label, more = option.get("label"), option.get("description")
        option = f"{label}: {more}" if more else label
    if not isinstance(option, str) or not option.strip():
        raise ArgumentError(f"question {number}: an option is a text that is not empty")
    return one_line(option)
