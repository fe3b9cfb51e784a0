"""How what is typed of a server's prompt or resource could go on: the server itself is asked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from msgspec import Struct

from caliban_commands.command import AskedWords
from caliban_common.text import one_line
from caliban_mcp.hidden import without_hidden

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban.compose.servers.prompts import ServerPrompt
    from caliban_mcp import RunServer
    from caliban_mcp_client import McpClient
    from caliban_mcp_client.content import Completions

MAX_TEMPLATES: Final = 50
_VARIABLE: Final = r"\{([+]?)([A-Za-z0-9_.]+)\}"


class ArgumentPlace(Struct, frozen=True, kw_only=True):
    """The argument that is being typed: its `name`, the `value` so far, and those that are `known`.

    `before` and `after` stand around it in a URI; `quotes` says that its value is written in percent signs.
    """

    name: str
    value: str
    known: Mapping[str, str]
    before: str = ""
    after: str = ""
    quotes: bool = False


def prompt_words(app: App, prompt: ServerPrompt, place: ArgumentPlace, *, ends: bool) -> AskedWords | None:
    """Whom to ask for the value of an argument of a prompt; `None` where its server completes nothing."""
    client = _completing(app, prompt.server)
    if client is None:
        return None

    async def ask() -> tuple[str, ...]:
        completions = await client.complete("prompt", prompt.name, place.name, place.value, place.known)
        return tuple(word if ends else shlex.quote(word) for word in _words(completions))

    return AskedWords(typed=place.value, ask=ask, ends=ends)


def resource_words(app: App, typed: str) -> AskedWords | None:
    """Whom to ask how `server:uri` could go on, where the server has resources by templates."""
    servers = () if app.servers is None else app.servers.fleet.servers
    server = next((one for one in servers if typed.startswith(f"{one.name}:")), None)
    client = None if server is None else _completing(app, server.name)
    if server is None or client is None or not server.has_resources:
        return None
    begun = f"{server.name}:"
    uri = typed.removeprefix(begun)

    async def ask() -> tuple[str, ...]:
        words: list[str] = []
        for template in (await client.list_templates())[:MAX_TEMPLATES]:
            place = template_place(template.uri_template, uri)
            if place is None:
                continue
            completions = await client.complete(
                "resource", template.uri_template, place.name, place.value, place.known
            )
            for word in _words(completions):
                value = quote(word, safe="") if place.quotes else word
                words.append(f"{begun}{place.before}{value}{place.after}")
        return tuple(dict.fromkeys(words))

    return AskedWords(typed=typed, ask=ask, ends=False)


def template_place(template: str, typed: str) -> ArgumentPlace | None:
    """Which variable of a URI template is being typed; `None` where `typed` begins none of its URIs.

    Only templates of plain (`{name}`) and reserved (`{+name}`) variables are read.
    """
    first, *rest = re.split(_VARIABLE, template)
    literals = (first, *rest[2::3])
    if any("{" in literal for literal in literals) or not typed.startswith(first):
        return None
    known: dict[str, str] = {}
    at = len(first)
    for plus, name, literal in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        end = typed.find(literal, at) if literal else -1
        if end < 0:
            return ArgumentPlace(
                name=name,
                value=unquote(typed[at:]),
                known=known,
                before=typed[:at],
                after=literal,
                quotes=not plus,
            )
        known[name] = unquote(typed[at:end])
        at = end + len(literal)
    return None


async def template_beginnings(server: RunServer, client: McpClient) -> list[str]:
    """`server:` and the beginning of each family of resources, as far as it has no variable."""
    firsts = [re.split(_VARIABLE, one.uri_template)[0] for one in await client.list_templates()]
    return [f"{server.name}:{first}" for first in firsts[:MAX_TEMPLATES] if first and "{" not in first]


def _completing(app: App, name: str) -> McpClient | None:
    """The conversation with a server that completes arguments."""
    server = None if app.servers is None else app.servers.fleet.find(name)
    client = None if server is None else server.client
    return client if client is not None and client.info.offers("completions") else None


def _words(completions: Completions) -> list[str]:
    """The values that a person could have typed."""
    return [
        word
        for word in completions.values
        if word and without_hidden(word) == word and one_line(word) == word
    ]
