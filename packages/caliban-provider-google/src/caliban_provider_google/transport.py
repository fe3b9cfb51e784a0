"""Where a body goes and with which headers: AI Studio, or a gateway that speaks its API."""

from __future__ import annotations

import re
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from caliban_provider.address import is_address
from caliban_provider.call import Prepared
from caliban_provider.credential import CredentialCache
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.options import checked_key
from caliban_provider.provider import ProviderOptions
from caliban_provider_google.encode import Body
from caliban_provider_google.models import bare_name

DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"

API_VERSION = "v1beta"
"""The version of the API in every path, where the operator does not say."""

_VERSION = re.compile(r"v\d+(?:alpha|beta)?\d*")


class Transport(Protocol):
    """Turns bodies into requests; each cloud has its own over the same bodies."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not show in a message."""
        ...

    @property
    def credentials(self) -> CredentialCache[Any] | None:
        """What `prepare` signs with, where that passes: it is there before `prepare` is called."""
        ...

    def prepare(self, model: str, body: Body) -> Prepared:
        """The request for one reply. Raises `ProviderError` when there is no way to send it."""
        ...

    def prepare_models(self, page: str | None, limit: int) -> Prepared | None:
        """The request for one page of models; `None` where the service has no such list."""
        ...


class ApiTransport:
    """AI Studio: the key goes into `x-goog-api-key`, headers of `options` win.

    `options.extra` may hold `api_version`; a version at the end of the base URL counts more. What is sent is
    not kept by the vendor (`store` is false) unless the request says otherwise.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self._root, version = root_url(options.base_url)
        self._version = version or checked_version(options.extra.get("api_version"))
        self._key = checked_key(options.api_key, vendor="Gemini")
        self._headers = plain_headers(options)
        if self._key:
            self._headers = {"x-goog-api-key": self._key, **self._headers}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key, if there is one."""
        return (self._key,) if self._key else ()

    @property
    def credentials(self) -> None:
        """None that pass: the key is given."""

    def prepare(self, model: str, body: Body) -> Prepared:
        """The request for one reply. Raises `AuthenticationError` when the vendor would get no key."""
        self._check()
        return Prepared(
            method="POST",
            url=f"{self._root}/{self._version}/{model_path(model)}:streamGenerateContent?alt=sse",
            headers=self._headers,
            body=body.join({"store": b"false"}),
        )

    def prepare_models(self, page: str | None, limit: int) -> Prepared:
        """The request for one page of models. Raises `AuthenticationError` like `prepare`."""
        self._check()
        query = urlencode({"pageSize": str(limit), **({"pageToken": page} if page else {})})
        headers = {name: value for name, value in self._headers.items() if name != "content-type"}
        return Prepared(method="GET", url=f"{self._root}/{self._version}/models?{query}", headers=headers)

    def _check(self) -> None:
        if self._root == DEFAULT_BASE_URL and not self._headers.keys() & {"x-goog-api-key", "authorization"}:
            raise AuthenticationError(
                "there is no key for Gemini",
                hint="set GEMINI_API_KEY, or name a key in the settings; keys are made at "
                "https://aistudio.google.com/apikey",
            )


def root_url(base_url: str | None, default: str = DEFAULT_BASE_URL) -> tuple[str, str | None]:
    """`base_url` without the version that it may end in, and that version.

    Raises `InvalidRequest` for what is not an http or https URL.
    """
    url = (base_url or "").strip() or default
    if not is_address(url):
        raise InvalidRequest(
            "the base URL of Gemini is not an http or https URL",
            hint="check GEMINI_BASE_URL or the settings",
        )
    url = url.rstrip("/").removesuffix("/models").rstrip("/")
    head, _, last = url.rpartition("/")
    return (head.rstrip("/"), last) if _VERSION.fullmatch(last) else (url, None)


def checked_version(version: str | None) -> str:
    """`version` or the usual one. Raises `InvalidRequest` for what is none."""
    version = (version or "").strip() or API_VERSION
    if not _VERSION.fullmatch(version):
        raise InvalidRequest(
            f"{version[:40]!r} is not a version of the Gemini API", hint="it looks like v1beta or v1"
        )
    return version


def plain_headers(options: ProviderOptions) -> dict[str, str]:
    """The headers that have nothing to do with who asks, and the operator's."""
    headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
    headers.update({name.lower(): value for name, value in options.headers.items()})
    return headers


def model_path(model: str) -> str:
    """The model as a path: `gemini-x` and `models/gemini-x` are `models/gemini-x`; tuned ones stay."""
    model = model.strip()
    if not model.startswith("tunedModels/"):
        model = f"models/{bare_name(model)}"
    return quote(model)
