"""The request `initialize` of a host: the MCP servers that live in it, known before anybody has asked them.

Of all that hosts of the Agent SDK may say there, this is what is served; what else is asked for is refused by
its name, for a host takes a success as the word that all of it holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban.compose.app import App
from caliban.errors import CommandRefused
from caliban.faces.hosted import HostedServers
from caliban.faces.hostservers import HostServers
from caliban.faces.manifests import Parking, ServerManifest, read_manifest
from caliban_common.text import one_line

NAMES: Final = "sdkMcpServers"
MANIFESTS: Final = "sdkMcpServerManifests"
SERVERS: Final = "mcpServers"
_NOTHING: Final[tuple[object, ...]] = (None, False, "", [], {}, [""])


class HostStart:
    """Serves `initialize` in the run of `app`."""

    def __init__(self, app: App, servers: HostServers, hosted: HostedServers) -> None:
        self._app = app
        self._servers = servers
        self._hosted = hosted

    async def initialize(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Bring the servers that it names, each with what the host says of it. Raises `CommandRefused`."""
        given = {name: value for name, value in body.items() if name != "subtype" and value not in _NOTHING}
        strange = sorted(given.keys() - {NAMES, MANIFESTS, SERVERS})
        if strange:
            shown = one_line(", ".join(strange), max_chars=300)
            raise CommandRefused(f"initialize: {shown} is not part of this version")
        wanted, manifests = _wanted(given), _manifests(given)
        parking = {name: self._park(name, one) for name, one in manifests.items()}
        errors: dict[str, str] = {}
        if wanted:
            there = {name for name in wanted if self._is_hosted(name)}
            brought = await self._servers.set_servers({"servers": wanted})
            errors = {name: why for name, why in brought["errors"].items() if name not in there}
        for name, state in parking.items():
            if state in ("parked", "already_connected") and not self._is_hosted(name):
                parking[name] = "not_honoured"
                self._hosted(name).forget()
        return {
            "commands": [],
            "agents": [],
            "models": [],
            "account": {},
            **({"mcp_servers_applied": not errors} if SERVERS in given else {}),
            **({"sdk_mcp_manifests_parked": parking} if manifests else {}),
            **({"errors": errors} if errors else {}),
        }

    def _park(self, name: str, raw: object) -> Parking:
        manifest = read_manifest(raw)
        if not isinstance(manifest, ServerManifest):
            return manifest
        return "parked" if self._hosted(name).park(manifest) else "already_connected"

    def _is_hosted(self, name: str) -> bool:
        """Whether a server of the run has this name and lives in the host."""
        run = self._app.servers
        server = None if run is None else run.fleet.find(name)
        return server is not None and server.config.kind == "sdk"


def _wanted(given: Mapping[str, Any]) -> dict[str, Any]:
    names, servers = given.get(NAMES, []), given.get(SERVERS, {})
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise CommandRefused(f"{NAMES} is no list of names")
    if not isinstance(servers, Mapping):
        raise CommandRefused(f"{SERVERS} is no object of servers by their names")
    return {**servers, **{name: {"type": "sdk", "name": name} for name in names}}


def _manifests(given: Mapping[str, Any]) -> Mapping[str, Any]:
    manifests = given.get(MANIFESTS, {})
    if not isinstance(manifests, Mapping):
        raise CommandRefused(f"{MANIFESTS} is no object of manifests by the names of servers")
    return manifests
