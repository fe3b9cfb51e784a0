"""The errors that the wires tell of in JSON, inside a stream or with a status of 200."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from caliban_provider.classify import error_for_type
from caliban_provider.errors import ProviderError, ServerError
from caliban_provider.json_fields import string

_REFUSED_CODES = frozenset(
    {
        "invalid_prompt", "invalid_value", "data_residency_mismatch", "bio_policy", "cyber_policy",
        "misalignment_policy_violation", "content_filter", "content_policy_violation",
        "image_content_policy_violation", "invalid_image", "invalid_image_format", "invalid_base64_image",
        "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error",
        "invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file",
        "failed_to_download_image", "image_file_not_found",
    }
)  # fmt: skip
"""Codes of a failed reply that say that the request itself was at fault."""

_OVERLOADED_CODES = frozenset({"server_is_overloaded", "server_overloaded", "engine_overloaded_error"})
"""Codes that say that there is no capacity for now."""


def stream_error(data: Mapping[str, Any], *, provider: str, secrets: Collection[str] = ()) -> ProviderError:
    """The error in an error object of the wire, as it comes inside a stream or with a status of 200.

    Vendors differ in whether `code` or `type` says more: whichever is understood counts. Whatever is in
    `secrets` is kept out of the message.
    """
    inner = data.get("error")
    report: Mapping[str, Any] = inner if isinstance(inner, dict) else data
    message = string(report, "message") or (inner if isinstance(inner, str) else "")
    message = message or "the provider reported an error without saying which"
    kinds = [str(report[name]) for name in ("code", "type") if _is_kind(report.get(name))]
    kinds = [kind for kind in kinds if kind not in ("error", "response.failed")] or ["server_error"]
    error: ProviderError | None = None
    for kind in kinds:
        candidate = error_for_type(_understood(kind), message, provider=provider, secrets=secrets)
        if error is None or type(error) is ServerError:
            error = candidate
        if type(candidate) is not ServerError:
            break
    assert error is not None
    error.code = kinds[0]
    error.request_id = error.request_id or string(data, "request_id") or None
    return error


def _understood(kind: str) -> str:
    """The common word for what a code says, where it has one."""
    if kind in _REFUSED_CODES:
        return "invalid_request_error"
    return "overloaded" if kind in _OVERLOADED_CODES else kind


def _is_kind(value: object) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and value is not True)
