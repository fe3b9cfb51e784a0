"""`caliban context`: the pieces of the first request, as a run would put them together. Nothing is sent."""

from __future__ import annotations

from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options, SessionOptions
from caliban.commands.report import report
from caliban.compose.app import App, open_app
from caliban.compose.context import ContextPiece
from caliban.compose.quiet import silent_model
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.wiring import Wiring
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text, write_out
from caliban_common.codec import dumps
from caliban_common.estimate import tool_tokens
from caliban_common.text import one_line, plural
from caliban_common.tool import ToolSpec
from caliban_memory import MemorySet, memory_rows, summary

UNTRUSTED = "the project is not trusted: its words are told, and import nothing from outside of it"


class FirstRequest(Struct, frozen=True, kw_only=True):
    """What a first request would hold. `window_tokens` is `None` where nobody knows it.

    No run has seen the tools of `unknown_servers` yet; `found_later` tools of servers are left to a search.
    """

    provider: str
    model: str
    pieces: tuple[ContextPiece, ...]
    tools: tuple[ToolSpec, ...]
    memory: MemorySet
    window_tokens: int | None
    is_trusted: bool
    unknown_servers: tuple[str, ...] = ()
    found_later: int = 0

    @property
    def of_servers(self) -> tuple[ToolSpec, ...]:
        """The tools of MCP servers among them."""
        return tuple(tool for tool in self.tools if tool.server)

    @property
    def tokens(self) -> int:
        """The estimate for all of it."""
        return sum(piece.tokens for piece in self.pieces) + tool_tokens(self.tools)

    @property
    def left_tokens(self) -> int | None:
        """What is left for the conversation."""
        return None if self.window_tokens is None else self.window_tokens - self.tokens


def context(invocation: Invocation) -> int:
    """Show the pieces, as a table or as JSON."""
    first = run_cancellable(lambda: _look(invocation.options), invocation.signals)
    if invocation.values["json"]:
        return write_out(dumps(_data(first)) + b"\n")
    return print_text(_table(first))


async def _look(options: Options) -> FirstRequest:
    options = replace(options, session=SessionOptions(no_save=True))
    wiring = Wiring(sessions=_no_sessions, resolve=silent_model, logs=False, connects=False)
    async with anyio.create_task_group() as tasks:
        async with open_app(options, report, tasks=tasks, wiring=wiring) as app:
            tools = tuple(tool.spec for tool in app.session().agent.tools.tools())
            first = FirstRequest(
                provider=app.model.name,
                model=app.model.model,
                pieces=app.context(),
                tools=tools,
                memory=app.memory.found or MemorySet(),
                window_tokens=app.model.provider.capabilities(app.model.model).prompt_tokens,
                is_trusted=options.settings.trust_project,
                unknown_servers=_unknown_servers(app),
                found_later=_found_later(app, tools),
            )
        tasks.cancel_scope.cancel()
    return first


def _unknown_servers(app: App) -> tuple[str, ...]:
    servers = () if app.servers is None else app.servers.fleet.servers
    return tuple(one.name for one in servers if not one.is_cached and not one.config.disabled)


def _found_later(app: App, shown: tuple[ToolSpec, ...]) -> int:
    """How many remembered tools of servers the first request does not show."""
    names = {tool.name for tool in shown}
    return sum(1 for tool in app.tools.tools() if tool.spec.server and tool.spec.name not in names)


def _no_sessions(options: SessionOptions, workspace: Path) -> Sessions:
    return Sessions(options=options, workspace=str(workspace), saved=SavedSession(id="context"))


def _table(first: FirstRequest) -> str:
    rows = [(piece.kind, piece.tokens, one_line(piece.source)) for piece in first.pieces]
    of_servers = first.of_servers
    for kind, tools in (("tools", [one for one in first.tools if not one.server]), ("mcp tools", of_servers)):
        if tools:
            names = one_line(", ".join(tool.name for tool in tools), max_chars=300)
            rows.append((kind, tool_tokens(tools), f"{len(tools)}: {names}"))
    rows.append(("total", first.tokens, "four bytes make a token"))
    if first.window_tokens is not None and first.left_tokens is not None:
        rows.append(("left", first.left_tokens, f"of {first.window_tokens:,}"))
    width = max(len(kind) for kind, _, _ in rows)
    lines = [f"{first.provider}/{one_line(first.model)}"]
    lines += [f"{kind.ljust(width)}  {count:>9,}  {words}" for kind, count, words in rows]
    members = memory_rows(first.memory)
    if not first.is_trusted and any(row.tier in ("project", "rule") for row in members):
        lines.append(UNTRUSTED)
    for row in members:
        if row.patterns:
            words = one_line(", ".join(row.patterns), max_chars=80)
            lines.append(f"waits for {words}: {one_line(str(row.path))}")
    lines += [f"left out: {summary(note)}" for note in first.memory.left_out]
    if first.found_later:
        lines.append(f"left to a search: {plural(first.found_later, 'tool')} of MCP servers")
    lines += [f"of the MCP server {name} no run has seen the tools yet" for name in first.unknown_servers]
    return "\n".join(lines) + "\n"


def _data(first: FirstRequest) -> dict[str, object]:
    return {
        "provider": first.provider,
        "model": first.model,
        "pieces": [
            {"kind": piece.kind, "source": piece.source, "tokens": piece.tokens} for piece in first.pieces
        ],
        "tools": [
            {
                "name": tool.name,
                "tokens": tool_tokens((tool,)),
                **({"server": tool.server} if tool.server else {}),
            }
            for tool in first.tools
        ],
        "mcp_servers_unknown": list(first.unknown_servers),
        "mcp_tools_found_later": first.found_later,
        "memory": [
            {
                "tier": row.tier,
                "path": str(row.path),
                "tokens": row.tokens,
                "imports": [str(path) for path in row.imports],
                "paths": list(row.patterns),
                "cut_bytes": row.cut_bytes,
            }
            for row in memory_rows(first.memory)
        ],
        "left_out": [{"path": note.path, "reason": note.reason} for note in first.memory.left_out],
        "project_trusted": first.is_trusted,
        "total_tokens": first.tokens,
        "window_tokens": first.window_tokens,
        "left_tokens": first.left_tokens,
    }
