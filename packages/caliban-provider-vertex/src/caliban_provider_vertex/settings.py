"""What an operator can say about Vertex, from options and environment to one value."""

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

BODY_VERSION = "vertex-2023-10-16"
"""What is sent as `anthropic_version`: the classic value, which every model takes."""

DEFAULT_REGION = "global"
"""Where a request goes when nobody says: anywhere with room."""

_REGION = re.compile(r"[a-z][a-z0-9-]{0,39}")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,99}")


class VertexSettings(Struct, frozen=True, kw_only=True):
    """Where to and in which version. An empty `project` is that of the credentials.

    `authorized` says that an `authorization` among the headers stands in for a token.
    """

    root: str
    region: str = DEFAULT_REGION
    project: str = ""
    token: str = ""
    authorized: bool = False
    body_version: str = BODY_VERSION
    headers: Mapping[str, str] = field(default_factory=dict)
    refresh_s: float = EVERY_S

    def __repr__(self) -> str:
        return masked_repr(self, "token")


def settings_of(options: ProviderOptions, environ: Mapping[str, str]) -> VertexSettings:
    """The settings that options and environment make.

    `options.extra` may hold `region`, `project`, `anthropic_version`, `anthropic_beta` (a comma list) and
    `auth_refresh` (such as `5m`; `0` is never). Raises `InvalidRequest` for a region, project, base URL or
    option that is none, `AuthenticationError` for such a token.
    """
    extra = options.extra
    region = extra.get("region") or environ.get("CLOUD_ML_REGION") or DEFAULT_REGION
    project = extra.get("project") or environ.get("ANTHROPIC_VERTEX_PROJECT_ID")
    refresh = extra.get("auth_refresh") or environ.get("CALIBAN_GCP_AUTH_REFRESH")
    version = matching(extra, "anthropic_version", VERSION, what=f"a version such as {BODY_VERSION}")
    betas = matching(extra, "anthropic_beta", LINE, what="a comma list of plain words")
    headers = {"anthropic-beta": betas} if betas else {}
    headers |= {name.lower(): value for name, value in options.headers.items()}
    region = _checked(region, _REGION, "a region", "A region is called like `europe-west1` or `global`.")
    return VertexSettings(
        root=_checked_url(options.base_url) or root_of(region),
        region=region,
        project=checked_project(project or environ.get("GOOGLE_CLOUD_PROJECT") or ""),
        token=_checked_token(options.api_key or environ.get("ANTHROPIC_VERTEX_TOKEN") or ""),
        authorized="authorization" in headers,
        body_version=version or BODY_VERSION,
        headers=headers,
        refresh_s=duration_s(refresh) if refresh else EVERY_S,
    )


def root_of(region: str) -> str:
    """The service's address for `region`; two regions are whole continents with hosts of their own."""
    match region:
        case "global":
            return "https://aiplatform.googleapis.com"
        case "us" | "eu":
            return f"https://aiplatform.{region}.rep.googleapis.com"
        case _:
            return f"https://{region}-aiplatform.googleapis.com"


def checked_project(project: str) -> str:
    """`project`, which becomes part of a path; empty stays so. Raises `InvalidRequest` for what is none."""
    if not project.strip():
        return ""
    return _checked(project, _PROJECT, "a project's id", "Check ANTHROPIC_VERTEX_PROJECT_ID.")


def _checked(text: str, pattern: re.Pattern[str], what: str, hint: str) -> str:
    if pattern.fullmatch(text.strip()) is None:
        raise InvalidRequest(f"{text[:40]!r} is not {what} of Google Cloud", hint=hint)
    return text.strip()


def _checked_url(base_url: str | None) -> str:
    url = (base_url or "").strip().rstrip("/").removesuffix("/v1").rstrip("/")
    if url and not (is_address(url) and re.match(r"https?://[^?#\s]+$", url)):
        raise InvalidRequest(
            "the base URL of Vertex is not an http or https URL",
            hint="check ANTHROPIC_VERTEX_BASE_URL or the settings",
        )
    return url


def _checked_token(token: str) -> str:
    token = token.strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise AuthenticationError(
            "the token for Vertex holds characters that a token cannot have",
            hint="it was probably copied with something around it: set ANTHROPIC_VERTEX_TOKEN again",
        )
    return token
