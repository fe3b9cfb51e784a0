"""`/config`: show the settings in force and where each is written, or change one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caliban.commands.config.change import effects_of, setting_address, write_setting
from caliban.commands.config.list import describe, setting_line
from caliban.compose.app import App
from caliban.compose.settings import scope_file
from caliban.compose.shown import shown_value
from caliban_commands.answer import CommandAnswer, OpenView, ShownText
from caliban_commands.command import SlashContext
from caliban_common.terminal import visible


async def config(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List what is set, show one key, or set a key in the user's own settings."""
    key, _, value = arguments.partition(" ")
    project = app.live.read
    if not key:
        lines = [
            visible(setting_line(project, path, leaf)).rstrip()
            for path, leaf in project.settings.leaves.items()
        ]
        body = "\n".join(lines) or "nothing is set"
        notes = "/config KEY VALUE sets one in your own settings; caliban config list names all"
        parts = (ShownText(markdown=body), ShownText(markdown=notes))
        return CommandAnswer(parts=parts, effect=OpenView(view="config"))
    address = setting_address(key)
    if not value.strip():
        now: Any = app.live.now.merged
        for name in address.path:
            now = now.get(name) if isinstance(now, Mapping) else None
        shown = "is not set" if now is None else f"= {json.dumps(shown_value(address.path, now))}"
        more = describe(address.key) if address.key is not None else ""
        return CommandAnswer.of(f"{address.name} {shown}\n{more}".rstrip())
    file = scope_file("user", app.workspace)
    write_setting(address, file, value.strip())
    effects = effects_of(app.options, address, file.scope)
    return CommandAnswer.of("\n".join((f"{file.path}: {address.name} is set", *effects)))
