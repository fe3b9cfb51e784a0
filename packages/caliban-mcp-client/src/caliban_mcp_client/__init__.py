"""A client of the Model Context Protocol: both eras of it, over programs and over HTTP."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from caliban_mcp_client.authorization import Authorization, StaticAuthorization, bearer
    from caliban_mcp_client.content import CallResult
    from caliban_mcp_client.handler import DecliningHandler, ElicitResult
    from caliban_mcp_client.ports import ClientHandler

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

_LATER = {
    "Authorization": "authorization",
    "CallResult": "content",
    "ClientHandler": "ports",
    "DecliningHandler": "handler",
    "ElicitResult": "handler",
    "StaticAuthorization": "authorization",
    "bearer": "authorization",
}
"""What connecting to a program does not need, and where it is: loaded for whoever asks for it."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
