"""What servers are and offer at their start, as values; every schema and `raw` entry stays as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from caliban_mcp_client.target import Era

Json: TypeAlias = Mapping[str, Any]
"""An object of JSON, which nobody changes."""


class ServerInfo(Struct, frozen=True, kw_only=True):
    """Whom we speak with, by its own word: nothing of it may name the server to a model or to rules."""

    era: Era
    protocol_version: str
    capabilities: Json
    instructions: str = ""
    name: str = ""
    title: str = ""
    version: str = ""

    def offers(self, *path: str) -> bool:
        """Whether it declares a capability, such as `("tools",)` or `("tools", "listChanged")`."""
        at: Any = self.capabilities
        for step in path:
            at = at.get(step) if isinstance(at, Mapping) else None
        return at is not None and at is not False


class ToolAnnotations(Struct, frozen=True, kw_only=True):
    """What a server claims of a tool; `None` where it says nothing. Claims may only tighten rules."""

    title: str = ""
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


class McpTool(Struct, frozen=True, kw_only=True):
    """A tool. `raw` is the entry of the list as it came: what digests are made of."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: Json
    output_schema: Json | None = None
    annotations: ToolAnnotations = ToolAnnotations()
    meta: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict)


class CallUpdate(Struct, frozen=True, kw_only=True):
    """How far a call has come, by the server's word."""

    progress: float
    total: float | None = None
    message: str = ""


class ToolsChanged(Struct, frozen=True, kw_only=True):
    """The list of tools is another: list it again, whole."""


class PromptsChanged(Struct, frozen=True, kw_only=True):
    """The list of prompts is another."""


class ResourcesChanged(Struct, frozen=True, kw_only=True):
    """The list of resources is another."""


class ResourceUpdated(Struct, frozen=True, kw_only=True):
    """What one resource holds has changed."""

    uri: str


class ServerRestarted(Struct, frozen=True, kw_only=True):
    """The server was started again, or its session was begun anew: every list may be another."""


class ServerLost(Struct, frozen=True, kw_only=True):
    """The server has ended and is not started again; every later call raises `ServerGone`."""

    reason: str


Change: TypeAlias = (
    ToolsChanged | PromptsChanged | ResourcesChanged | ResourceUpdated | ServerRestarted | ServerLost
)
