"""Commands that change what comes after them, typed where nothing comes: `caliban -p "/effort high"`."""

from __future__ import annotations

from caliban.compose.app import App
from caliban.compose.quiet import idle_model
from caliban_commands.errors import CommandNotHere


def refuse_alone(app: App, name: str, hint: str) -> None:
    """Raise `CommandNotHere` in a run that is this one command; `hint` says how a prompt has it."""
    if app.wiring.resolve is idle_model:
        raise CommandNotHere(f"/{name} counts until the run ends, and this one does nothing else", hint=hint)
