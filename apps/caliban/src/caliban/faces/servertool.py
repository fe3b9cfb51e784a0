"""A tool of an MCP server that answers what the rules leave to a person (`--permission-prompt-tool`).

It is given `{tool_name, input, tool_use_id}`, and answers with JSON: `{"behavior": "allow", "updatedInput":
…}` or `{"behavior": "deny", "message": …}`. Whatever else it does is a no.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from caliban.compose.permissions import Permissions
from caliban.compose.servers.build import RunServers
from caliban.errors import ConfigError
from caliban_agent_core.ports import ApprovalRequest
from caliban_common.errors import CalibanError
from caliban_common.message import TextBlock
from caliban_common.permission import Decision
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_headless.answer import HostAnswer, host_answer
from caliban_mcp.names import PREFIX, name_part
from caliban_mcp.results import output_of
from caliban_mcp.server import RunServer
from caliban_mcp.tool import ServerTool

FLAG: Final = "--permission-prompt-tool"
NOT_LASTING: Final = "what a server's tool answers holds for its call alone: its rules are not taken over"


class ServerToolApprover:
    """An `Approver` that asks the tool `name`; `mask` takes secrets out of what it is shown.

    `interrupt` ends the run, where a no says so.
    """

    def __init__(
        self,
        name: str,
        run: RunServers,
        mask: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        report: Report,
    ) -> None:
        self._name = name
        self._run = run
        self._mask = mask
        self._report = report
        self.interrupt: Callable[[], None] = lambda: None

    async def approve(self, request: ApprovalRequest) -> Decision:
        """See `Approver`: the answer of the tool, never "later"."""
        call = request.call
        shown = self._mask(call.input)
        asked = {"tool_name": call.name, "input": shown, "tool_use_id": call.id}
        try:
            server, tool = _found(self._name, self._run)
            output = output_of(await server.call(tool.tool.name, asked, lambda _: None))
        except CalibanError as error:
            words = one_line(error.message, max_chars=300)
            return _deny(f"{self._name} could not be asked: {words}")
        text = "".join(part.text for part in output.content if isinstance(part, TextBlock))
        if output.is_error:
            return _deny(f"{self._name} could not decide: {one_line(text, max_chars=300)}")
        answer = _answer(text, call.id, shown)
        if not answer.allows:
            if answer.interrupts:
                self.interrupt()
            return _deny(answer.message)
        if answer.updates or answer.objection is not None:
            self._report(Notice(subtype="permission_answer", message=NOT_LASTING))
        return Decision(action="allow", updated_input=answer.updated_input)


async def checked_servers(name: str, run: RunServers | None, permissions: Permissions) -> RunServers:
    """The servers with the tool `name`. Raises `ConfigError` where it is not there, new, or denied."""
    if run is None:
        hint = "caliban mcp add, or --mcp-config"
        raise ConfigError(f"{FLAG} {name}: this run has no MCP servers", hint=hint)
    await run.fleet.settle(_owners(name, run), None)
    try:
        _, tool = _found(name, run)
    except CalibanError as error:
        raise ConfigError(f"{FLAG} {name}: {error.message}", hint=error.hint) from error
    if tool.is_new:
        raise ConfigError(
            f"{FLAG} {name}: the tool is new on its server, and nobody has looked at it",
            hint=f"caliban mcp review {tool.spec.server}",
        )
    if not permissions.offers(tool.spec):
        raise ConfigError(f"{FLAG} {name}: a rule denies it")
    return run


def _owners(name: str, run: RunServers) -> tuple[RunServer, ...]:
    """The servers that may have a tool of this name."""
    return tuple(one for one in run.fleet.servers if name.startswith(f"{PREFIX}{name_part(one.name)}__"))


def _found(name: str, run: RunServers) -> tuple[RunServer, ServerTool]:
    for server in run.fleet.servers:
        for tool in server.tools:
            if tool.spec.name == name:
                return server, tool
    for server in _owners(name, run):
        if server.state != "connected":
            raise CalibanError(
                f"the MCP server {server.name} is not there: {server.status.words}", hint=server.status.hint
            )
        names = ", ".join(tool.spec.name for tool in server.tools) or "none"
        raise CalibanError(
            f"the MCP server {server.name} offers no such tool; it offers: {names}",
            hint=f"caliban mcp review {server.name} shows those that wait to be looked at",
        )
    servers = ", ".join(one.name for one in run.fleet.servers) or "none"
    raise CalibanError(f"no MCP server of this run is called so; there are: {servers}")


def _answer(text: str, tool_use_id: str, shown: Mapping[str, Any]) -> HostAnswer:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    return host_answer({"subtype": "success", "response": body}, tool_use_id, shown)


def _deny(message: str) -> Decision:
    return Decision(action="deny", reason=message)
