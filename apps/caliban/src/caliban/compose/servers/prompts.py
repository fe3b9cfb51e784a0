"""Prompts that MCP servers have for a person: listed, completed and fetched, for slash commands.

What a server says is data: names and words are shown without what nobody would see, and what it sends for a
prompt is masked and capped like the results of its tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread
from msgspec import Struct

from caliban.errors import CommandRefused
from caliban_agent_core.overflow import cap_output, marked
from caliban_common.errors import CalibanError
from caliban_common.masked import masked_message
from caliban_common.message import Message, ResultPart
from caliban_common.text import one_line, plural
from caliban_common.tool import ToolOutput, ToolSpec
from caliban_drive.notice import Notice
from caliban_mcp.hidden import without_hidden
from caliban_mcp.names import tool_names
from caliban_mcp.results import read_content
from caliban_mcp_client.content import McpPrompt, PromptMessages

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban_mcp import RunServer

MAX_PROMPTS: Final = 500
MAX_MESSAGES: Final = 100
MAX_LINE_CHARS: Final = 300


class ServerPromptArgument(Struct, frozen=True, kw_only=True):
    """One argument of a prompt; its value is text."""

    name: str
    description: str = ""
    required: bool = False


class ServerPrompt(Struct, frozen=True, kw_only=True):
    """A prompt of a server. `command` is `server:prompt`, `full_name` is `mcp__server__prompt`.

    `name` is what the server calls it; the words are for a person.
    """

    server: str
    name: str
    command: str
    full_name: str
    description: str = ""
    arguments: tuple[ServerPromptArgument, ...] = ()

    @property
    def usage(self) -> str:
        """The arguments as they are written behind a command: `<needed> [other]`."""
        return " ".join(f"<{one.name}>" if one.required else f"[{one.name}]" for one in self.arguments)


class FetchedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt with its arguments filled in: messages of a person and of a model, in their order."""

    description: str = ""
    messages: tuple[Message, ...] = ()


async def server_prompts(app: App) -> tuple[ServerPrompt, ...]:
    """The prompts of all connected servers, by server and name; what cannot be listed is reported.

    A prompt that a rule denies by its full name is not there.
    """
    run = app.servers
    if run is None:
        return ()
    prompts: dict[str, tuple[McpPrompt, ...]] = {}

    async def look(server: RunServer) -> None:
        try:
            prompts[server.name] = await server.prompts()
        except CalibanError as error:
            words = one_line(error.message, max_chars=300)
            message = f"the MCP server {server.name} does not list its prompts: {words}"
            app.reporter(Notice(subtype="mcp_prompts", message=message))

    async with anyio.create_task_group() as group:
        for server in run.fleet.servers:
            if server.state == "connected":
                group.start_soon(look, server)
    return tuple(
        prompt
        for name in sorted(prompts)
        for prompt in _named(name, prompts[name][:MAX_PROMPTS])
        if app.permissions.offers(ToolSpec(name=prompt.full_name, description="", input_schema={}))
    )


async def fetch_prompt(app: App, prompt: ServerPrompt, arguments: Mapping[str, str]) -> FetchedPrompt:
    """What the server makes of a prompt, masked, and within the cap of its tools' results.

    Raises `CommandRefused` for arguments that do not fit, and what a server does.
    """
    known = {one.name for one in prompt.arguments}
    lacking = [one.name for one in prompt.arguments if one.required and not arguments.get(one.name)]
    strange = [name for name in arguments if name not in known]
    if lacking or strange:
        wrong = f"lacks {', '.join(lacking)}" if lacking else f"takes no {', '.join(strange)}"
        raise CommandRefused(
            f"the prompt {prompt.command} {one_line(wrong, max_chars=300)}",
            hint=f"/{prompt.command} {prompt.usage}".rstrip(),
        )
    server = _server(app, prompt)
    client = await server.connected()
    return await _within(app, prompt, server, await client.get_prompt(prompt.name, arguments))


def _server(app: App, prompt: ServerPrompt) -> RunServer:
    server = None if app.servers is None else app.servers.fleet.find(prompt.server)
    if server is None:
        raise CommandRefused(f"the MCP server {prompt.server} is not one of this run any more")
    return server


async def _within(app: App, prompt: ServerPrompt, server: RunServer, answer: PromptMessages) -> FetchedPrompt:
    """The messages as they are sent: no secret, nothing hidden, and all of them together within the cap."""
    limits = app.limits(app.live.now)
    cap, messages = limits.cap_of(prompt.server), list[Message]()
    for number, one in enumerate(answer.messages[:MAX_MESSAGES]):
        parts = await read_content(one.content, server.look)
        masked = masked_message(Message(role=one.role, content=parts), app.masker)
        output = ToolOutput(content=tuple(part for part in masked.content if isinstance(part, ResultPart)))
        capped = await to_thread.run_sync(
            partial(
                cap_output,
                output,
                cap_chars=cap,
                directory=limits.overflow_dir,
                session_id=limits.session_id,
                tool_use_id=partial(marked, f"{prompt.full_name}-{number}"),
            )
        )
        messages.append(Message(role=one.role, content=capped.content))
        cap = max(cap - len(capped.text), 1) if cap else 0
    if len(answer.messages) > MAX_MESSAGES:
        left = plural(len(answer.messages) - MAX_MESSAGES, "message")
        words = f"left out of the prompt {prompt.command}: {left}"
        app.reporter(Notice(subtype="mcp_prompts", message=words))
    description = one_line(without_hidden(answer.description), max_chars=MAX_LINE_CHARS)
    return FetchedPrompt(description=description, messages=tuple(messages))


def _named(server: str, prompts: tuple[McpPrompt, ...]) -> Iterable[ServerPrompt]:
    names = tool_names(server, (prompt.name for prompt in prompts))
    for prompt in sorted(prompts, key=lambda one: one.name):
        if without_hidden(prompt.name) != prompt.name or any(char.isspace() for char in prompt.name):
            continue  # nobody could type it
        words = prompt.description or prompt.title
        yield ServerPrompt(
            server=server,
            name=prompt.name,
            command=f"{server}:{prompt.name}",
            full_name=names[prompt.name],
            description=one_line(without_hidden(words), max_chars=MAX_LINE_CHARS),
            arguments=tuple(
                ServerPromptArgument(
                    name=one.name,
                    description=one_line(without_hidden(one.description), max_chars=MAX_LINE_CHARS),
                    required=one.required,
                )
                for one in prompt.arguments
            ),
        )
