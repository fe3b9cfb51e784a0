"""Refuses what Bedrock refuses: wrong paths, bodies and signatures, in its words.

A signature is worked out again by the vendor's own library, from what arrived.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import unquote

from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.testing.refusal import Refused, need
from caliban_provider_anthropic.testing.strict import check_body
from caliban_provider_bedrock.sigv4 import AwsKeys

_PATH = re.compile(r"/model/([A-Za-z0-9%._~-]+)/invoke-with-response-stream")
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/bedrock/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"
)
_VERSIONS = ("bedrock-2023-05-31", "2026-10-21")


class StrictValidator:
    """A validator for `LoopbackServer`. `keys` or `token` are the only ones that are let in.

    Without either, any bearer token is.
    """

    def __init__(self, *, keys: AwsKeys | None = None, region: str = "us-east-1", token: str = "") -> None:
        self._keys = keys
        self._region = region
        self._token = token

    def __call__(self, request: Request) -> tuple[int, bytes] | None:
        """The refusal of `request`: a status and a body; `None` lets it pass."""
        try:
            self._check(request)
        except Refused as refused:
            return refused.status, json.dumps({"message": refused.message}).encode()
        return None

    def _check(self, request: Request) -> None:
        path = _PATH.fullmatch(request.path)
        if request.method != "POST" or path is None:
            raise Refused("UnknownOperationException", status=404)
        if self._keys is None:
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not token or (self._token and token != self._token):
                raise Refused("Authentication failed: invalid bearer token", status=403)
        else:
            self._check_signature(request, self._keys)
        need(request.headers.get("content-type") == "application/json", "content-type: no JSON")
        check_invocation(unquote(path[1]), json.loads(request.body))

    def _check_signature(self, request: Request, keys: AwsKeys) -> None:
        from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
        from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
        from botocore.credentials import Credentials  # type: ignore[import-untyped]

        signature = _SIGNED.fullmatch(request.headers.get("authorization", ""))
        if signature is None or signature[1] != keys.access_key_id:
            raise Refused("The security token included in the request is invalid.", status=403)
        stamp = request.headers.get("x-amz-date", "")
        names = signature[4].split(";")
        need({"host", "x-amz-date"} <= {*names}, "'Host' and 'X-Amz-Date' must be signed")
        need(
            (signature[2], signature[3]) == (stamp[:8], self._region),
            "Credential should be scoped to a valid region",
        )
        if request.headers.get("x-amz-security-token") != keys.session_token:
            raise Refused("The security token included in the request is invalid", status=403)
        headers = {name: request.headers[name] for name in names}
        sent = AWSRequest(
            method=request.method,
            url=f"http://{request.headers['host']}{request.path}",
            headers=headers,
            data=request.body,
        )
        sent.context["timestamp"] = stamp
        vendor = SigV4Auth(Credentials(keys.access_key_id, keys.secret_access_key), "bedrock", self._region)
        wanted = vendor.signature(vendor.string_to_sign(sent, vendor.canonical_request(sent)), sent)
        if wanted != signature[5]:
            raise Refused(
                "The request signature we calculated does not match the signature you provided.", status=403
            )


def check_invocation(model: str, body: Mapping[str, object]) -> None:
    """Raise `Refused` for a body that the model behind the path would refuse."""
    need(isinstance(body, dict), "Malformed input request")
    version = body.get("anthropic_version")
    need(version in _VERSIONS, f"anthropic_version: {version!r} is not a valid version")
    for name in ("model", "stream"):
        need(name not in body, f"Malformed input request: extraneous key [{name}] is not permitted")
    betas = body.get("anthropic_beta", [])
    need(isinstance(betas, list) and all(isinstance(beta, str) for beta in betas), "anthropic_beta: no list")
    rest = {
        name: value for name, value in body.items() if name not in ("anthropic_version", "anthropic_beta")
    }
    check_body({"model": model, **rest})
