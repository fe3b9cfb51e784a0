"""What an MCP server asks as a question at the terminal, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from caliban.compose.servers.browser import open_browser
from caliban_drive.notice import Notice, Report
from caliban_mcp.elicit import (
    ElicitAnswer,
    FormField,
    FormQuestion,
    ServerQuestion,
    UrlQuestion,
    answer_problem,
)
from caliban_tui.question.asked import (
    AnswerOption,
    AskedField,
    ChoiceQuestion,
    ChosenAnswer,
    FieldOption,
    FieldsAnswer,
    FieldsQuestion,
)
from caliban_tui.question.call import text_lines
from caliban_tui.question.desk import ApprovalDesk

NO: Final = ElicitAnswer(action="decline")
SECRET: Final = "a server must not ask for a secret here: whatever is typed goes to it as it is"


class ServerAsk:
    """Asks at `desk`. `environ` says whether there is a browser to open."""

    def __init__(self, desk: ApprovalDesk, environ: Mapping[str, str], report: Report) -> None:
        self._desk = desk
        self._environ = environ
        self._report = report

    async def answer(self, question: ServerQuestion) -> ElicitAnswer:
        """What the person says."""
        if question.problem:
            return NO
        if isinstance(question, UrlQuestion):
            return await self._address(question)
        if not question.fields:
            return await self._consent(question)
        fields = tuple(_field(question, field) for field in question.fields)
        title = f"The MCP server {question.server} asks"
        answer = await self._desk.ask(FieldsQuestion(title=title, words=question.message, fields=fields))
        if not isinstance(answer, FieldsAnswer):
            return NO
        return ElicitAnswer(action="accept", content=answer.values)

    async def _consent(self, question: FormQuestion) -> ElicitAnswer:
        options = (
            AnswerOption(key="y", value="yes", label="yes"),
            AnswerOption(key="n", value="no", label="no"),
        )
        title = f"The MCP server {question.server} asks"
        asked = ChoiceQuestion(title=title, body=text_lines(question.message), options=options)
        answer = await self._desk.ask(asked)
        is_yes = isinstance(answer, ChosenAnswer) and answer.value == "yes"
        return ElicitAnswer(action="accept", content={}) if is_yes else NO

    async def _address(self, question: UrlQuestion) -> ElicitAnswer:
        options = (
            AnswerOption(key="y", value="yes", label=f"yes, open it ({question.host})"),
            AnswerOption(key="n", value="no", label="no"),
        )
        body = (*text_lines(question.message), *text_lines(question.url, "code"))
        title = f"The MCP server {question.server} wants you to open an address"
        answer = await self._desk.ask(ChoiceQuestion(title=title, body=body, options=options))
        if not isinstance(answer, ChosenAnswer) or answer.value != "yes":
            return NO
        if not open_browser(question.url, self._environ):
            words = f"no browser can be opened here: open it yourself: {question.url}"
            self._report(Notice(subtype="server_address", message=words))
        return ElicitAnswer(action="accept")


def _field(question: FormQuestion, field: FormField) -> AskedField:
    detail = " · ".join(filter(None, (field.description, field.format, _bounds(field))))
    return AskedField(
        name=field.name,
        label=field.title,
        kind=field.kind,
        detail=detail,
        options=tuple(FieldOption(value=choice.value, label=choice.label) for choice in field.choices),
        required=field.required,
        default=field.default,
        warning=SECRET if field.looks_secret else "",
        check=partial(_problem, replace(question, fields=(field,)), field.name),
    )


def _problem(question: FormQuestion, name: str, value: Any) -> str | None:
    return answer_problem(question, {name: value})


def _bounds(field: FormField) -> str:
    what = {"text": "characters", "choices": "choices"}.get(field.kind, "")
    low = "" if field.low is None else f"at least {field.low:g} {what}".strip()
    high = "" if field.high is None else f"at most {field.high:g} {what}".strip()
    return ", ".join(filter(None, (low, high)))
