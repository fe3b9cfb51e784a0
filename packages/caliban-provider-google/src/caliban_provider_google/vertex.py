"""Vertex: the same bodies under a project and a location, with an access token."""

from __future__ import annotations

from urllib.parse import quote

from caliban_provider.call import Prepared
from caliban_provider.credential import CredentialCache
from caliban_provider.errors import InvalidRequest
from caliban_provider.google_auth import GoogleToken, TokenSource
from caliban_provider.provider import ProviderOptions
from caliban_provider_google.encode import Body
from caliban_provider_google.models import bare_name
from caliban_provider_google.transport import plain_headers, root_url

API_VERSION = "v1"
"""The version of the API in every path, where the operator does not say."""

DEFAULT_LOCATION = "global"


class GeminiVertexTransport:
    """Gemini in `project` at `location`; a model may also be given by its whole path (`projects/…`)."""

    def __init__(
        self,
        options: ProviderOptions,
        tokens: TokenSource,
        *,
        project: str,
        location: str = DEFAULT_LOCATION,
    ) -> None:
        if not project.strip() or not location.strip():
            raise InvalidRequest(
                "Vertex needs a project and a location",
                hint="set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION",
            )
        place = quote(location.strip(), safe="")
        host = "aiplatform.googleapis.com"
        default = f"https://{host}" if place == DEFAULT_LOCATION else f"https://{place}-{host}"
        self._root, version = root_url(options.base_url, default)
        self._version = version or API_VERSION
        self._parent = f"projects/{quote(project.strip(), safe='')}/locations/{place}"
        self._headers = plain_headers(options)
        self._tokens: CredentialCache[GoogleToken] = CredentialCache(tokens.fetch)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, if there is one."""
        token = self._tokens.value
        return (token.value,) if token else ()

    @property
    def credentials(self) -> CredentialCache[GoogleToken]:
        """The token."""
        return self._tokens

    def prepare(self, model: str, body: Body) -> Prepared:
        """The request for one reply, with the token at hand."""
        token = self._tokens.value or GoogleToken(value="")
        if model.startswith("projects/"):
            path = quote(model)
        else:
            path = f"{self._parent}/publishers/google/models/{quote(bare_name(model), safe='')}"
        return Prepared(
            method="POST",
            url=f"{self._root}/{self._version}/{path}:streamGenerateContent?alt=sse",
            headers={"authorization": f"Bearer {token.value}", **self._headers},
            body=body.join(),
        )

    def prepare_models(self, page: str | None, limit: int) -> None:
        """Vertex lists what anybody deployed, and not what can be asked."""
