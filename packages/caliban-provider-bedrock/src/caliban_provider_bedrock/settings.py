"""What an operator can say about Bedrock, from options and environment to one value."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

from caliban_common.secret import masked_repr
from caliban_provider.address import is_address
from caliban_provider.credential import EVERY_S, duration_s
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.options import LINE, VERSION, matching
from caliban_provider.provider import ProviderOptions
from caliban_provider_bedrock.credentials import Access, AccessSource, ChainAccess, GivenAccess
from caliban_provider_bedrock.models import DEFAULT_PROFILE
from caliban_provider_bedrock.sigv4 import AwsKeys

BODY_VERSION = "bedrock-2023-05-31"
"""What is sent as `anthropic_version`: every model takes it, newer ones only from 4.7 on take later ones."""

_PROFILE = r"[a-z][a-z-]{0,19}"
_REGION = re.compile(r"[a-z]{2,12}(?:-[a-z0-9]{1,16}){1,5}")


class BedrockSettings(Struct, frozen=True, kw_only=True):
    """Where to, as whom, in which version. `access` finds keys and region; `signs` says that keys are used.

    `base_url` and `control_url` stand in for the addresses of the runtime and of the control plane. `bearer`,
    or an `authorization` among the headers, stands in for a signature. `inference_profile` is the geography
    that short model names are called through.
    """

    access: AccessSource
    base_url: str | None = None
    control_url: str | None = None
    bearer: str | None = None
    signs: bool = True
    body_version: str = BODY_VERSION
    betas: tuple[str, ...] = ()
    inference_profile: str = DEFAULT_PROFILE
    headers: Mapping[str, str] = field(default_factory=dict)
    refresh_s: float = EVERY_S

    def __repr__(self) -> str:
        return masked_repr(self, "bearer")


def settings_of(options: ProviderOptions, environ: Mapping[str, str]) -> BedrockSettings:
    """The settings that options and environment make.

    `options.extra` may hold `region`, `profile` (of AWS), `inference_profile`, `anthropic_version`,
    `anthropic_beta` (a comma list) and `auth_refresh` (such as `5m`; `0` is never). Raises `InvalidRequest`
    for a region, base URL or option that is none, `AuthenticationError` for such a token.
    """
    extra = options.extra
    betas = matching(extra, "anthropic_beta", LINE, what="a comma list of plain words") or ""
    version = matching(extra, "anthropic_version", VERSION, what=f"a version such as {BODY_VERSION}")
    matching(extra, "inference_profile", _PROFILE, what="a geography such as eu, or empty")
    base_url = _checked_url(options.base_url)
    bearer = _checked_token(options.api_key or environ.get("AWS_BEARER_TOKEN_BEDROCK"))
    region = extra.get("region") or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or None
    if region is not None:
        region = checked_region(region)
    profile = matching(extra, "profile", LINE, what="the name of an AWS profile")
    signs = bearer is None and "authorization" not in map(str.lower, options.headers)
    keys = _keys(environ) if signs and profile is None else None
    access: AccessSource = GivenAccess(Access(keys=keys, region=region))
    if (signs and keys is None) or (region is None and (signs or base_url is None)):
        access = ChainAccess(profile=profile, region=region, needs_keys=signs)
    refresh = extra.get("auth_refresh") or environ.get("CALIBAN_AWS_AUTH_REFRESH")
    return BedrockSettings(
        access=access,
        base_url=base_url,
        control_url=_checked_url(environ.get("AWS_ENDPOINT_URL_BEDROCK")),
        bearer=bearer,
        signs=signs,
        body_version=version or BODY_VERSION,
        betas=tuple(filter(None, map(str.strip, betas.split(",")))),
        inference_profile=extra.get("inference_profile", DEFAULT_PROFILE).strip(),
        headers=options.headers,
        refresh_s=duration_s(refresh) if refresh else EVERY_S,
    )


def checked_region(region: str) -> str:
    """`region`, which becomes part of a host's name. Raises `InvalidRequest` for what is none."""
    if _REGION.fullmatch(region.strip()) is None:
        raise InvalidRequest(
            f"{region[:40]!r} is not an AWS region", hint="a region is called like `us-east-1`"
        )
    return region.strip()


def _keys(environ: Mapping[str, str]) -> AwsKeys | None:
    """The keys in the environment; they serve without the vendor's library."""
    key_id, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not key_id or not secret:
        return None
    return AwsKeys(
        access_key_id=key_id,
        secret_access_key=secret,
        session_token=environ.get("AWS_SESSION_TOKEN") or None,
    )


def _checked_url(base_url: str | None) -> str | None:
    url = (base_url or "").strip().rstrip("/")
    if url and not (is_address(url) and re.match(r"https?://[^?#\s]+$", url)):
        raise InvalidRequest(
            "the base URL of Bedrock is not an http or https URL",
            hint="check AWS_BEDROCK_BASE_URL or the settings",
        )
    return url or None


def _checked_token(token: str | None) -> str | None:
    token = (token or "").strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise AuthenticationError(
            "the bearer token for Bedrock holds characters that a token cannot have",
            hint="it was probably copied with something around it: set AWS_BEARER_TOKEN_BEDROCK again",
        )
    return token or None
