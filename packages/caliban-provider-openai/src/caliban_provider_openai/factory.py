"""What the entry point `openai` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import ProviderFactory, ProviderOptions
from caliban_provider.registry import first_set

if TYPE_CHECKING:
    from caliban_provider_openai.provider import OpenAIProvider
    from caliban_provider_openai.quirks import Kind
    from caliban_provider_openai.transport import Transport

BODY_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api": "the interface: responses or chat",
        "base_model": "the model behind a name that says nothing",
        "prompt_cache_key": "what groups requests in the vendor's cache (default: the conversation)",
        "quirks": "what the server does otherwise: stream_options=false, id_chars=64",
    }
)
"""What `ProviderOptions.extra` may hold for every service with these interfaces."""

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **BODY_OPTIONS,
        "organization": "the organization that is billed; only the vendor is told",
        "project": "the project that is billed; only the vendor is told",
        "server_tools": "tools that the vendor runs itself, by the interface responses: web_search",
    }
)
"""What `ProviderOptions.extra` may hold."""


class OpenAIFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; the README lists those in `extra`.

    No key is needed by a server that is not the vendor's, so `needs_key` is false and `create` says when one
    is missing. `environ` stands in for the process's environment: `OPENAI_ORG_ID`, `OPENAI_PROJECT`.
    """

    name: str = "openai"
    default_model: str = "gpt-5.5"
    needs_key: bool = False
    key_env: tuple[str, ...] = ("OPENAI_API_KEY",)
    base_url_env: tuple[str, ...] = ("OPENAI_BASE_URL",)
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> OpenAIProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for a base URL or option that is none, `AuthenticationError` for a key that is
        none or that is missing.
        """
        from caliban_provider.options import LINE, matching, refuse_unknown
        from caliban_provider_openai.transport import ApiTransport, is_vendor, root_url

        refuse_unknown(self, options.extra)
        options = environment(
            options,
            self.environ,
            organization=("OPENAI_ORG_ID",),
            project=("OPENAI_PROJECT", "OPENAI_PROJECT_ID"),
        )
        for option in ("organization", "project"):
            matching(options.extra, option, LINE, what="one line of plain characters")
        vendor = is_vendor(root_url(options.base_url))
        return build(
            options,
            ApiTransport(options),
            name=self.name,
            kind="openai" if vendor else "compatible",
            default_api="responses" if vendor else "chat",
        )


def build(
    options: ProviderOptions,
    transport: Transport,
    *,
    name: str,
    kind: Kind,
    default_api: Literal["responses", "chat"],
) -> OpenAIProvider:
    """The provider over `transport`; `extra["api"]` overrides the interface, `extra["quirks"]` the table.

    Raises `InvalidRequest` for options that are none.
    """
    from caliban_provider.http import HttpClient
    from caliban_provider.options import several_of
    from caliban_provider_openai.provider import OpenAIProvider
    from caliban_provider_openai.quirks import quirks_of
    from caliban_provider_openai.responses.encode import SERVER_TOOLS
    from caliban_provider_openai.service import ChatService, ResponsesService, ServiceFacts
    from caliban_provider_openai.transport import host_of

    api = options.extra.get("api") or default_api
    facts = ServiceFacts(
        name=name,
        cache_key=options.extra.get("prompt_cache_key", ""),
        base_model=options.extra.get("base_model", ""),
        aliased=kind != "openai",
        server_tools=several_of(options.extra, "server_tools", SERVER_TOOLS),
    )
    host = host_of(options.base_url) if options.base_url else ""
    quirks = quirks_of(host, kind, options.extra.get("quirks", ""))
    service: ChatService | ResponsesService
    match api:
        case "responses":
            service = ResponsesService(quirks, facts)
        case "chat" if facts.server_tools:
            raise InvalidRequest(
                f"the interface chat has no {facts.server_tools[0]} of the server's own",
                hint='leave out the option `server_tools`, or set the option `api` to "responses" where the '
                "server has that",
            )
        case "chat":
            service = ChatService(quirks, facts)
        case _:
            raise InvalidRequest(
                f"the provider {name} has no interface called {api[:60]!r}",
                hint='the option `api` is "responses" or "chat"',
            )
    http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
    return OpenAIProvider(
        service,
        transport,
        http,
        first_byte_s=options.first_byte_s,
        idle_s=options.idle_s,
        silent_overflow=quirks.silent_overflow,
    )


def environment(
    options: ProviderOptions, environ: Mapping[str, str] | None, **variables: tuple[str, ...]
) -> ProviderOptions:
    """`options` with what `extra` leaves out taken from the first of its variables that is set."""
    extra = dict(options.extra)
    for key, names in variables.items():
        value = variable(environ, *names)
        if value is not None:
            extra.setdefault(key, value)
    return replace(options, extra=extra)


def variable(environ: Mapping[str, str] | None, *names: str) -> str | None:
    """The first of the variables `names` that is set, in `environ` or else in the process's environment."""
    return first_set(os.environ if environ is None else environ, names)


FACTORY: ProviderFactory = OpenAIFactory()
"""The entry point `openai`."""
