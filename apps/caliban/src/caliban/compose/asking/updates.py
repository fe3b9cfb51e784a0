"""What answers change beyond their call: rules that live at once and are written, and the mode."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import anyio.to_thread

from caliban.compose.permissions import Permissions
from caliban_common.errors import CalibanError
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_common.permission import AnswerScope
from caliban_common.text import one_line
from caliban_drive.lasting import Destination, PermissionUpdate, RuleWords
from caliban_drive.notice import Notice, Report
from caliban_permissions import Rule
from caliban_settings.edit.store import rule_store
from caliban_settings.key import Scope

KeptScope: TypeAlias = Scope | None
FILES: Final[Mapping[Destination, KeptScope]] = {
    "session": None,
    "cliArg": None,
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}
"""The scope in whose file the rules of a destination are kept."""

SCOPES: Final[Mapping[AnswerScope, KeptScope]] = {
    "once": None,
    "session": None,
    "local": "local",
    "user": "user",
}
"""The same for the answers of a person in front of a face."""


class LastingAnswers:
    """Keeps what is answered for longer than a call: it holds for the run at once, and in files from then on.

    A rule that cannot be written holds for the run all the same, and a person is told. `Updates` of a desk.
    """

    def __init__(self, permissions: Permissions, workspace: Path, report: Report) -> None:
        self._permissions = permissions
        self._workspace = workspace
        self._report = report

    async def apply(
        self, updates: tuple[PermissionUpdate, ...], offered: Mapping[RuleWords, str]
    ) -> str | None:
        """See `Updates`."""
        rules = [(_rules(update, offered), FILES[update.destination]) for update in updates]
        for update in updates:
            objection = None if update.mode is None else self._permissions.bars_mode(update.mode)
            if objection is not None:
                return objection
        for made, _ in rules:
            bad = next((rule for rule in made if rule.problem is not None), None)
            if bad is not None:
                return f"{one_line(bad.pattern, max_chars=80)!r} matches nothing: {bad.problem}"
        for update in updates:
            if update.mode is not None:
                self._permissions.set_mode(update.mode)
        for made, scope in rules:
            await self._keep(made, scope)
        return None

    async def remember(self, rule: Rule, reach: AnswerScope) -> None:
        """Keep the rule that a person chose, as far as they said."""
        if reach != "once":
            await self._keep((rule,), SCOPES[reach])

    async def _keep(self, rules: tuple[Rule, ...], scope: KeptScope) -> None:
        if not rules:
            return
        self._permissions.add_answers(rules)
        if scope is None:
            return
        store = rule_store(
            scope, workspace=self._workspace, config_dir=config_dir(), managed_dir=managed_settings_dir()
        )
        tables = [_table(rule) for rule in rules]
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(store.add, tables)
        except CalibanError as error:
            message = f"the rule holds for this run and is not written: {error.message}"
            self._report(Notice(subtype="rule_not_written", message=message, hint=error.hint))


def _table(rule: Rule) -> dict[str, Any]:
    """The rule as it is written."""
    table: dict[str, Any] = {"pattern": rule.pattern, "action": rule.action}
    return table if rule.comment is None else {**table, "comment": rule.comment}


def _rules(update: PermissionUpdate, offered: Mapping[RuleWords, str]) -> tuple[Rule, ...]:
    """Our own pattern where it was our suggestion, else the words as they are written in parentheses."""
    return tuple(
        Rule(
            pattern=offered.get(words) or _pattern(words),
            action=update.behavior,
            source="answer",
            comment=update.comment or None,
        )
        for words in update.rules
    )


def _pattern(words: RuleWords) -> str:
    return words.tool if words.content is None else f"{words.tool}({words.content})"
