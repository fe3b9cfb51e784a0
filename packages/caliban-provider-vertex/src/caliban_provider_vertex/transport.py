"""Vertex as a transport of the Anthropic provider."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from caliban_common.codec import dumps
from caliban_provider.call import Prepared
from caliban_provider.classify import error_for
from caliban_provider.credential import CredentialCache
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    ProviderError,
)
from caliban_provider.google_auth import GoogleToken, TokenSource
from caliban_provider.reader import RecordSplitter
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider_anthropic.encode import Body
from caliban_provider_vertex.models import wire_id
from caliban_provider_vertex.settings import VertexSettings, checked_project


class VertexTransport:
    """Sends bodies to `streamRawPredict` with a token. Headers of the settings win over ours.

    `clock` gives seconds since the epoch.
    """

    def __init__(
        self, settings: VertexSettings, tokens: TokenSource, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._tokens: CredentialCache[GoogleToken] = CredentialCache(
            tokens.fetch, every_s=settings.refresh_s, clock=clock
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, if there is one."""
        token = self._tokens.value
        return (token.value,) if token else ()

    @property
    def credentials(self) -> CredentialCache[GoogleToken] | None:
        """The token, unless a header of the settings stands in for it."""
        return None if self._settings.authorized else self._tokens

    def framing(self) -> RecordSplitter[SSEEvent]:
        """Server-sent events, as the API itself has them."""
        return SSEDecoder()

    def prepare(self, body: Body) -> Prepared:
        """The request. Raises `InvalidRequest` without a project or for a model that is no name."""
        token = self._tokens.value
        project = self._settings.project or checked_project(token.project if token else "")
        if not project:
            raise InvalidRequest(
                "no Google Cloud project is known",
                hint="set ANTHROPIC_VERTEX_PROJECT_ID, or `project` for this provider in the settings",
            )
        model = wire_id(json.loads(body.members["model"]))
        if not model:
            raise InvalidRequest("no model is named", hint="name one, such as `claude-sonnet-4-6`")
        place = f"projects/{quote(project, safe=':')}/locations/{self._settings.region}"
        path = f"{place}/publishers/anthropic/models/{quote(model, safe='@')}:streamRawPredict"
        return Prepared(
            method="POST",
            url=f"{self._settings.root}/v1/{path}",
            headers=self._headers(token),
            body=self._body(body),
        )

    def prepare_models(self, after_id: str | None, limit: int) -> Prepared:
        """One page of what the publisher offers, whether the project has enabled it or not."""
        token = self._tokens.value
        query = {"pageSize": str(limit), **({"pageToken": after_id} if after_id else {})}
        headers = {name: value for name, value in self._headers(token).items() if name != "content-type"}
        if project := self._settings.project or (token.project if token else ""):
            headers.setdefault("x-goog-user-project", project)
        url = f"{self._settings.root}/v1beta1/publishers/anthropic/models?{urlencode(query)}"
        return Prepared(method="GET", url=url, headers=headers)

    def read_models(self, page: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
        """The models on a page, dated ones with their date. Raises `BadResponse`."""
        models = page.get("publisherModels", [])
        if not isinstance(models, list):
            raise BadResponse("the list of models is none", hint="check the base URL")
        rows = [{"id": _listed(model)} for model in models if isinstance(model, dict)]
        token = page.get("nextPageToken")
        return rows, token if isinstance(token, str) else ""

    def error(self, status: int, headers: Mapping[str, str], body: bytes, *, provider: str) -> ProviderError:
        """The error that an answer means, with what to do about it here."""
        error = error_for(status, headers, body, provider=provider, secrets=self.secrets)
        match error:
            case AuthenticationError() if error.status == 401:
                error.hint = "the token is over or wrong: run `gcloud auth application-default login`"
            case AuthenticationError():
                error.hint = (
                    "enable the Vertex AI API and the model in the project's Model Garden, and give this "
                    "identity the role Vertex AI User"
                )
            case ModelUnavailable():
                error.hint = (
                    f"check the model's name, and that it is offered in {self._settings.region} and enabled "
                    "in Model Garden"
                )
        return error

    def _headers(self, token: GoogleToken | None) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token.value}"
            if token.quota_project:
                headers["x-goog-user-project"] = token.quota_project
        return headers | dict(self._settings.headers)

    def _body(self, body: Body) -> bytes:
        """The body with the version in it, without the model, which the path names."""
        members = {"anthropic_version": dumps(self._settings.body_version)}
        members |= {name: value for name, value in body.members.items() if name != "model"}
        return Body(members=members, messages=body.messages).join()


def _listed(model: Mapping[str, Any]) -> str:
    """The name of a listed model, `publishers/anthropic/models/NAME`, with its version if that is a date."""
    name = str(model.get("name", "")).rpartition("/")[2]
    version = str(model.get("versionId", ""))
    return f"{name}@{version}" if name and len(version) == 8 and version.isdecimal() else name
