"""Commands about the model and how it is asked."""

from __future__ import annotations

from typing import Final, cast

from caliban.compose.app import App
from caliban.compose.switch import listed_models, provider_of, set_model, set_options
from caliban.slash.alone import refuse_alone
from caliban_commands.answer import ChoiceRow, CommandAnswer, ShownChoice, ShownText
from caliban_commands.builtin.session import has_said
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandNotHere
from caliban_common.errors import CalibanError
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_drive.session import Session
from caliban_provider.request import EFFORTS, Effort

AUTO: Final = "auto"
THINK_TOKENS: Final = 16_000
MIN_THINK_TOKENS: Final = 1024
MAX_THINK_TOKENS: Final = 1_000_000


async def model(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the models of the provider, or switch to one."""
    session = context.session
    if arguments:
        if app.board.writer is None and not has_said(session):
            hint = "caliban config set model NAME, or --model NAME"
            raise CommandNotHere(
                "/model: this run has no session that would go on with another model", hint=hint
            )
        name = await set_model(app, session, arguments)
        return CommandAnswer.of(f"{one_line(name, max_chars=200)} is asked from the next prompt on")
    current = session.agent.model
    notes: list[str] = []
    try:
        names = await listed_models(app, session)
    except CalibanError as error:
        names = ()
        notes.append(f"the provider lists no models: {error.message}")
    rows = tuple(
        ChoiceRow(label="now" if name == current else "", line=f"/model {name}", is_current=name == current)
        for name in dict.fromkeys((current, *names))
    )
    notes.append("caliban models shows windows and prices")
    choice = ShownChoice(title=f"models of {provider_of(app)}", rows=rows)
    return CommandAnswer(parts=(choice, ShownText(markdown="\n".join(notes))))


def efforts_of(session: Session) -> tuple[Effort, ...]:
    """The effort levels of the current model."""
    able = session.agent.provider.capabilities(session.agent.model)
    if able.efforts is not None:
        return able.efforts
    return EFFORTS if able.thinking else ()


async def effort(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Show or set the effort of the next prompts."""
    session, word = context.session, arguments.lower()
    offered = efforts_of(session)
    if not word:
        now = session.agent.options.effort or AUTO
        rows = tuple(
            ChoiceRow(label="now" if level == now else "", line=f"/effort {level}", is_current=level == now)
            for level in (*offered, AUTO)
        )
        return CommandAnswer(parts=(ShownChoice(title=f"effort of {session.agent.model}", rows=rows),))
    if word not in (*EFFORTS, AUTO):
        near = did_you_mean(word, (*EFFORTS, AUTO))
        raise BadArguments(
            f"/effort does not know {one_line(word, max_chars=40)!r}",
            hint=" ".join(filter(None, (near, f"one of {', '.join((*EFFORTS, AUTO))}"))),
        )
    refuse_alone(app, "effort", f'--settings \'{{"effort": "{word}"}}\' gives it to a prompt')
    set_options(app, session, {"effort": None if word == AUTO else cast(Effort, word)})
    note = "" if word == AUTO or word in offered else f"; {session.agent.model} has no such level of its own"
    return CommandAnswer.of(f"effort: {word}, from the next prompt of this run on{note}")


async def think(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Show or set how many tokens a reply may think."""
    session, word = context.session, arguments.lower().replace(",", "")
    if not word:
        tokens = session.agent.options.thinking_tokens
        now = "as the model likes" if tokens is None else f"up to {tokens:,} tokens" if tokens else "off"
        return CommandAnswer.of(f"thinking: {now}")
    if word in ("on", "off"):
        wanted = THINK_TOKENS if word == "on" else None
    elif word.isascii() and word.isdigit() and MIN_THINK_TOKENS <= int(word[:9]) <= MAX_THINK_TOKENS:
        wanted = int(word)
    else:
        raise BadArguments(
            f"/think takes on, off, or tokens from {MIN_THINK_TOKENS:,} to {MAX_THINK_TOKENS:,}, "
            f"not {one_line(word, max_chars=40)!r}"
        )
    refuse_alone(app, "think", 'an effort stands for it: --settings \'{"effort": "high"}\'')
    set_options(app, session, {"thinking_tokens": wanted})
    able = session.agent.provider.capabilities(session.agent.model)
    note = "" if able.thinking or wanted is None else f"; {session.agent.model} is not known to think"
    words = "as the model likes" if wanted is None else f"up to {wanted:,} tokens a reply"
    return CommandAnswer.of(f"thinking: {words}, from the next prompt of this run on{note}")


async def login(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Refused: a key is typed where it is not shown."""
    name = one_line(arguments, max_chars=60) or provider_of(app)
    raise CommandNotHere(
        "/login: a key is not typed where it would be shown and remembered",
        hint=f"caliban login {name} in a shell reads it unseen; the next start takes it",
    )


async def logout(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Forget the stored key of a provider."""
    from caliban.commands.login import forget_key

    return CommandAnswer.of("\n".join(forget_key("logout", app.options, arguments.split())))
