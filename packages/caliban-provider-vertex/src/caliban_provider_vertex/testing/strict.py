"""Refuses what Vertex refuses: wrong paths, bodies and tokens, in its words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import unquote

from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.testing.refusal import Refused, need
from caliban_provider_anthropic.testing.strict import check_body

_PATH = re.compile(
    r"/v1/projects/([a-z0-9:.-]+)/locations/([a-z0-9-]+)/publishers/anthropic/models/"
    r"([A-Za-z0-9@%._-]+):streamRawPredict"
)
_VERSIONS = ("vertex-2023-10-16", "2026-10-21")
_DATED = re.compile(r"claude-.*-\d{8}")
_STATUSES = MappingProxyType(
    {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
)


class StrictValidator:
    """A validator for `LoopbackServer`. There is only one `token`, `project` and `region`; empty is any."""

    def __init__(self, *, token: str = "", project: str = "", region: str = "") -> None:
        self._token = token
        self._project = project
        self._region = region

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            self._check(request)
        except Refused as refused:
            return refused.status, error_body(refused.status, refused.message)
        return None

    def _check(self, request: Request) -> None:
        path = _PATH.fullmatch(request.path)
        if request.method != "POST" or path is None:
            raise Refused("The requested URL was not found on this server.", status=404)
        authorization = request.headers.get("authorization", "")
        token = authorization.removeprefix("Bearer ")
        if token in ("", authorization) or (self._token and token != self._token):
            raise Refused("Request had invalid authentication credentials.", status=401)
        if self._project and path[1] != self._project:
            raise Refused(f"Permission denied on resource project {path[1]}.", status=403)
        if self._region and path[2] != self._region:
            raise Refused(f"Publisher Model is not found in {path[2]}.", status=404)
        model = unquote(path[3])
        if _DATED.fullmatch(model):
            raise Refused(
                f"Publisher Model `{model}` was not found or your project has no access", status=404
            )
        need(request.headers.get("content-type") == "application/json", "content-type: no JSON")
        check_prediction(model, json.loads(request.body))


def check_prediction(model: str, body: Mapping[str, object]) -> None:
    """Raise `Refused` for a body that the model behind the path would refuse."""
    need(isinstance(body, dict), "Invalid JSON payload received.")
    need("model" not in body, "model: Extra inputs are not permitted")
    version = body.get("anthropic_version")
    need(version in _VERSIONS, f"anthropic_version: {version!r} is not a valid version")
    need(body.get("stream") is True, "stream: streamRawPredict wants a stream")
    rest = {name: value for name, value in body.items() if name != "anthropic_version"}
    check_body({"model": model, **rest})


def error_body(status: int, message: str) -> bytes:
    """The body of an answer that is an error of the platform."""
    error = {"code": status, "message": message, "status": _STATUSES.get(status, "UNKNOWN")}
    return json.dumps({"error": error}).encode()
