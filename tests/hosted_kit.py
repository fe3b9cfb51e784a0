"""A program on the other end that has MCP servers of its own, as hosts of the Agent SDK do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from host_kit import FrameHost

Tool = Callable[[dict[str, Any]], Any]


class HostedTools:
    """A server with `tools` by their names; what they give becomes the text of a result."""

    def __init__(self, **tools: Tool) -> None:
        self.tools = tools
        self.messages: list[dict[str, Any]] = []
        self.schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What is answered to a message, as the SDK for Python does it."""
        self.messages.append(message)
        params = message.get("params", {})
        if "id" not in message:
            return {"jsonrpc": "2.0", "result": {}}
        match message["method"]:
            case "initialize":
                result: Any = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "in the host", "version": "1.0.0"},
                }
            case "tools/list":
                result = {
                    "tools": [
                        {"name": name, "description": f"Do {name}.", "inputSchema": self.schema}
                        for name in self.tools
                    ]
                }
            case "tools/call":
                text, is_error = self.tools[params["name"]](params["arguments"]), False
                result = {"content": [{"type": "text", "text": str(text)}], "isError": is_error}
            case method:
                error = {"code": -32601, "message": f"Method '{method}' not found", "data": method}
                return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def methods(self) -> list[str]:
        """What it was sent, in order."""
        return [message["method"] for message in self.messages]


class ToolHost(FrameHost):
    """Answers each request of the command: those for its `servers`, and others by `others`."""

    def __init__(
        self,
        cli: Any,
        servers: dict[str, HostedTools],
        *flags: str,
        others: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda request: None,
        named: bool = True,
    ) -> None:
        self.servers = servers
        self.requests: list[dict[str, Any]] = []
        self._others = others
        given = {name: {"type": "sdk", "name": name} for name in servers}
        config = ("--mcp-config", json.dumps({"mcpServers": given})) if named else ()
        super().__init__(cli, *config, *flags)

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The frames up to the next one of a type; what is asked meanwhile is answered."""
        frames: list[dict[str, Any]] = []
        while True:
            frames += super().until_any((kind, "control_request"))
            if frames[-1]["type"] == kind:
                return frames
            self.respond(frames.pop())

    def respond(self, frame: dict[str, Any]) -> None:
        """Answer a request of the command, or leave it without an answer."""
        request = frame["request"]
        self.requests.append(request)
        answer = self._others(request)
        if answer is None and request["subtype"] == "mcp_message":
            server = self.servers.get(request["server_name"])
            message = request["message"]
            if server is None:
                error = {"code": -32601, "message": f"Server '{request['server_name']}' not found"}
                response = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
            else:
                response = server.answer(message)
            answer = {"subtype": "success", "response": {"mcp_response": response}}
        if answer is not None:
            self.say({"type": "control_response", "response": {"request_id": frame["request_id"], **answer}})
