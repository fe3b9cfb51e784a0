"""Where a body goes and with which headers: what differs between the vendor, Azure and everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import urlsplit

from caliban_provider.address import is_address
from caliban_provider.call import Prepared
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.options import checked_key
from caliban_provider.provider import ProviderOptions
from caliban_provider_openai.body import Body

DEFAULT_BASE_URL = "https://api.openai.com/v1"

_VENDOR: Final = "api.openai.com"
_ENDINGS = ("/chat/completions", "/responses", "/models")


class Transport(Protocol):
    """Turns bodies into requests."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not show in a message."""
        ...

    def prepare(self, body: Body) -> Prepared:
        """The request for one reply."""
        ...

    def prepare_models(self) -> Prepared:
        """The request for the list of models."""
        ...


class ApiTransport:
    """The vendor's service, or a server that speaks alike, with the key as a bearer token.

    `options.extra` may hold `organization` and `project`, which only the vendor gets. Headers of `options`
    win. Raises `InvalidRequest` for a base URL that is none, `AuthenticationError` for a key that is none,
    or that is missing where the vendor would want one.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self._root = root_url(options.base_url)
        self._key = checked_key(options.api_key)
        vendor = is_vendor(self._root)
        extra = options.extra
        named = (("openai-organization", "organization"), ("openai-project", "project"))
        own = {name: extra[key] for name, key in named if vendor and extra.get(key)}
        if self._key:
            own["authorization"] = f"Bearer {self._key}"
        self._headers = headers_of(options, own)
        if vendor and "authorization" not in self._headers:
            raise AuthenticationError(
                "there is no key for OpenAI",
                hint="set OPENAI_API_KEY (keys are made at https://platform.openai.com/), or set "
                "OPENAI_BASE_URL to a server that needs none",
            )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, if there is one."""
        return (self._key,) if self._key else ()

    def prepare(self, body: Body) -> Prepared:
        """The request for one reply."""
        return Prepared(
            method="POST", url=f"{self._root}/{body.path}", headers=self._headers, body=body.join()
        )

    def prepare_models(self) -> Prepared:
        """The request for the list of models."""
        return Prepared(method="GET", url=f"{self._root}/models", headers=without_content(self._headers))


def root_url(base_url: str | None) -> str:
    """What every path is put behind: `base_url` as it was typed; the vendor's own has its path added.

    The end of a whole address, such as `/chat/completions`, is left out. Raises `InvalidRequest` for what is
    not an http or https URL.
    """
    url = checked_url(base_url or DEFAULT_BASE_URL, variable="OPENAI_BASE_URL")
    for ending in _ENDINGS:
        url = url.removesuffix(ending).rstrip("/")
    return url if urlsplit(url).path or not is_vendor(url) else f"{url}/v1"


def checked_url(url: str, *, variable: str) -> str:
    """`url` without white space and slashes around it; raises `InvalidRequest` naming `variable`."""
    url = url.strip().rstrip("/")
    if not is_address(url) or urlsplit(url).query:
        raise InvalidRequest(
            "the provider's base URL is not an http or https URL", hint=f"check {variable} or the settings"
        )
    return url


def host_of(url: str) -> str:
    """The host of `url`, in lower case."""
    return urlsplit(url).hostname or ""


def is_vendor(url: str) -> bool:
    """Whether `url` is the vendor's own service, in any of its regions."""
    host = host_of(url)
    return host == _VENDOR or host.endswith(f".{_VENDOR}")


def headers_of(options: ProviderOptions, own: Mapping[str, str]) -> dict[str, str]:
    """Ours, `own`, and the operator's headers, which win."""
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        **own,
    }
    headers.update({name.lower(): value for name, value in options.headers.items()})
    return headers


def without_content(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a request without a body."""
    return {name: value for name, value in headers.items() if name != "content-type"}
