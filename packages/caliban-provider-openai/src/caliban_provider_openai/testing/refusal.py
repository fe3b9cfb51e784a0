"""How a strict check says no."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from caliban_provider.testing.exchange import Exchange, Request, answer


class Refused(Exception):
    """The vendor would answer the request with this error."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.code = code

    @property
    def body(self) -> bytes:
        """The body of the answer."""
        return error_body(self.kind, self.message, code=self.code)


def refuse(message: str) -> NoReturn:
    """Refuse the request as invalid."""
    raise Refused(message)


def need(holds: object, message: str) -> None:
    """Refuse the request as invalid unless `holds`."""
    if not holds:
        raise Refused(message)


def check_key(request: Request, key: str | None) -> None:
    """Refuse a request without a key, or with another than `key`."""
    given = request.headers.get("api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
    if not given or (key is not None and given != key):
        raise Refused(
            "Incorrect API key provided", status=401, kind="invalid_request_error", code="invalid_api_key"
        )


def parsed(request: Request) -> dict[str, Any]:
    """The body as an object of strict JSON."""
    need(request.headers.get("content-type", "").startswith("application/json"), "content-type: no JSON")
    try:
        body = json.loads(request.body.decode("utf-8"), parse_constant=_no_constant)
    except ValueError:
        refuse("We could not parse the JSON body of your request.")
    need(isinstance(body, dict), "the body is no object")
    made: dict[str, Any] = body
    return made


def error_body(kind: str, message: str, *, code: str | None = None) -> bytes:
    """The body of an answer that is an error."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()


def failure(
    status: int, kind: str, message: str = "", *, code: str | None = None, **headers: str
) -> Exchange:
    """An answer that is an error; `_` in a header's name stands for `-`."""
    named = {"content_type": "application/json", "x_request_id": "req_loopback", **headers}
    return answer(status, error_body(kind, message or kind, code=code), **named)


def models(*ids: str, **members: Any) -> Exchange:
    """The list of models, each with `members`."""
    data = [{"id": id, "object": "model", "created": 1, "owned_by": "loopback", **members} for id in ids]
    return answer(200, json.dumps({"object": "list", "data": data}), content_type="application/json")


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(constant)
