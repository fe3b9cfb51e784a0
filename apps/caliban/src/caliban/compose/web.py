"""How tools reach the network."""

from __future__ import annotations

from caliban_provider.egress import EgressGuard
from caliban_provider.http import HttpClient
from caliban_settings import Settings

CONNECT_S = 10.0
READ_S = 60.0


def page_client(settings: Settings) -> HttpClient:
    """A client for pages that a model names: public hosts, and those that a person has listed."""
    listed = frozenset(host.lower() for host in settings.get("web_fetch_hosts") or ())
    return HttpClient(connect_s=CONNECT_S, read_s=READ_S, guard=EgressGuard(listed=listed))
