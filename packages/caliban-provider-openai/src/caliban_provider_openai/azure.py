"""Azure OpenAI: the vendor's models in a customer's own resource, behind other addresses and another header.

There are two surfaces. `v1` takes the vendor's own paths and speaks Responses; a dated version names the
deployment in the path and speaks Chat Completions everywhere, Responses only when it is new enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.call import Prepared
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.options import VERSION, checked_key, matching, one_of, refuse_unknown
from caliban_provider.provider import Provider, ProviderFactory, ProviderOptions
from caliban_provider_openai.body import Body
from caliban_provider_openai.factory import BODY_OPTIONS, build, environment, variable
from caliban_provider_openai.transport import checked_url, headers_of, without_content

DEFAULT_API_VERSION = "2024-10-21"
"""What is asked for when nobody says."""

OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **BODY_OPTIONS,
        "api_version": f"the API's version: a date ({DEFAULT_API_VERSION}), or v1",
        "auth": "how the key is sent: api-key, or bearer for a token of Entra",
        "resource": "the resource's name, where no base URL is given",
    }
)
"""What `ProviderOptions.extra` may hold."""

_UNDATED: Final = frozenset({"v1", "preview", "latest"})


class AzureTransport:
    """One resource, by `base_url` or by `extra["resource"]`.

    `extra["api_version"]` is a date, or `v1` for the surface without one, which a base URL that ends in
    `/openai/v1` means as well. The key goes into `api-key`; with `extra["auth"] = "bearer"` it is an Entra
    token. `dated` tells the two surfaces apart.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self._key = checked_key(options.api_key)
        self._headers = _headers(options, self._key)
        root = _resource_url(options.base_url, options.extra.get("resource", ""))
        version = matching(options.extra, "api_version", VERSION, what="a version such as 2024-10-21 or v1")
        version = version or ("" if root.endswith("/v1") else DEFAULT_API_VERSION)
        self.dated: bool = bool(version) and version not in _UNDATED
        root = root.removesuffix("/openai/v1").removesuffix("/openai")
        self._root = f"{root}/openai" if self.dated else f"{root}/openai/v1"
        self._query = f"?api-version={quote(version, safe='')}" if version and version != "v1" else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, if there is one."""
        return (self._key,) if self._key else ()

    def prepare(self, body: Body) -> Prepared:
        """The request for one reply; the model is the deployment's name."""
        path: str = body.path
        if self.dated and body.path == "chat/completions":
            path = f"deployments/{quote(body.model, safe='')}/{body.path}"
        url = f"{self._root}/{path}{self._query}"
        return Prepared(method="POST", url=url, headers=self._headers, body=body.join())

    def prepare_models(self) -> Prepared:
        """The request for the list of models that the resource may deploy."""
        url = f"{self._root}/models{self._query}"
        return Prepared(method="GET", url=url, headers=without_content(self._headers))


class AzureFactory(Struct, frozen=True, kw_only=True):
    """Makes the provider from an operator's options; see `AzureTransport` for those in `extra`.

    `environ` stands in for the process's environment: `AZURE_OPENAI_RESOURCE`, `AZURE_OPENAI_API_VERSION`,
    and `AZURE_OPENAI_AD_TOKEN`, a token of Entra that serves where there is no key.
    """

    name: str = "azure"
    default_model: str = "gpt-5.5"
    needs_key: bool = False
    key_env: tuple[str, ...] = ("AZURE_OPENAI_API_KEY",)
    base_url_env: tuple[str, ...] = ("AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT")
    environ: Mapping[str, str] | None = None

    @property
    def options(self) -> Mapping[str, str]:
        """What `extra` may hold."""
        return OPTIONS

    def create(self, options: ProviderOptions) -> Provider:
        """Make the provider; opens no connection.

        Raises `AuthenticationError` without a key, `InvalidRequest` without a resource or for an option that
        is none.
        """
        refuse_unknown(self, options.extra)
        token = variable(self.environ, "AZURE_OPENAI_AD_TOKEN")
        if token and not options.api_key:
            options = replace(options, api_key=token, extra={**options.extra, "auth": "bearer"})
        options = environment(
            options,
            self.environ,
            resource=("AZURE_OPENAI_RESOURCE",),
            api_version=("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"),
        )
        transport = AzureTransport(options)
        return build(
            options,
            transport,
            name=self.name,
            kind="azure",
            default_api="chat" if transport.dated else "responses",
        )


def _headers(options: ProviderOptions, key: str | None) -> dict[str, str]:
    bearer = one_of(options.extra, "auth", ("api-key", "bearer")) == "bearer"
    own = {"authorization": f"Bearer {key}"} if bearer else {"api-key": key or ""}
    headers = headers_of(options, own if key else {})
    if not headers.keys() & {"api-key", "authorization"}:
        raise AuthenticationError(
            "there is no key for Azure OpenAI",
            hint="set AZURE_OPENAI_API_KEY: the resource's page in the Azure portal shows its keys",
        )
    return headers


def _resource_url(base_url: str | None, resource: str) -> str:
    if base_url:
        url = checked_url(base_url, variable="AZURE_OPENAI_BASE_URL")
        return url.removesuffix("/responses").removesuffix("/chat/completions")
    resource = resource.strip()
    if not resource or not resource.replace("-", "").isalnum() or not resource.isascii():
        raise InvalidRequest(
            "no Azure resource is named" if not resource else "the Azure resource is no name",
            hint="set AZURE_OPENAI_RESOURCE to its name, or AZURE_OPENAI_BASE_URL to its address",
        )
    return f"https://{resource}.openai.azure.com"


FACTORY: ProviderFactory = AzureFactory()
"""The entry point `azure`."""
