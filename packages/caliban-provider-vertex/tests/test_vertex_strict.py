"""The strict side refuses what Vertex refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caliban_provider.testing.exchange import Request
from caliban_provider_vertex.testing.strict import StrictValidator

PATH = "/v1/projects/p-1/locations/global/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict"
GOOD = {
    "anthropic_version": "vertex-2023-10-16",
    "max_tokens": 9,
    "stream": True,
    "messages": [{"role": "user", "content": "Hi"}],
}


def status(body: Any = GOOD, path: str = PATH, token: str = "Bearer t", **only: str) -> int:
    headers = {"content-type": "application/json", "authorization": token}
    request = Request(method="POST", path=path, headers=headers, body=json.dumps(body).encode(), connection=1)
    refused = StrictValidator(**only)(request)
    if refused is None:
        return 200
    assert json.loads(refused[1])["error"]["code"] == refused[0]
    return refused[0]


def test_a_good_request_passes() -> None:
    assert status(token="Bearer t", project="p-1", region="global") == 200


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "model": "m"},
        {**GOOD, "stream": False},
        {**GOOD, "anthropic_version": "2023-06-01"},
        {**GOOD, "surprise": 1},
        {**GOOD, "messages": []},
    ],
)
def test_wrong_bodies_are_refused(body: dict[str, Any]) -> None:
    assert status(body) == 400


def test_wrong_places_and_tokens_are_refused() -> None:
    assert status(path="/v1/messages") == 404
    assert status(path=PATH.replace("streamRawPredict", "predict")) == 404
    assert status(path=PATH.replace("sonnet-4-6", "haiku-4-5-20251001")) == 404
    assert status(region="eu") == 404
    assert status(project="other") == 403
    assert status(token="t") == 401
