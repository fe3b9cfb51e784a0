"""Slash commands of the headless face: the terminal's registry, and its answers as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.formats import input_format
from caliban.cli.options import Options
from caliban.compose.app import App
from caliban.compose.quiet import idle_model
from caliban.compose.slash import OF_SERVERS, is_path, typed_call
from caliban.compose.wiring import USUAL, Wiring
from caliban.errors import UsageError
from caliban.faces.prompt import PromptInputs, typed_prompt
from caliban.slash.registry import app_commands
from caliban.slash.table import BUILT_IN, HELP, NAMES
from caliban_commands.answer import CommandEffect, OpenView, SubmitPrompt, SwitchSession
from caliban_commands.command import SlashCommand
from caliban_commands.errors import CommandNotHere, UnknownCommand
from caliban_commands.plain import plain_text
from caliban_commands.registry import CALLED, CommandRegistry
from caliban_common.message import Message, TextBlock
from caliban_common.text import one_line
from caliban_drive.notice import Report
from caliban_drive.result import Costs
from caliban_drive.session import Session
from caliban_headless.local import LocalCommand, LocalOutput, LocalPrompt


class LocalContext:
    """See `SlashContext`: the open app of a headless run."""

    def __init__(self, app: App, session: Session) -> None:
        self.session: Session = session
        self.costs: Costs = app.costs
        self.report: Report = app.reporter


class LocalCall(Struct, frozen=True, kw_only=True):
    """A built-in command that the command line calls, and what kind of run it takes."""

    line: str
    options: Options
    wiring: Wiring = USUAL

    def source(self, app: App, session: Session) -> LocalCommand:
        """What does it, in the open app."""
        return LocalCommand(run=partial(_run, self.line, app, session, app_commands(app, session)))


def local_call(options: Options) -> LocalCall | None:
    """The built-in command that the prompt calls; `None` where it calls none.

    Without a need for a model no key is asked for; without a session that goes on nothing is saved. Raises
    `UsageError` for flags that say something else.
    """
    call = typed_call(options.prompt)
    if call is None or options.extensions.no_commands or options.settings.bare:
        return None
    if input_format(options.output.input_format).is_framed:
        return None
    name, arguments = call
    line = f"/{name} {arguments}".rstrip()
    if name.startswith(OF_SERVERS):
        return LocalCall(line=line, options=options)
    if name.lower() not in NAMES:
        return None
    row = CommandRegistry(BUILT_IN).find(name) or _help()
    if options.session.record is not None:
        raise UsageError(f"--record keeps what a model is asked, and /{row.name} is done here: leave it out")
    if options.output.json_schema is not None and not row.submits:
        raise UsageError(f"--json-schema is for the answer of a model, and /{row.name} is done here")
    if row.submits:
        return LocalCall(line=line, options=options)
    session = options.session
    goes_on = session.continue_session or session.resume is not None or session.session is not None
    if not goes_on or "session" not in row.uses:
        options = replace(options, session=replace(session, no_save=True, mirror=False))
    wiring = Wiring(servers="servers" in row.uses)
    if "model" not in row.uses:
        wiring = replace(wiring, resolve=idle_model)
    return LocalCall(line=line, options=options, wiring=wiring)


def _help() -> SlashCommand:
    return SlashCommand(name=HELP, summary="", group="Diagnostics", run="")


def frame_commands(app: App, session: Session) -> Callable[[str], LocalCommand | None]:
    """Finds the commands that prompt frames call; an unknown name is an error in the result."""
    registry = app_commands(app, session)

    def called(text: str) -> LocalCommand | None:
        match = re.fullmatch(CALLED, text.strip())
        if match is None or (is_path(match[1]) and registry.find(match[1], now=True) is None):
            return None
        return LocalCommand(run=partial(_run, text, app, session, registry))

    return called


async def _run(line: str, app: App, session: Session, registry: CommandRegistry) -> LocalOutput | LocalPrompt:
    """Do what `line` calls. Raises `UnknownCommand` and what the command raises."""
    match = re.fullmatch(CALLED, line.strip())
    name = "" if match is None else match[1]
    if (":" in name or name.startswith(OF_SERVERS)) and registry.find(name) is None:
        await registry.refresh()
    called = registry.called(line)
    if called is None:
        raise UnknownCommand(f"{one_line(line, max_chars=60)} calls no command")
    command, arguments = called
    answer = await registry.run(command, arguments, LocalContext(app, session), "headless")
    text = plain_text(answer)
    if isinstance(answer.effect, SubmitPrompt):
        return LocalPrompt(
            message=await _prompt(app, answer.effect), asked=_asked(app, session, answer.effect)
        )
    _refuse_effect(command, answer.effect, text)
    return LocalOutput(text=text, events=answer.events)


def _refuse_effect(command: SlashCommand, effect: CommandEffect | None, text: str) -> None:
    """Raise `CommandNotHere` for an effect that a run without a terminal cannot have."""
    if isinstance(effect, SwitchSession):
        hint = f"caliban -r {effect.name} -p …"
        raise CommandNotHere(f"/{command.name}: a run without a terminal stays in its session", hint=hint)
    if effect is not None and not text and not isinstance(effect, OpenView):
        raise CommandNotHere(f"/{command.name} is for the terminal", hint=command.instead or None)


def _asked(
    app: App, session: Session, effect: SubmitPrompt
) -> Callable[[], AbstractAsyncContextManager[None]]:
    if not (effect.model or effect.effort):
        return nullcontext
    from caliban.compose.switch import asked_as

    return partial(asked_as, app, session, effect.model, effect.effort)


async def _prompt(app: App, effect: SubmitPrompt) -> Message:
    """The prompt that a command makes, with the files that its own words name."""
    message = await typed_prompt(effect.references, PromptInputs.of(app))
    return replace(message, content=(TextBlock(text=effect.text), *message.content[1:]))
