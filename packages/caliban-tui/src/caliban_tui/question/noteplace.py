"""Where a note goes: a question where there is more than one place."""

from __future__ import annotations

from caliban_tui.host import NotePlace
from caliban_tui.question.asked import AnswerOption, ChoiceQuestion, ChosenAnswer
from caliban_tui.question.call import text_lines
from caliban_tui.question.desk import ApprovalDesk


async def ask_place(desk: ApprovalDesk, places: tuple[NotePlace, ...], note: str) -> NotePlace | None:
    """The place that the person chooses for `note`; `None` for none."""
    if len(places) < 2:
        return next(iter(places), None)
    options = tuple(
        AnswerOption(key=place.name[0], value=place.path, label=f"{place.name}: {place.path}")
        for place in places
    )
    question = ChoiceQuestion(title="Where does this note go?", body=text_lines(note), options=options)
    answer = await desk.ask(question)
    if not isinstance(answer, ChosenAnswer):
        return None
    return next((place for place in places if place.path == answer.value), None)
