"""What the terminal's questions need from the app: what a call would do, and where its rules go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal

import anyio.to_thread

from caliban.compose.app import App
from caliban.faces.terminal.change import planned_change
from caliban_agent_core.ports import ApprovalRequest
from caliban_common.canonical import canonical_arguments
from caliban_common.errors import CalibanError
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_common.permission import PermissionMode
from caliban_common.text import one_line
from caliban_drive.lasting import Destination, PermissionUpdate, RuleWords
from caliban_drive.session import Session
from caliban_tools_builtin.session.ports import Question
from caliban_tui.question.asked import (
    SESSION_ONLY,
    AnswerPlace,
    AskedField,
    CallAnswer,
    CallBrief,
    FieldOption,
    FieldsAnswer,
    FieldsQuestion,
    RulePlace,
)
from caliban_tui.question.desk import ApprovalDesk

DESTINATIONS: Final[Mapping[AnswerPlace, Destination]] = {
    "session": "session",
    "local": "localSettings",
    "project": "projectSettings",
    "user": "userSettings",
}
LABELS: Final[Mapping[Literal["local", "project", "user"], str]] = {
    "local": "in this project, for me",
    "project": "in this project, for everyone who works in it",
    "user": "for me, everywhere",
}


class AppDesk:
    """See `DeskHost`."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self._session = session

    async def brief(self, request: ApprovalRequest) -> CallBrief:
        """See `DeskHost`."""
        return await anyio.to_thread.run_sync(self._brief, request)

    async def keep_rules(
        self, patterns: tuple[str, ...], answer: CallAnswer, place: AnswerPlace
    ) -> str | None:
        """See `DeskHost`."""
        from caliban.compose.asking.updates import LastingAnswers

        app = self._app
        keeper = LastingAnswers(app.permissions, app.workspace, app.reporter)
        offered = {RuleWords(pattern, None): pattern for pattern in patterns}
        update = PermissionUpdate(
            destination=DESTINATIONS[place],
            rules=tuple(offered),
            behavior=answer.action,
            comment=answer.comment,
        )
        return await keeper.apply((update,), offered)

    def after_plan(self, mode: PermissionMode) -> None:
        """See `DeskHost`."""
        if self._app.permissions.bars_mode(mode) is None:
            self._app.permissions.after_plan(mode)

    def _brief(self, request: ApprovalRequest) -> CallBrief:
        given = canonical_arguments(request.tool, request.call.input)
        change = planned_change(request.tool, given, self._app.workspace)
        text = _text(request, given)
        effects = self._effects(request)
        if change is None:
            return CallBrief(text=text, effects=effects, places=self._places())
        if change.problem:
            effects = (change.problem, *effects)
        return CallBrief(
            text=text,
            path=change.path if not change.problem else "",
            before=change.before,
            after=change.after,
            effects=effects,
            places=self._places(),
        )

    def _effects(self, request: ApprovalRequest) -> tuple[str, ...]:
        """Effects of the call that the engine found, one line each."""
        engine = self._app.permissions.engine
        explained = engine.explain(request.tool, request.call.input)
        effects = [
            f"{_excerpt(part.text)}: {'; '.join(part.notes)}"
            for part in explained.parts
            if part.kind == "command" and part.notes
        ]
        verbs = {"write": "writes", "read": "reads"}
        effects += [
            f"{verbs[part.kind]} {_excerpt(part.text)}" for part in explained.parts if part.kind in verbs
        ]
        effects += [f"cannot be read off its text: {what}" for what in explained.opaque]
        reason = request.reason
        effects += [text for kind, text in explained.guards if text not in reason]
        return tuple(dict.fromkeys(effects))

    def _places(self) -> tuple[RulePlace, ...]:
        from caliban_settings.edit.store import rule_store

        places = list(SESSION_ONLY)
        for place, label in LABELS.items():
            store = rule_store(
                place,
                workspace=self._app.workspace,
                config_dir=config_dir(),
                managed_dir=managed_settings_dir(),
            )
            try:
                places.append(RulePlace(place=place, label=label, file=str(store.target())))
            except CalibanError:
                continue  # a file that cannot be read takes no rule
        return tuple(places)


class PersonAsker:
    """Puts what a model asks to the person at `desk`. See `Asker`."""

    def __init__(self, desk: ApprovalDesk) -> None:
        self.desk: ApprovalDesk = desk

    async def ask(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        """See `Asker`."""
        fields = tuple(_field(number, question) for number, question in enumerate(questions))
        answer = await self.desk.ask(FieldsQuestion(title="The model asks", fields=fields))
        if not isinstance(answer, FieldsAnswer):
            return None
        return tuple(_words(answer.values.get(field.name)) for field in fields)


def _field(number: int, question: Question) -> AskedField:
    options = tuple(FieldOption(value=option, label=option) for option in question.options)
    return AskedField(
        name=f"question{number}",
        label=question.text,
        kind="text" if not options else "choices" if question.multi else "choice",
        options=options,
        is_open=bool(options),
    )


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _text(request: ApprovalRequest, given: Mapping[str, Any]) -> str:
    """The whole call: its command or main argument, with the other arguments below it."""
    tool = request.tool
    command = next((name for name, role in tool.roles.items() if role in ("command", "url")), None)
    main = given.get(command or tool.main_argument or "")
    if not isinstance(main, str):
        return json.dumps(dict(given), ensure_ascii=False, indent=2)
    name = command or tool.main_argument
    rest = {key: value for key, value in given.items() if key != name}
    more = "".join(f"\n{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in rest.items())
    return main + more


def _excerpt(text: str) -> str:
    return one_line(text, max_chars=120)
