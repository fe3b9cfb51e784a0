"""What tools change of the session that they run in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban.compose.permissions import Permissions
from caliban_drive.session import Session


class Board:
    """Plan mode is judged by `permissions`, and remembered, as the list of tasks is, by `session`."""

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions
        self.session: Session | None = None

    @property
    def plan_mode(self) -> bool:
        """See `SessionBoard`."""
        return self._permissions.plan_mode

    def set_plan_mode(self, on: bool) -> None:
        """See `SessionBoard`."""
        self._permissions.set_plan_mode(on)
        if self.session is not None:
            self.session.note(plan_mode=on)

    def set_todos(self, todos: tuple[Mapping[str, Any], ...]) -> None:
        """See `SessionBoard`."""
        if self.session is not None:
            self.session.note(todos=todos)
