"""The strict side refuses what Bedrock refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from caliban_provider.call import Prepared
from caliban_provider.testing.exchange import Request
from caliban_provider_bedrock.sigv4 import AwsKeys, signed
from caliban_provider_bedrock.testing.strict import StrictValidator

KEYS = AwsKeys(access_key_id="AK", secret_access_key="sk", session_token="tok")
PATH = "/model/global.anthropic.claude-sonnet-5-5/invoke-with-response-stream"
GOOD = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}


def request(body: Any = None, path: str = PATH, **headers: str) -> Request:
    sent = {"host": "127.0.0.1:1", "content-type": "application/json", "authorization": "Bearer t", **headers}
    return Request(
        method="POST", path=path, headers=sent, body=json.dumps(body or GOOD).encode(), connection=1
    )


def refusal(validator: StrictValidator, given: Request) -> str:
    refused = validator(given)
    assert refused is not None
    return str(json.loads(refused[1])["message"])


def test_a_good_request_passes() -> None:
    assert StrictValidator(token="t")(request()) is None


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "model": "m"},
        {**GOOD, "stream": True},
        {**GOOD, "anthropic_version": "2023-06-01"},
        {**GOOD, "anthropic_beta": "a"},
        {**GOOD, "surprise": 1},
        {**GOOD, "temperature": 0.5},
        {**GOOD, "messages": []},
    ],
)
def test_wrong_bodies_are_refused(body: dict[str, Any]) -> None:
    assert refusal(StrictValidator(), request(body))


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/model/a/b/invoke-with-response-stream", PATH[:-7], "/model/"]
)
def test_wrong_paths_are_refused(path: str) -> None:
    assert "Unknown" in refusal(StrictValidator(), request(path=path))


def test_a_wrong_token_is_refused() -> None:
    assert "token" in refusal(StrictValidator(token="other"), request())


@pytest.mark.parametrize(
    "wrong",
    ["nothing", "body", "header", "secret", "region", "session", "unsigned"],
)
def test_a_signature_covers_everything(wrong: str) -> None:
    keys = AwsKeys(access_key_id="AK", secret_access_key="other") if wrong == "secret" else KEYS
    bare = Prepared(
        method="POST",
        url=f"http://127.0.0.1:1{PATH}",
        headers={"content-type": "application/json", "x-own": "1"},
        body=json.dumps(GOOD).encode(),
    )
    region = "eu-west-1" if wrong == "region" else "us-east-1"
    mine = signed(
        bare, keys=keys, region=region, service="bedrock", at=datetime(2026, 11, 27, 12, tzinfo=UTC)
    )
    headers = dict(mine.headers)
    match wrong:
        case "header":
            headers["x-own"] = "2"
        case "session":
            headers["x-amz-security-token"] = "stolen"
        case "unsigned":
            headers["authorization"] = "Bearer t"
    body = {**GOOD, "max_tokens": 8} if wrong == "body" else GOOD
    refused = StrictValidator(keys=KEYS)(request(body, **headers))
    assert (refused is None) == (wrong == "nothing")
