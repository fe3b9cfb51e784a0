"""The settings of one MCP server."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import FLAG, SERVERS, TABLE, TEXT, TEXTS, Key

SERVER_KEYS: Final[tuple[Key, ...]] = (
    Key(
        path="mcp_servers.*.type",
        form={"enum": ["stdio", "http", "sse"]},
        guard="server",
        restart=True,
        default="stdio",
        aliases=("transport",),
        doc="How the server is spoken to.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.command",
        form=TEXT,
        guard="server",
        restart=True,
        doc="The program (stdio).",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.args",
        form=TEXTS,
        guard="server",
        restart=True,
        doc="Its arguments.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.env.*",
        form=TEXT,
        guard="server",
        restart=True,
        doc="A variable of its environment.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.cwd",
        form=TEXT,
        guard="server",
        restart=True,
        doc="Its working directory.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.url",
        form=TEXT,
        guard="server",
        restart=True,
        doc="The address (http, sse).",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.headers.*",
        form=TEXT,
        guard="server",
        restart=True,
        doc="A header of every request.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.oauth",
        form={"enum": ["off", "auto", "manual"]},
        guard="server",
        restart=True,
        default="off",
        doc="How to log in.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.oauth_config",
        form=TABLE,
        guard="server",
        restart=True,
        later=SERVERS,
        doc="Manual.",
    ),
    Key(
        path="mcp_servers.*.permissions.allow",
        form=TEXTS,
        merge="join",
        guard="server",
        restart=True,
        doc="Its tools that need no question.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.permissions.deny",
        form=TEXTS,
        merge="join",
        guard="server",
        restart=True,
        doc="Its tools that are refused.",
        later=SERVERS,
    ),
    Key(
        path="mcp_servers.*.disabled",
        form=FLAG,
        guard="server",
        restart=True,
        default=False,
        doc="Keep the entry, do not start the server.",
        later=SERVERS,
    ),
)
