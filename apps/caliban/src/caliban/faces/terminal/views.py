"""What the views of the terminal show of an open app, each part loaded with the first view that needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from caliban.compose.app import App
from caliban_common.lazy import cached_property
from caliban_drive.session import Session
from caliban_tui.host import ModeStep
from caliban_tui.overlay.views import (
    BackgroundRow,
    PermissionsShown,
    PromptRow,
    Restored,
    RestoreKind,
    RestorePlan,
    RuleRow,
    ServerRow,
    SessionRow,
    SettingRow,
    SettingScope,
)
from caliban_tui.transcript.blocks import TodoRow

if TYPE_CHECKING:
    from caliban.faces.terminal.goback import GoBack
    from caliban.faces.terminal.rules import RuleKeeper
    from caliban.faces.terminal.serverlist import ServerList
    from caliban.faces.terminal.sessions import SavedList
    from caliban.faces.terminal.settings import SettingsKeeper

OUTPUT_BYTES: Final = 1 << 20


class AppViews:
    """See `ViewHost`. `cycle` goes to the next permission mode."""

    def __init__(self, app: App, session: Session, cycle: Callable[[], ModeStep]) -> None:
        self._app = app
        self._session = session
        self._cycle = cycle

    @cached_property
    def _saved(self) -> SavedList:
        from caliban.faces.terminal.sessions import SavedList

        return SavedList(self._app, self._session)

    @cached_property
    def _back(self) -> GoBack:
        from caliban.faces.terminal.goback import GoBack

        return GoBack(self._app, self._session)

    @cached_property
    def _rules(self) -> RuleKeeper:
        from caliban.faces.terminal.rules import RuleKeeper

        return RuleKeeper(self._app)

    @cached_property
    def _server_list(self) -> ServerList:
        from caliban.faces.terminal.serverlist import ServerList

        return ServerList(self._app)

    @cached_property
    def _keeper(self) -> SettingsKeeper:
        from caliban.faces.terminal.settings import SettingsKeeper

        return SettingsKeeper(self._app)

    async def sessions(self, *, everywhere: bool) -> tuple[SessionRow, ...]:
        """See `ViewHost`."""
        return await self._saved.rows(everywhere=everywhere)

    def session_preview(self, name: str) -> tuple[str, ...]:
        """See `ViewHost`."""
        return self._saved.preview(name)

    async def rename_session(self, name: str, title: str) -> None:
        """See `ViewHost`."""
        await self._saved.rename(name, title)

    async def prompts(self) -> tuple[PromptRow, ...]:
        """See `ViewHost`."""
        return await self._back.prompts()

    async def restore_plan(self, prompt: PromptRow) -> RestorePlan:
        """See `ViewHost`."""
        return await self._back.plan(prompt)

    async def restore(self, prompt: PromptRow, kind: RestoreKind, *, force: bool) -> Restored:
        """See `ViewHost`."""
        return await self._back.restore(prompt, kind, force=force)

    def permissions(self) -> PermissionsShown:
        """See `ViewHost`."""
        return self._rules.shown()

    def next_mode(self) -> str:
        """See `ViewHost`."""
        return self._cycle().warning

    async def delete_rule(self, rule: RuleRow) -> str:
        """See `ViewHost`."""
        return await self._rules.delete(rule)

    def background(self) -> tuple[BackgroundRow, ...]:
        """See `ViewHost`."""
        shells = self._app.board.shells
        return tuple(
            BackgroundRow(id=shell.id, title=shell.title, state=shell.state, runs=not shell.over.is_set())
            for shell in (shells.all() if shells is not None else ())
        )

    def background_output(self, id: str) -> str:
        """See `ViewHost`."""
        shells = self._app.board.shells
        shell = None if shells is None else next((each for each in shells.all() if each.id == id), None)
        if shell is None:
            return "it is gone"
        ring = shell.output
        return ring.read(ring.total_bytes - OUTPUT_BYTES, OUTPUT_BYTES)[1].decode("utf-8", "replace")

    def stop_background(self, id: str) -> None:
        """See `ViewHost`."""
        shells = self._app.board.shells
        for shell in shells.all() if shells is not None else ():
            if shell.id == id:
                shell.kill.set()

    def servers(self) -> tuple[ServerRow, ...]:
        """See `ViewHost`."""
        return self._server_list.rows()

    async def reconnect_server(self, name: str) -> str:
        """See `ViewHost`."""
        return await self._server_list.reconnect(name)

    async def toggle_server(self, name: str) -> str:
        """See `ViewHost`."""
        return await self._server_list.toggle(name)

    def settings(self) -> tuple[SettingRow, ...]:
        """See `ViewHost`."""
        return self._keeper.rows()

    def setting_files(self) -> tuple[tuple[SettingScope, str], ...]:
        """See `ViewHost`."""
        return self._keeper.files()

    async def write_setting(self, name: str, text: str, scope: SettingScope) -> str:
        """See `ViewHost`."""
        return await self._keeper.write(name, text, scope)

    async def unset_setting(self, name: str, scope: SettingScope) -> str:
        """See `ViewHost`."""
        return await self._keeper.unset(name, scope)

    def todos(self) -> tuple[TodoRow, ...]:
        """See `ViewHost`."""
        return tuple(
            TodoRow(content=str(todo.get("content", "")), status=str(todo.get("status", "")))
            for todo in self._app.board.todos
        )
