"""A client of the Model Context Protocol: both eras of it, over programs and over HTTP."""

from caliban_mcp_client.client import McpClient
from caliban_mcp_client.errors import CallError, ConnectError, McpError, ProtocolError, ServerGone
from caliban_mcp_client.parts import ClientParts
from caliban_mcp_client.target import (
    HostedTarget,
    HttpTarget,
    ServerOptions,
    StdioTarget,
    Target,
    Verdict,
    WebSocketTarget,
)
from caliban_mcp_client.values import Change, McpTool, ServerInfo

__all__ = [
    "CallError",
    "Change",
    "ClientParts",
    "ConnectError",
    "HostedTarget",
    "HttpTarget",
    "McpClient",
    "McpError",
    "McpTool",
    "ProtocolError",
    "ServerGone",
    "ServerInfo",
    "ServerOptions",
    "StdioTarget",
    "Target",
    "Verdict",
    "WebSocketTarget",
]
