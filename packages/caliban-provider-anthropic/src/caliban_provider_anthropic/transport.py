"""Where a body goes and with which headers: what differs between Anthropic and the clouds on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlencode

from caliban_provider.address import is_address
from caliban_provider.call import Prepared
from caliban_provider.classify import error_for
from caliban_provider.credential import CredentialCache
from caliban_provider.errors import AuthenticationError, BadResponse, InvalidRequest, ProviderError
from caliban_provider.options import checked_key, several_of
from caliban_provider.provider import ProviderOptions
from caliban_provider.reader import RecordSplitter
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider_anthropic.encode import SERVER_TOOLS, Body
from caliban_provider_anthropic.narrow import Limits

DEFAULT_BASE_URL = "https://api.anthropic.com"

API_VERSION = "2023-06-01"
"""What is sent as `anthropic-version`: the newer one refuses sampling on models that still take it."""

_OAUTH_PREFIX = "sk-ant-oat"
_ENDINGS = ("/messages", "/v1")


class Transport(Protocol):
    """Turns bodies into requests; a cloud has another one over the same bodies."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not show in a message."""
        ...

    @property
    def credentials(self) -> CredentialCache[Any] | None:
        """What `prepare` signs with, where that passes: it is there before `prepare` is called."""
        ...

    @property
    def limits(self) -> Limits:
        """What the service takes less of than the vendor."""
        ...

    def framing(self) -> RecordSplitter[SSEEvent]:
        """What cuts the answer to one request into events."""
        ...

    def error(self, status: int, headers: Mapping[str, str], body: bytes, *, provider: str) -> ProviderError:
        """The error that an answer of `status` means; `headers` have lower-case names."""
        ...

    def prepare(self, body: Body) -> Prepared:
        """The request for one reply. Raises `ProviderError` when there is no way to send it."""
        ...

    def prepare_models(self, after_id: str | None, limit: int) -> Prepared | None:
        """The request for one page of models; `None` where the service has no such list."""
        ...

    def read_models(self, page: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
        """The models of a page as the API writes them, and what the next page comes after; empty: nothing.

        Raises `BadResponse` for what is no such page.
        """
        ...


class ApiTransport:
    """The Messages API itself, or a gateway that speaks it.

    `options.extra` may hold `anthropic_version`, `anthropic_beta` (a comma list) and `auth` (`x-api-key` or
    `bearer`). Without `auth` the key goes into `x-api-key`, and for a gateway into `authorization` as well,
    since gateways differ; an OAuth token goes into `authorization` only. Headers of `options` win.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self._root = root_url(options.base_url)
        self._key = checked_key(options.api_key, vendor="Anthropic")
        self.limits: Limits = Limits(
            cache_ttl=options.extra.get("cache_ttl", ""),
            server_tools=several_of(options.extra, "server_tools", tuple(SERVER_TOOLS)),
        )
        self._headers = _headers(options, self._key, is_vendor=self._root == DEFAULT_BASE_URL)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, if there is one."""
        return (self._key,) if self._key else ()

    @property
    def credentials(self) -> None:
        """None that pass: the key is given."""

    def framing(self) -> RecordSplitter[SSEEvent]:
        """Server-sent events."""
        return SSEDecoder()

    def error(self, status: int, headers: Mapping[str, str], body: bytes, *, provider: str) -> ProviderError:
        """The error that the vendor's answer means."""
        return error_for(status, headers, body, provider=provider, secrets=self.secrets)

    def prepare(self, body: Body) -> Prepared:
        """The request for one reply. Raises `AuthenticationError` when the vendor would get no key."""
        self._check()
        return Prepared(
            method="POST", url=f"{self._root}/v1/messages", headers=self._headers, body=body.join()
        )

    def prepare_models(self, after_id: str | None, limit: int) -> Prepared:
        """The request for one page of models. Raises `AuthenticationError` like `prepare`."""
        self._check()
        query = {"limit": str(limit), **({"after_id": after_id} if after_id else {})}
        headers = {name: value for name, value in self._headers.items() if name != "content-type"}
        return Prepared(method="GET", url=f"{self._root}/v1/models?{urlencode(query)}", headers=headers)

    def read_models(self, page: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
        """The models of a page as they are."""
        items = page.get("data")
        if not isinstance(items, list):
            raise BadResponse("the list of models has no 'data'", hint="check the base URL")
        last = page.get("last_id")
        return items, last if page.get("has_more") is True and isinstance(last, str) else ""

    def _check(self) -> None:
        if self._root == DEFAULT_BASE_URL and not self._headers.keys() & {"x-api-key", "authorization"}:
            raise AuthenticationError(
                "there is no key for Anthropic",
                hint="set ANTHROPIC_API_KEY, or name a key in the settings; keys are made at "
                "https://platform.claude.com/",
            )


def root_url(base_url: str | None) -> str:
    """`base_url` without what every path begins with, so that `/v1` and slashes at its end do not matter.

    Raises `InvalidRequest` for what is not an http or https URL.
    """
    url = (base_url or "").strip() or DEFAULT_BASE_URL
    if not is_address(url):
        raise InvalidRequest(
            "the base URL of Anthropic is not an http or https URL",
            hint="write it in full, such as https://host/path, where it is given: in a flag, the settings "
            "or ANTHROPIC_BASE_URL",
        )
    url = url.rstrip("/")
    for ending in _ENDINGS:
        url = url.removesuffix(ending).rstrip("/")
    return url


def _headers(options: ProviderOptions, key: str | None, *, is_vendor: bool) -> dict[str, str]:
    extra = options.extra
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "anthropic-version": extra.get("anthropic_version", API_VERSION),
    }
    if extra.get("anthropic_beta"):
        headers["anthropic-beta"] = extra["anthropic_beta"]
    if key:
        auth = extra.get("auth", "")
        bearer = auth == "bearer" or key.startswith(_OAUTH_PREFIX)
        if not bearer:
            headers["x-api-key"] = key
        if bearer or (not is_vendor and not auth):
            headers["authorization"] = f"Bearer {key}"
    headers.update({name.lower(): value for name, value in options.headers.items()})
    return headers
