"""`caliban mcp doctor`: connects to servers, lists what they have, and says in words what is wrong."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.commands.mcp.list import ListedServers, login_of_row, shown_words
from caliban.compose.servers.build import build_connector, pins_dir
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.mask import Masker
from caliban_common.terminal import visible
from caliban_common.text import one_line, plural
from caliban_mcp import Connector, PinStore, PinsUnusable, ServerConfig, tool_names
from caliban_mcp.config import download_words
from caliban_mcp.hidden import has_hidden
from caliban_mcp.names import full_name

if TYPE_CHECKING:
    from caliban_mcp_client import McpClient

MARKS: Final[Mapping[str, str]] = {"pass": "✓", "warn": "!", "fail": "✗"}


class Examined(Struct, frozen=True, kw_only=True):
    """What was found of one server: its state, lines for a person, and the same as data."""

    name: str
    state: str
    head: str
    notes: tuple[str, ...] = ()
    data: Mapping[str, Any] = {}


def doctor(invocation: Invocation) -> int:
    """Look at every server that a run would use; 1 where one cannot be used. Raises `MissingError`."""
    listed = ListedServers(invocation.options)
    name = invocation.values["name"]
    configs = listed.written.configs if name is None else (listed.find(name),)
    examined = run_cancellable(lambda: _all(listed, configs), invocation.signals)
    rows = [*examined, *_idle(listed, name)]
    if not invocation.values["json"]:
        listed.warn()
    if invocation.values["json"]:
        lines = [dumps({"name": one.name, "state": one.state, **one.data}).decode() for one in rows]
    else:
        lines = [line for one in rows for line in _lines(one)] or [
            "no MCP servers: caliban mcp add writes one"
        ]
    failed = any(one.state == "fail" for one in rows)
    return print_text(visible("".join(f"{line}\n" for line in lines))) or int(failed)


async def _all(listed: ListedServers, configs: tuple[ServerConfig, ...]) -> list[Examined]:
    """Examine all servers concurrently; the results in the order of `configs`."""
    inputs = listed.inputs()
    connector = build_connector(inputs)
    checks: dict[str, Examined] = {}

    async def look(config: ServerConfig) -> None:
        state = listed.state(config)
        if state:
            checks[config.name] = Examined(
                name=config.name, state="warn", head=f"not used: {state}", data={"words": state}
            )
        else:
            examined = await _examined(connector, config)
            login = login_of_row(listed, config)
            notes = (*examined.notes, *_unfilled(config), *((login,) if login else ()))
            checks[config.name] = replace(examined, notes=notes, data={**examined.data, "login": login})

    async with anyio.create_task_group() as group:
        for config in configs:
            group.start_soon(look, config)
    return [_masked(checks[config.name], inputs.host.masker) for config in configs]


def _masked(examined: Examined, masker: Masker) -> Examined:
    """What was found, without the secrets that the server was given and has said itself."""
    texts = {key: masker.text(value) for key, value in examined.data.items() if isinstance(value, str)}
    notes = tuple(map(masker.text, examined.notes))
    return replace(examined, head=masker.text(examined.head), notes=notes, data={**examined.data, **texts})


def _idle(listed: ListedServers, name: str | None) -> Iterator[Examined]:
    if name is None:
        for other, (place, why) in sorted(listed.waiting().items()):
            yield Examined(
                name=other, state="warn", head=f"not used: it {why} ({place})", data={"words": why}
            )


async def _examined(connector: Connector, config: ServerConfig) -> Examined:
    began = time.perf_counter()
    client: McpClient | None = None
    try:
        async with connector.open(config, None) as client:
            connected = time.perf_counter()
            return await _listed(client, config, began, connected)
    except CalibanError as error:
        return _failed(config, error, client)


def _unfilled(config: ServerConfig) -> Iterator[str]:
    """Variables as a shell has them, which a server is sent as they are written.

    Whole words alone: a password may hold such a sign.
    """
    for what, texts in (("headers", config.headers), ("env", config.env), ("url", {"": config.url})):
        for text in texts.values():
            for name in re.findall(r"(?:^|\s)\$([A-Z_][A-Z0-9_]*)$", text):
                yield f"${name} in its {what} is not filled in: write ${{{name}}}"


def _failed(config: ServerConfig, error: CalibanError, client: McpClient | None) -> Examined:
    """What is wrong, and all that the server said until then: it often says why itself, somewhere."""
    stderr: str = getattr(error, "stderr", "") or (client.stderr if client is not None else "")
    problems: tuple[str, ...] = getattr(error, "problems", ()) or (client.problems if client else ())
    kind = getattr(error, "kind", "")
    notes = [f"hint: {error.hint}"] if error.hint else []
    fetched = download_words(config)
    if fetched is not None and kind == "timed_out":
        notes.append(f"{fetched}: the first start takes longer; start_timeout_s gives it more")
    notes += [f"it said: {one_line(line, max_chars=200)}" for line in stderr.strip().splitlines()[-5:]]
    notes += [one_line(text, max_chars=300) for text in problems if error.message not in text]
    if kind == "exited" and not stderr.strip() and not problems:
        line = shlex.join(shown_words((config.command, *config.args)))
        notes.append(f"it said nothing; start it by hand to see more: {line}")
    data = {"words": error.message, "kind": kind, "stderr": stderr, "problems": list(problems)}
    return Examined(name=config.name, state="fail", head=error.message, notes=tuple(notes), data=data)


async def _listed(client: McpClient, config: ServerConfig, began: float, connected: float) -> Examined:
    info = client.info
    tools = await client.list_tools() if info.offers("tools") else ()
    prompts = await client.list_prompts() if info.offers("prompts") else ()
    resources = await client.list_resources() if info.offers("resources") else ()
    templates = await client.list_templates() if info.offers("resources") else ()
    ended = time.perf_counter()
    connect_ms, list_ms = round((connected - began) * 1000), round((ended - connected) * 1000)
    notes = [one_line(text, max_chars=300) for text in client.problems]
    names = tool_names(config.name, [tool.name for tool in tools])
    for tool in tools:
        shown = one_line(tool.name, max_chars=64)
        if names[tool.name] != full_name(config.name, tool.name):
            notes.append(f"the tool {shown} is called {names[tool.name]} here, for its own name does not fit")
        if has_hidden(tool.description):
            notes.append(
                f"the description of {shown} holds characters that no reader would see; they are left out"
            )
        if not config.takes(tool.name):
            notes.append(f"the tool {shown} is not offered, as its entry says")
    notes += _pin_notes(config)
    fetched = download_words(config)
    if fetched is not None:
        notes.append(fetched)
    counts = [plural(len(tools), "tool"), plural(len(prompts), "prompt"), plural(len(resources), "resource")]
    label = one_line(f"{info.title or info.name} {info.version}".strip(), max_chars=80)
    head = (
        f"{', '.join(counts)}; {info.era} {info.protocol_version}; connected in {connect_ms} ms, "
        f"listed in {list_ms} ms" + (f" (says it is {label})" if label else "")
    )
    return Examined(
        name=config.name,
        state="warn" if client.problems else "pass",
        head=head,
        notes=tuple(notes),
        data={
            "era": info.era,
            "protocol": info.protocol_version,
            "connect_ms": connect_ms,
            "list_ms": list_ms,
            "tools": [tool.name for tool in tools],
            "prompts": [prompt.name for prompt in prompts],
            "resources": [resource.uri for resource in resources],
            "templates": [template.uri_template for template in templates],
            "problems": list(client.problems),
        },
    )


def _pin_notes(config: ServerConfig) -> Iterator[str]:
    try:
        pins = PinStore(pins_dir()).load(config.identity)
    except PinsUnusable as error:
        yield error.message
        return
    if pins is not None and pins.waits:
        yield f"{plural(len(pins.seen), 'tool')} to be looked at: caliban mcp review {config.name}"


def _lines(one: Examined) -> Iterator[str]:
    yield f"{MARKS[one.state]} {one.name}: {one_line(one.head, max_chars=400)}"
    yield from (f"    {note}" for note in one.notes)
