"""Bedrock's runtime as a transport of the Anthropic provider."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from caliban_common.codec import dumps
from caliban_provider import error_body
from caliban_provider.call import Prepared
from caliban_provider.classify import error_for
from caliban_provider.credential import CredentialCache
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ProviderError,
    ServerError,
)
from caliban_provider.reader import RecordSplitter
from caliban_provider.sse import SSEEvent
from caliban_provider_anthropic.encode import Body
from caliban_provider_bedrock.credentials import Access
from caliban_provider_bedrock.framing import BedrockFraming
from caliban_provider_bedrock.models import wire_id
from caliban_provider_bedrock.settings import BedrockSettings, checked_region
from caliban_provider_bedrock.sigv4 import signed

SERVICE = "bedrock"
"""What a signature is for."""

_OURS = frozenset({"model", "stream"})
_MODEL_FAILED = 424


def _now() -> datetime:
    return datetime.now(UTC)


class BedrockTransport:
    """Sends bodies to `InvokeModelWithResponseStream`, signed or with a bearer token.

    `now` tells the time in UTC. Headers of the settings win over ours.
    """

    def __init__(self, settings: BedrockSettings, *, now: Callable[[], datetime] = _now) -> None:
        self._settings = settings
        self._now = now
        self._access: CredentialCache[Access] = CredentialCache(
            settings.access.fetch, every_s=settings.refresh_s, clock=lambda: now().timestamp()
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """The bearer token, the secret key and the session token, as far as they are known."""
        access = self._access.value
        known = [self._settings.bearer]
        if access is not None and access.keys is not None:
            known += [access.keys.secret_access_key, access.keys.session_token]
        return tuple(filter(None, known))

    @property
    def credentials(self) -> CredentialCache[Access]:
        """The keys that sign, and the region. A bearer token stays as it is."""
        return self._access

    def framing(self) -> RecordSplitter[SSEEvent]:
        """An event stream that carries the wire's events."""
        return BedrockFraming()

    def prepare(self, body: Body) -> Prepared:
        """The signed request. Raises `InvalidRequest` without a region or for a model that is no name."""
        settings = self._settings
        access = self._access.value or Access()
        model = wire_id(json.loads(body.members["model"]), profile=settings.inference_profile)
        if model in ("", ".", ".."):
            raise InvalidRequest(
                f"{model!r} is not the name of a model", hint="name one, such as `claude-sonnet-5-5`"
            )
        request = Prepared(
            method="POST",
            url=f"{self._root(access)}/model/{quote(model, safe='')}/invoke-with-response-stream",
            headers=self._headers(),
            body=self._body(body),
        )
        return self._authorized(request, access)

    def prepare_models(self, after_id: str | None, limit: int) -> Prepared | None:
        """One page of the account's inference profiles, which the control plane lists; a gateway has none."""
        settings, access = self._settings, self._access.value or Access()
        root = settings.control_url
        if root is None and settings.base_url is None:
            root = _address("bedrock", access)
        if root is None:
            return None
        query = {"maxResults": str(limit), "typeEquals": "SYSTEM_DEFINED"}
        if after_id:
            query["nextToken"] = after_id
        url = f"{root}/inference-profiles?{urlencode(query, quote_via=quote)}"
        headers = {name: value for name, value in self._headers().items() if name != "content-type"}
        return self._authorized(Prepared(method="GET", url=url, headers=headers), access)

    def read_models(self, page: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
        """The profiles of Claude on a page. Raises `BadResponse`."""
        profiles = page.get("inferenceProfileSummaries")
        if not isinstance(profiles, list):
            raise BadResponse("the list of inference profiles is none", hint="check the base URL")
        models = [
            {"id": profile.get("inferenceProfileId"), "display_name": profile.get("inferenceProfileName")}
            for profile in profiles
            if isinstance(profile, dict) and "anthropic.claude" in str(profile.get("inferenceProfileId"))
        ]
        token = page.get("nextToken")
        return models, token if isinstance(token, str) else ""

    def error(self, status: int, headers: Mapping[str, str], body: bytes, *, provider: str) -> ProviderError:
        """The error that an answer means; its kind stands in a header, not in the body."""
        kind = headers.get("x-amzn-errortype", "").partition(":")[0].strip()
        if status == _MODEL_FAILED:
            text = error_body.read(body, secrets=self.secrets).text
            return ServerError(
                f"the model failed at {provider} (HTTP {status}): {text}"[:500],
                hint="try again in a moment, or use another model",
                status=status,
                code=error_body.kind(kind) or None,
                request_id=headers.get("x-amzn-requestid"),
            )
        error = error_for(status, headers, _named(body, kind), provider=provider, secrets=self.secrets)
        error.hint = _hint(error) or error.hint
        return error

    def _root(self, access: Access) -> str:
        if self._settings.base_url is not None:
            return self._settings.base_url
        return _address("bedrock-runtime", access)

    def _authorized(self, request: Prepared, access: Access) -> Prepared:
        """`request`, signed unless its headers let it in already."""
        if not self._settings.signs:
            return request
        if access.keys is None:
            raise AuthenticationError(
                "there are no AWS credentials", hint="set AWS_PROFILE or AWS_ACCESS_KEY_ID"
            )
        return signed(request, keys=access.keys, region=_region(access), service=SERVICE, at=self._now())

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        headers = {
            "content-type": "application/json",
            "accept": "application/vnd.amazon.eventstream, application/json",
        }
        if settings.bearer is not None:
            headers["authorization"] = f"Bearer {settings.bearer}"
        return headers | {name.lower(): value for name, value in settings.headers.items()}

    def _body(self, body: Body) -> bytes:
        """The body with the version in it, without the model, which the path names."""
        settings = self._settings
        members = {"anthropic_version": dumps(settings.body_version)}
        if settings.betas:
            members["anthropic_beta"] = dumps(settings.betas)
        members |= {name: value for name, value in body.members.items() if name not in _OURS}
        return Body(members=members, messages=body.messages).join()


def _address(service: str, access: Access) -> str:
    region = _region(access)
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://{service}.{region}.{domain}"


def _region(access: Access) -> str:
    if access.region is None:
        raise InvalidRequest(
            "no AWS region is known",
            hint="set AWS_REGION, or give the profile a region with `aws configure set region us-east-1`",
        )
    return checked_region(access.region)


def _named(body: bytes, kind: str) -> bytes:
    """`body` with the error's kind in it, where a header named one and the body does not."""
    try:
        parsed = json.loads(body) if kind else None
    except (ValueError, RecursionError):
        return body
    return dumps({"__type": kind, **parsed}) if isinstance(parsed, dict) else body


def _hint(error: ProviderError) -> str | None:
    """What to do about the refusals that are this service's own."""
    text = error.message.lower()
    if "signature" in text or "request is expired" in text:
        return "check this machine's clock and the AWS keys: a signature is good for five minutes"
    if "token" in text and "expired" in text:
        return "the AWS session is over: log in again, for instance with `aws sso login`"
    if error.status == 403:
        return "allow bedrock:InvokeModelWithResponseStream to this identity, and the model to this account"
    if "on-demand throughput" in text or "inference profile" in text:
        return "call the model through an inference profile, such as `global.anthropic.claude-sonnet-5-5`"
    return None
