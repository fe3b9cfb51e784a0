"""Where a server is, and how it is spoken to: what a person has configured, every variable expanded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

LATEST: Final = "2026-07-28"
"""The newest version that is spoken: the modern era, in which nothing is kept between requests."""

LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions that begin with `initialize`, the newest first."""

Era: TypeAlias = Literal["modern", "legacy"]
ProtocolChoice: TypeAlias = Literal["auto", "legacy", "2026-07-28"]
HttpKind: TypeAlias = Literal["auto", "http", "sse"]
MIB: Final = 1024 * 1024


class StdioTarget(Struct, frozen=True, kw_only=True):
    """A program that is started and talked with.

    `env` is added to the few variables of ours that programs get (`caliban_process.environ`), `host_env` is
    where those are taken from. `command` is found by `PATH` of the result.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    host_env: Mapping[str, str] = field(default_factory=dict)


class HttpTarget(Struct, frozen=True, kw_only=True):
    """An address: Streamable HTTP, the older one with two addresses (`sse`), or whichever answers."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: HttpKind = "auto"


class WebSocketTarget(Struct, frozen=True, kw_only=True):
    """An address of a kind that no version of the protocol has: it is refused by name."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


class HostedTarget(Struct, frozen=True, kw_only=True):
    """A server of that `name` which lives in the program that has started us."""

    name: str


Target: TypeAlias = StdioTarget | HttpTarget | WebSocketTarget | HostedTarget


class ServerOptions(Struct, frozen=True, kw_only=True):
    """How one server is spoken to.

    `start_timeout_s` ends with the handshake, `probe_timeout_s` is how long a program may be silent when it
    is asked for the modern era. A call may be silent for `call_timeout_s`, each progress renews that, and
    `call_limit_s` ends it; `list_timeout_s` is for one page. Of a list at most `max_pages` and
    `max_entries` are read. A message may have `max_message_bytes`; twice that ends the conversation.

    What is offered to the server: `elicitation` in these forms, `roots` and `sampling` only where they are
    said. `log_level` asks a server for its log from that level on. `trusts_hints`: a person vouches for the
    server, so that calls of tools that say they are idempotent are repeated where a connection was lost.
    `extensions` are those of the protocol that we speak with it, by their identifiers.
    """

    protocol: ProtocolChoice = "auto"
    start_timeout_s: float = 60.0
    probe_timeout_s: float = 10.0
    call_timeout_s: float = 300.0
    call_limit_s: float = 3600.0
    list_timeout_s: float = 30.0
    close_grace_s: float = 0.5
    max_pages: int = 64
    max_entries: int = 2000
    max_message_bytes: int = 32 * MIB
    max_restarts_per_minute: int = 3
    elicitation: tuple[Literal["form", "url"], ...] = ("form", "url")
    roots: bool = False
    sampling: bool = False
    extensions: tuple[str, ...] = ()
    log_level: str | None = None
    trusts_hints: bool = False
    client_name: str = "caliban"
    client_version: str = "0.1.0"


class Verdict(Struct, frozen=True, kw_only=True):
    """Which era a server speaks, at which version: to be remembered, so that the next start need not ask.

    A legacy verdict should be forgotten after seven days: a server that was brought up to date answers
    `initialize` still. For an address, `kind` says which of the two ways over HTTP it has.
    """

    era: Era
    protocol_version: str
    kind: HttpKind = "auto"
