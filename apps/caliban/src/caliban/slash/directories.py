"""`/add-dir`: a further directory for the session."""

from __future__ import annotations

from caliban.compose.app import App
from caliban.compose.directories import directories_of, give_directory
from caliban.slash.alone import refuse_alone
from caliban_commands.answer import CommandAnswer
from caliban_commands.command import SlashContext
from caliban_common.text import one_line


async def add_dir(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The working directories, or one more until the session ends."""
    if not arguments:
        rows = "\n".join(one_line(str(path), max_chars=400) for path in directories_of(app))
        return CommandAnswer.of(f"{rows}\n\n/add-dir PATH adds one until the session ends")
    refuse_alone(app, "add-dir", '--settings \'{"additional_directories": ["DIR"]}\' gives one to a prompt')
    text = arguments
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    path = give_directory(app, text)
    return CommandAnswer.of(
        f"{one_line(str(path), max_chars=400)} is a working directory until this session ends: rules, "
        "sandbox and @ take it for one. Instructions, skills and settings in it are not read; the setting "
        "additional_directories gives one to every session"
    )
