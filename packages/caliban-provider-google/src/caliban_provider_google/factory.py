"""What the entry point `google` names: facts that cost nothing, and the door to the provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.errors import InvalidRequest
from caliban_provider.provider import ProviderFactory, ProviderOptions

if TYPE_CHECKING:
    from caliban_provider.http import HttpClient
    from caliban_provider_google.provider import GoogleProvider
    from caliban_provider_google.transport import Transport

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "api_version": "the version of AI Studio's API (v1beta)",
        "location": "the location on Vertex (global)",
        "server_tools": "tools that the vendor runs itself: web_search",
        "project": "the id of a Google Cloud project: Gemini is asked on Vertex then",
    }
)
"""What `ProviderOptions.extra` may hold."""

_STUDIO_KEY = "AIza"
_TOKEN_ENV = "GOOGLE_CLOUD_ACCESS_TOKEN"
_PACKAGE = "caliban-provider-google[vertex]"
_LOCATION = r"[a-z][a-z0-9-]{0,39}"
_PROJECT = r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,99}"


class GoogleFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options.

    Vertex is meant where `options.extra` has a `project`, or where GOOGLE_GENAI_USE_VERTEXAI is true and
    GOOGLE_CLOUD_PROJECT set; `location` and GOOGLE_CLOUD_LOCATION say where (`global`). A key is an access
    token then, and without one application default credentials serve. Elsewhere `api_version` and
    GEMINI_API_VERSION say which version of the API. `environ` stands for the process's environment, `project`
    for an option `project` that is known before there are options.
    """

    name: str = "google"
    default_model: str = "gemini-3.8-flash"
    base_url_env: tuple[str, ...] = ("GEMINI_BASE_URL",)
    environ: Mapping[str, str] | None = None
    project: str = ""

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def under(self, extra: Mapping[str, str]) -> GoogleFactory:
        """The factory whose facts are those of the service that `extra` means."""
        return replace(self, project=extra.get("project", "").strip() or self.project)

    @property
    def needs_key(self) -> bool:
        """Whether AI Studio is meant: Vertex has other ways to prove who asks."""
        return not self._project({})

    @property
    def key_env(self) -> tuple[str, ...]:
        """Where a key is looked for; the keys of AI Studio are none for Vertex."""
        if self._project({}):
            return (_TOKEN_ENV,)
        return ("GEMINI_API_KEY", "GOOGLE_GEMINI_API_KEY", "GOOGLE_API_KEY")

    def create(self, options: ProviderOptions) -> GoogleProvider:
        """Make the provider; opens no connection.

        Raises `InvalidRequest` for a base URL or an option, `AuthenticationError` for a key that is none.
        """
        from caliban_provider.http import HttpClient
        from caliban_provider.options import refuse_unknown, several_of
        from caliban_provider_google.encode import SERVER_TOOLS
        from caliban_provider_google.provider import GoogleProvider

        refuse_unknown(self, options.extra)
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return GoogleProvider(
            self._transport(options, http),
            http,
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
            server_tools=several_of(options.extra, "server_tools", tuple(SERVER_TOOLS)),
        )

    def _transport(self, options: ProviderOptions, http: HttpClient) -> Transport:
        from caliban_provider.google_auth import DefaultTokens, GivenToken
        from caliban_provider.options import checked_key, matching
        from caliban_provider_google.transport import ApiTransport
        from caliban_provider_google.vertex import DEFAULT_LOCATION, GeminiVertexTransport

        project = self._project(options.extra)
        if project and options.extra.get("server_tools"):
            raise InvalidRequest(
                "Vertex has no web_search of its own beside other tools",
                hint="leave out the option server_tools, or ask AI Studio: without a project",
            )
        if not project and options.extra.get("location"):
            raise InvalidRequest(
                "the option location is for Vertex, which needs a project",
                hint="give the option project too",
            )
        if not project:
            version = options.extra.get("api_version") or self._env("GEMINI_API_VERSION")
            return ApiTransport(replace(options, extra={**options.extra, "api_version": version}))
        key = checked_key(options.api_key, vendor="Gemini")
        location = options.extra.get("location") or self._env("GOOGLE_CLOUD_LOCATION") or DEFAULT_LOCATION
        place = {"project": project, "location": location}
        matching(place, "project", _PROJECT, what="a project's id on Google Cloud")
        matching(place, "location", _LOCATION, what="a location such as europe-west1 or global")
        given = key is not None and not key.startswith(_STUDIO_KEY)  # a key of AI Studio opens nothing here
        tokens = (
            GivenToken(key or "") if given else DefaultTokens(http, package=_PACKAGE, variable=_TOKEN_ENV)
        )
        return GeminiVertexTransport(options, tokens, project=project, location=location)

    def _project(self, extra: Mapping[str, str]) -> str:
        """The project on Vertex; empty where AI Studio is meant."""
        named = extra.get("project", "").strip() or self.project
        if named:
            return named
        wanted = self._env("GOOGLE_GENAI_USE_VERTEXAI").strip().lower() in ("1", "true", "yes", "on")
        return self._env("GOOGLE_CLOUD_PROJECT") if wanted else ""

    def _env(self, name: str) -> str:
        return (os.environ if self.environ is None else self.environ).get(name, "")


FACTORY: ProviderFactory = GoogleFactory()
"""The entry point."""
