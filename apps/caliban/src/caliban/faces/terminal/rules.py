"""The rules of a run as the terminal shows and changes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import anyio.to_thread

from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban.slash.permissions import MODES
from caliban_common.errors import CalibanError
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_common.text import one_line
from caliban_permissions import Rule
from caliban_settings.edit.store import KeptRule, RuleStore, rule_store
from caliban_settings.key import Scope
from caliban_tui.overlay.views import PermissionsShown, RuleRow

SCOPES: Final[tuple[Scope, ...]] = ("managed", "user", "project", "local")


class RuleKeeper:
    """See `ViewHost`: the rules of `app`."""

    def __init__(self, app: App) -> None:
        self._app = app

    def shown(self) -> PermissionsShown:
        """The mode, what is barred, every rule in the order in which they count."""
        permissions = self._app.permissions
        barred = ((mode, permissions.bars_mode(mode)) for mode in MODES)
        return PermissionsShown(
            mode=permissions.mode,
            barred=tuple(f"{mode}: {why}" for mode, why in barred if why is not None),
            rules=() if permissions.mode == "disabled" else tuple(self._rows()),
        )

    async def delete(self, row: RuleRow) -> str:
        """Take a rule away; why it holds on, in words. Raises `CommandRefused`, `SettingsError`."""
        if row.fixed:
            raise CommandRefused(row.fixed)
        if row.file:
            await self._app.live.refresh(self._app)
            await anyio.to_thread.run_sync(self._removed, row)
            await self._app.live.refresh(self._app)
        self._app.permissions.drop_answer(row.pattern, row.action)
        stays = any((rule.pattern, rule.action) == (row.pattern, row.action) for rule in self._rows())
        return f"it is taken out of {row.file}, and holds in this run" if stays and row.file else ""

    def _rows(self) -> Iterator[RuleRow]:
        layers = self._app.permissions.engine.layers()
        kept: dict[str, tuple[KeptRule, ...]] = {scope: self._kept(scope) for scope in SCOPES}
        files = {**kept, "project": (*kept["project"], *kept["local"])}
        for scope, rules in layers:
            for rule in rules:
                entry = next((each for each in files.get(scope, ()) if _is(each, rule)), None)
                yield _row(str(scope), rule, entry)

    def _kept(self, scope: Scope) -> tuple[KeptRule, ...]:
        try:
            return self._store(scope).rules()
        except CalibanError:
            return ()  # what cannot be read was told when the run began

    def _store(self, scope: Scope) -> RuleStore:
        return rule_store(
            scope,
            workspace=self._app.workspace,
            config_dir=config_dir(),
            managed_dir=managed_settings_dir(),
        )

    def _removed(self, row: RuleRow) -> None:
        for scope in SCOPES:
            store = self._store(scope)
            for kept in self._kept(scope):
                if str(kept.path) == row.file and kept.index == row.index:
                    store.remove(kept)
                    return
        raise CommandRefused("the rule is not in its file any more")


def _is(kept: KeptRule, rule: Rule) -> bool:
    return kept.entry.rule.get("pattern") == rule.pattern and kept.entry.rule.get("action") == rule.action


def _row(scope: str, rule: Rule, kept: KeptRule | None) -> RuleRow:
    fixed = ""
    if scope == "managed":
        fixed = "the administrator wrote it: it stays"
    elif scope == "default":
        fixed = "it is built in: it stays"
    elif kept is None and scope != "runtime":
        fixed = "it stands in no file that can be changed here"
    return RuleRow(
        action=rule.action,
        pattern=rule.pattern,
        comment=one_line(rule.comment or "", max_chars=200),
        source="this session" if scope == "runtime" else scope,
        file="" if kept is None else str(kept.path),
        index=0 if kept is None else kept.index,
        fixed=fixed,
    )
