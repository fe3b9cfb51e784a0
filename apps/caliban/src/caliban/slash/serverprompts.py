"""Prompts of MCP servers as commands: `/mcp__server__prompt`, with its arguments behind it."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from caliban.compose.app import App
from caliban.compose.servers.prompts import ServerPrompt, fetch_prompt, server_prompts
from caliban.slash.table import NAMES
from caliban_commands.answer import CommandAnswer, SubmitPrompt
from caliban_commands.command import AskedWords, SlashCommand, SlashContext
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.message import Message
from caliban_common.text import one_line, plural
from caliban_drive.notice import Notice

MAX_CHARS: Final = 20_000
"""The most that may be typed after a server's prompt."""


FetchPrompt: TypeAlias = Callable[[ServerPrompt, Mapping[str, str]], Awaitable[Sequence[Message]]]
"""Gives the messages of a prompt with its arguments; raises `CalibanError`."""


async def server_rows(app: App) -> tuple[SlashCommand, ...]:
    """The prompts of connected servers as rows; what cannot be listed is reported."""

    async def fetch(prompt: ServerPrompt, given: Mapping[str, str]) -> Sequence[Message]:
        return (await fetch_prompt(app, prompt, given)).messages

    return prompt_rows(await server_prompts(app), fetch, partial(typed_argument, app))


def typed_argument(app: App, prompt: ServerPrompt, said: str) -> AskedWords | None:
    """Whom to ask for the argument that is being typed behind `prompt`."""
    head, typed = said[: len(said) - len(said.rsplit(" ", maxsplit=1)[-1])], said.rsplit(" ", maxsplit=1)[-1]
    if any(mark in said for mark in "\"'\\\t"):
        return None
    try:
        known = prompt_arguments(prompt, head)
    except CommandError:
        return None
    left = [argument.name for argument in prompt.arguments if argument.name not in known]
    name, mark, value = typed.partition("=")
    if not mark or name not in left:
        name, value = (left[0] if left else ""), typed
    if not name:
        return None
    from caliban.compose.servers.completing import ArgumentPlace, prompt_words

    place = ArgumentPlace(name=name, value=value, known=known)
    return prompt_words(app, prompt, place, ends=len(left) == 1)


def prompt_rows(
    prompts: Iterable[ServerPrompt],
    fetch: FetchPrompt,
    asks: Callable[[ServerPrompt, str], AskedWords | None] = lambda prompt, typed: None,
) -> tuple[SlashCommand, ...]:
    """A row for each prompt; one whose short name is one of ours has its long name alone.

    `asks` says whom to ask for the argument that is being typed.
    """
    return tuple(
        SlashCommand(
            name=prompt.full_name,
            summary=prompt.description or f"a prompt of the server {prompt.server}",
            group="Yours",
            run=partial(_submit, prompt, fetch),
            arguments=one_line(prompt.usage, max_chars=80),
            aliases=() if prompt.command.lower() in NAMES else (prompt.command,),
            source="server",
            uses=frozenset(["model", "servers"]),
            submits=True,
            asks=partial(asks, prompt) if prompt.arguments else None,
        )
        for prompt in prompts
    )


def prompt_arguments(prompt: ServerPrompt, said: str) -> dict[str, str]:
    """The typed text as arguments of `prompt`: `NAME=VALUE` by name, others in order.

    The last argument takes all remaining words. Raises `BadArguments`.
    """
    if len(said) > MAX_CHARS:
        raise BadArguments(f"/{prompt.command} takes at most {MAX_CHARS:,} characters")
    names = [argument.name for argument in prompt.arguments]
    try:
        words = shlex.split(said)
    except ValueError:
        words = said.split()  # an apostrophe is no quote
    given: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        name, mark, value = word.partition("=")
        if mark and name in names and name not in given:
            given[name] = value
        else:
            plain.append(word)
    left = [name for name in names if name not in given]
    if plain and not left:
        shown = one_line(" ".join(plain), max_chars=80)
        raise BadArguments(f"/{prompt.command} takes no {shown!r}", hint=f"/{prompt.command} {prompt.usage}")
    for place, name in enumerate(left):
        words_of = plain[place:] if place == len(left) - 1 else plain[place : place + 1]
        if words_of:
            given[name] = " ".join(words_of)
    return given


async def _submit(
    prompt: ServerPrompt, fetch: FetchPrompt, context: SlashContext, arguments: str
) -> CommandAnswer:
    """The messages that the server returns, as one prompt."""
    messages = await fetch(prompt, prompt_arguments(prompt, arguments))
    texts = [_said(message, prompt) for message in messages if message.text.strip()]
    left = sum(1 for message in messages for block in message.content if block.type != "text")
    if left:
        words = f"left out: {plural(left, 'piece')} of {prompt.command} without text"
        context.report(Notice(subtype="mcp_prompts", message=words))
    if not texts:
        raise CommandError(f"the server {prompt.server} says nothing for {prompt.command}")
    shown = f"/{prompt.full_name} {arguments}".rstrip()
    return CommandAnswer(effect=SubmitPrompt(text="\n\n".join(texts), shown=shown))


def _said(message: Message, prompt: ServerPrompt) -> str:
    """One message; words put into the model's mouth are marked as the server's."""
    if message.role == "user":
        return message.text
    return f"[the server {prompt.server} gives this as an earlier answer]\n{message.text}"
