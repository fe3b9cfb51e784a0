"""MCP servers in an agent: connected side by side, their tools named, remembered, pinned and offered."""

from caliban_mcp.cache import CachedServer, ListCache
from caliban_mcp.config import ServerConfig
from caliban_mcp.connect import Connector
from caliban_mcp.errors import PinsUnusable, ServerMisconfigured, ServerMissing, ServersError
from caliban_mcp.fleet import ServerFleet
from caliban_mcp.names import full_name, name_problem, tool_names
from caliban_mcp.parts import ServerParts
from caliban_mcp.pins import PinStore, ServerPins
from caliban_mcp.server import RunServer
from caliban_mcp.status import ServerNews, ServerStatus
from caliban_mcp.tool import ServerTool
from caliban_mcp.variables import expanded

__all__ = [
    "CachedServer",
    "Connector",
    "ListCache",
    "PinStore",
    "PinsUnusable",
    "RunServer",
    "ServerConfig",
    "ServerFleet",
    "ServerMisconfigured",
    "ServerMissing",
    "ServerNews",
    "ServerParts",
    "ServerPins",
    "ServerStatus",
    "ServerTool",
    "ServersError",
    "expanded",
    "full_name",
    "name_problem",
    "tool_names",
]
