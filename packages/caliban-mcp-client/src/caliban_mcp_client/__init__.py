"""A client of the Model Context Protocol: both eras of it, over programs and over HTTP."""

from caliban_mcp_client.authorization import Authorization, StaticAuthorization, bearer
from caliban_mcp_client.client import McpClient
from caliban_mcp_client.errors import CallError, ConnectError, McpError, ProtocolError, ServerGone
from caliban_mcp_client.handler import ClientHandler, DecliningHandler, ElicitResult
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
from caliban_mcp_client.values import CallResult, Change, McpTool, ServerInfo

__all__ = [
    "Authorization",
    "CallError",
    "CallResult",
    "Change",
    "ClientHandler",
    "ClientParts",
    "ConnectError",
    "DecliningHandler",
    "ElicitResult",
    "HostedTarget",
    "HttpTarget",
    "McpClient",
    "McpError",
    "McpTool",
    "ProtocolError",
    "ServerGone",
    "ServerInfo",
    "ServerOptions",
    "StaticAuthorization",
    "StdioTarget",
    "Target",
    "Verdict",
    "WebSocketTarget",
    "bearer",
]
