"""How tools reach the network, and who searches it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban.compose.access import web_hosts_of
from caliban.compose.host import Host
from caliban_common.text import one_line
from caliban_provider.egress import EgressGuard
from caliban_provider.http import HttpClient
from caliban_settings import Settings
from caliban_tools_builtin.errors import WebFailed
from caliban_tools_builtin.web.ports import SearchService

CONNECT_S: Final = 10.0
READ_S: Final = 60.0
CHOICE: Final = "CALIBAN_WEBSEARCH_PROVIDER"
SERVICES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "brave": "https://api.search.brave.com",
        "tavily": "https://api.tavily.com",
        "exa": "https://api.exa.ai",
    }
)
"""The services of the guide, the default first -> where they are, unless NAME_BASE_URL says otherwise."""


def page_client(settings: Settings) -> HttpClient:
    """A client for pages that a model names: public hosts, and those that a person has listed."""
    guard = EgressGuard(listed=web_hosts_of(settings))
    return HttpClient(connect_s=CONNECT_S, read_s=READ_S, guard=guard)


def search_service(host: Host) -> SearchService:
    """Who is asked for searches: the one that is chosen, else the first with a key.

    Raises `WebFailed` for a choice that there is not.
    """
    environ = host.environ
    chosen = environ.get(CHOICE, "").strip().lower()
    if chosen and chosen not in SERVICES:
        given = one_line(chosen, max_chars=40)
        raise WebFailed(f"{CHOICE} names {given!r}, which is none of {', '.join(SERVICES)}")
    keyed = (name for name in SERVICES if environ.get(_key_variable(name)))
    name = chosen or next(keyed, next(iter(SERVICES)))
    key = environ.get(_key_variable(name), "").strip()
    if key:
        host.masker.add(key)
    return SearchService(
        name=name,
        base_url=(environ.get(f"{name.upper()}_BASE_URL") or SERVICES[name]).rstrip("/"),
        key=key,
        advice=_advice(name),
        client=lambda: HttpClient(connect_s=CONNECT_S, read_s=READ_S),
    )


def _key_variable(name: str) -> str:
    return f"{name.upper()}_API_KEY"


def _advice(name: str) -> str:
    others = ", ".join(_key_variable(other) for other in SERVICES if other != name)
    return (
        f"the user can set {_key_variable(name)}, or one of {others}; until then, fetch pages that you know"
    )
