"""From a failed answer to the error tree: status, headers and body of any vendor.

Vendors agree on the status codes and on little else, so a specific type or code decides first, then telling
phrases, then the status, and a general type (`invalid_request_error`) last.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from caliban_provider import error_body
from caliban_provider.error_body import ErrorBody
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    BeyondRate,
    BillingError,
    ContextTooLong,
    InvalidRequest,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    RateLimited,
    RequestTooLarge,
    ServerError,
)
from caliban_provider.retryafter import retry_after_s

__all__ = ["error_for", "error_for_type", "request_id", "retry_after_s"]

NO_KEY_HINT = "the key is missing or wrong: set the provider's API key"
"""What is advised where nobody knows which key."""

_LONG_WAIT_S = 60.0
_REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid", "apim-request-id")

_CONTEXT = (
    r"contextwindowexceeded|prompt is too long|input is too long|prompt too long"
    r"|maximum context length|maximum prompt length"
    r"|(?:exceed|larger than|longer than|over the|beyond)[^.]{0,80}context (?:length|window|size|limit)"
    r"|context (?:length|window|size|limit)[^.]{0,40}exceed"
    r"|input token count[^.]{0,60}exceed|too many (?:input |total )?tokens"
    r"|exceeds the maximum number of tokens|reduce the length of the (?:messages|prompt|input)"
    r"|exceeds? the (?:model's )?(?:maximum )?input (?:token|length)"
    r"|inputs`? tokens \+ `?max_new_tokens`? must be"
)
_OVER = (
    r"\b(?:exceed(?:s|ed|ing)?|too (?:long|large|many|big)|(?:greater|larger|longer|more|bigger) than|beyond"
    r"|(?:less|fewer) than|at most|up to|only supports?|no more than"
    r"|over(?:flow\w*|runs?)|range of [a-z ]*should be|above the|over the|does not fit)\b"
)
_OF_PROMPT = r"\b(?:context|prompts?|inputs?|tokens?|sequence|conversation|messages?)\b"
_SIZE = r"\b(?:lengths?|windows?|limits?|sizes?|tokens?|long|max(?:imum)?)\b"
_OTHER_LIMIT = (
    r"completion tokens|output tokens|max_\w*tokens|maxoutputtokens|budget_tokens|thinking"
    r"|per (?:second|minute|hour|day)|\b[rt]p[smhd]\b|rate.?limit|quota|credits?\b|images?\b|pdf|pages"
    r"|\bfiles?\b|\b(?:tool|function|schema|property|parameter|user|metadata|stop)\b"
    r"|string too long|header|url"
    r"|number of (?:messages|tools)|too many (?:messages|requests)|\btools\b|\bbatch"
)
"""Limits of something else than the prompt."""

_TOO_LARGE_A_REQUEST = (
    r"request too large for|tokens must be reduced|limit:? (\d[\d,]*)"
    r"(?:[^\d]{1,20}\d[\d,]*)?[^\d]{1,20}requested:? (\d[\d,]*)"
)
"""One request beyond a limit of tokens per minute: it never fits, however long one waits."""
_OF_THE_DAY = r"\bquotaid\W+\w*perday"
"""Google's name of a quota that the seconds which it says to wait do not refill."""

_BILLING = (
    r"credit balance is too low|insufficient (?:balance|credits?|funds|quota)|exceeded your current quota"
    r"|billing (?:details|hard limit|is not|not active)|requires more credits|payment required|out of credits"
)
_NO_MODEL = (
    r"model\b.{0,120}\b(?:not found|does not exist|not exist|is not supported|not available"
    r"|no longer available|is not a valid|has been (?:retired|deprecated|shut down))"
    r"|(?:no such|unknown|invalid|unsupported) model"
    r"|not a valid model|models?/\S+ is not found|try pulling it|^model: "
)
_REASONING = (
    r"reasoning(?:_content)?\b(?!.{0,80}required following item)"
    r".{0,120}\b(?:missing|required|must be|passed back|sent back|not found)"
    r"|(?:missing|requires?)\b.{0,60}\breasoning(?:_content)?\b"
)
_FOREIGN_REASONING = (
    r"encrypted content\b.{0,200}\b(?:not be verified|not be decrypted)|invalid `?signature`? in `?thinking"
    r"|thought signature is not valid"
)
"""What only its author's account can read was sent by another one."""

_BAD_KEY = (
    r"api[ _-]?key\b.{0,40}\b(?:not valid|invalid|missing|incorrect|expired|required|not found)"
    r"|(?:invalid|incorrect|missing|no|expired) (?:x-)?api[ _-]?key"
    r"|^\W*no connected db\b"  # LiteLLM, to a key that it would have to look up
)
_NOT_CHECKED = r"(?s)\b\d+ validation errors?\b.{0,200}\(['\"]body['\"]"
"""A server that finds fault with the request, and fails for it."""


def error_for(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    provider: str,
    secrets: Collection[str] = (),
) -> ProviderError:
    """The error that an answer of `status` means; `headers` have lower-case names.

    Whatever is in `secrets` is kept out of the message, should the server repeat it.
    """
    parsed = error_body.read(body, secrets=secrets)
    told_s = retry_after_s(headers, parsed.hidden or parsed.text, time.time())
    kind = _class_for(status, parsed)
    error = kind(
        _message(kind, provider, f"HTTP {status}", _told(status, headers, parsed)),
        hint=_hint(kind, status, told_s, parsed.text),
        status=status,
        retry_after_s=told_s,
        code=parsed.kinds[0] if parsed.kinds else None,
        request_id=request_id(headers) or parsed.request_id,
    )
    if kind is RateLimited and re.search(_OF_THE_DAY, parsed.hidden.lower()):
        error.retryable = False
        error.hint = "the quota of the day is used up: try again tomorrow, or use another model"
    match headers.get("x-should-retry", "").strip().lower():
        case "true":
            error.retryable = True
        case "false":
            error.retryable = False
    return error


def request_id(headers: Mapping[str, str]) -> str | None:
    """By what name the vendor's support finds the request; `headers` have lower-case names."""
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


def error_for_type(kind: str, message: str, *, provider: str, secrets: Collection[str] = ()) -> ProviderError:
    """The error that a vendor's type or code means when it comes inside a stream that began well.

    A type that is a number is taken as a status. An unknown one is the server's failure: worth a retry.
    """
    name = error_body.kind(kind)
    parsed = ErrorBody(
        kinds=(name,) if name else (), text=error_body.clean(message, secrets=secrets), hidden=message
    )
    status = int(name) if name.isdecimal() and len(name) == 3 else None
    told_s = retry_after_s({}, message, time.time())
    error_class = _class_for(status, parsed)
    if error_class is AuthenticationError:
        status = status or 401  # without one it would pass for a key that was missed before anybody was asked
    return error_class(
        _message(error_class, provider, "in the stream", parsed.text or name),
        hint=_hint(error_class, status or 0, told_s, parsed.text),
        status=status,
        retry_after_s=told_s,
        code=name or None,
    )


def _class_for(status: int | None, parsed: ErrorBody) -> type[ProviderError]:
    kind = _class_as_said(status, parsed)
    return BeyondRate if kind is RateLimited and _never_fits(status, parsed.text.lower()) else kind


def _class_as_said(status: int | None, parsed: ErrorBody) -> type[ProviderError]:
    for name in parsed.kinds:
        if (by_word := _by_kind(name)) is not None:
            return by_word
    # On lines of their own: the words stand in both, and no phrase reaches from one into the other.
    text = f"{parsed.text}\n{parsed.hidden[:2000]}".lower()
    worded = status is None or status in (400, 402, 403, 404, 413, 422, 429, 500)
    if worded and (by_word := _by_phrase(status, text, parsed.text.lower())) is not None:
        return by_word
    if status is not None:
        return _by_status(status, text)
    general = (_by_general_kind(name, text) for name in parsed.kinds)
    return next((by_word for by_word in general if by_word is not None), ServerError)


def _by_kind(name: str) -> type[ProviderError] | None:
    """The class of a type or code that says one thing only."""
    match name:
        case (
            "authentication_error" | "permission_error" | "invalid_api_key" | "api_key_invalid"
            | "unauthenticated" | "permission_denied" | "access_denied_exception"
            | "unrecognized_client_exception"
            | "expired_token_exception" | "unsupported_country_region_territory"
        ):  # fmt: skip
            return AuthenticationError
        case (
            "billing_error" | "insufficient_quota" | "billing_not_active" | "insufficient_balance"
            | "arrearage" | "1113"
        ):  # fmt: skip
            return BillingError
        case (
            "rate_limit_error" | "rate_limit_exceeded" | "rate_limited" | "too_many_requests"
            | "resource_exhausted" | "throttling_exception"
        ):  # fmt: skip
            return RateLimited
        case (
            "overloaded_error" | "overloaded" | "engine_overloaded" | "unavailable" | "slow_down"
            | "service_unavailable" | "service_unavailable_error" | "service_unavailable_exception"
            | "model_not_ready_exception"
        ):  # fmt: skip
            return Overloaded
        case (
            "context_length_exceeded" | "context_window_exceeded" | "exceed_context_size_error"
            | "context_window_exceeded_error" | "1261"
        ):  # fmt: skip
            return ContextTooLong
        case "request_too_large":
            return RequestTooLarge
        case "model_not_found" | "deployment_not_found" | "model_not_available":
            return ModelUnavailable
        case _:
            return None


def _never_fits(status: int | None, words: str) -> bool:
    """Whether a limit of the rate refuses a request for its own size: only a shorter one passes."""
    if status == 413:
        return True
    match = re.search(_TOO_LARGE_A_REQUEST, words)
    if match is None or match[1] is None:
        return match is not None
    limit, requested = (int(number.replace(",", "")) for number in match.groups())
    return requested > limit


def _by_phrase(status: int | None, text: str, words: str) -> type[ProviderError] | None:
    """The class by what is said: `text` is all that there is, `words` the message alone."""
    if re.search(_BILLING, text):
        return BillingError
    if status in (None, 400, 413, 422, 500) and (re.search(_CONTEXT, text) or _tells_of_length(words)):
        return ContextTooLong
    if status in (None, 400, 403) and re.search(_BAD_KEY, text):
        return AuthenticationError
    if status in (None, 400, 404, 422) and re.search(_NO_MODEL, text):
        return ModelUnavailable
    if status == 500 and re.search(_NOT_CHECKED, text):
        return InvalidRequest
    return None


def _tells_of_length(text: str) -> bool:
    """Whether `text` says that a prompt is longer than it may be, in whatever words, and of nothing else."""
    words = " ".join(text[:600].split())
    shaped = re.search(_OVER, words) and re.search(_OF_PROMPT, words) and re.search(_SIZE, words)
    return bool(shaped) and re.search(_OTHER_LIMIT, words) is None


def _by_status(status: int, text: str) -> type[ProviderError]:
    match status:
        case 401 | 403:
            return AuthenticationError
        case 402:
            return BillingError
        case 404:
            return ModelUnavailable if "model" in text else InvalidRequest
        case 413:
            return RequestTooLarge
        case 429:
            return RateLimited
        case 503 | 529:
            return Overloaded
        case 408 | 409 | 425:
            return ServerError
        case 498:
            return Overloaded
        case _ if status >= 500:
            return ServerError
        case _ if status < 300:
            return BadResponse
        case _:
            return InvalidRequest


def _by_general_kind(name: str, text: str) -> type[ProviderError] | None:
    """The class of a type that vendors use for many things; asked only where there is no status."""
    match name:
        case "invalid_request_error" | "invalid_argument" | "invalid_prompt" | "failed_precondition":
            return InvalidRequest
        case "validation_exception" | "bad_request" | "bad_request_error":
            return InvalidRequest
        case "not_found_error" | "not_found" | "resource_not_found_exception":
            return ModelUnavailable if "model" in text else InvalidRequest
        case _:
            return None


def _told(status: int, headers: Mapping[str, str], parsed: ErrorBody) -> str:
    """The server's words; for a redirect, where to, without a query that may hold a key."""
    if 300 <= status < 400 and (location := headers.get("location")):
        try:
            parts = urlsplit(location)
        except ValueError:
            return "redirects are not followed"
        return error_body.clean(
            f"redirects are not followed; it points to {parts.netloc.rpartition('@')[2]}{parts.path}"
        )
    return parsed.text or ", ".join(parsed.kinds)


def _message(kind: type[ProviderError], provider: str, where: str, words: str) -> str:
    what = _SAID.get(kind, "{} refused the request")
    message = f"{what.format(provider)} ({where})"
    return f"{message}: {words}"[:500] if words else message


def named(error: ProviderError, old: str, new: str, key_hint: str | None = None) -> None:
    """Let `error` speak of its provider as `new` instead of `old`, and of the key as `key_hint` does."""
    for what in (*_SAID.values(), "{} refused the request"):
        if error.message.startswith(f"{what.format(old)} ("):
            error.message = what.format(new) + error.message[len(what.format(old)) :]
            error.args = (error.message,)
            break
    if key_hint and error.hint == NO_KEY_HINT:
        error.hint = key_hint


_SAID: Mapping[type[ProviderError], str] = MappingProxyType(
    {
        AuthenticationError: "{} does not accept the key",
        BillingError: "{} reports a matter of billing",
        ModelUnavailable: "{} does not offer the model",
        ContextTooLong: "the conversation is too long for the model of {}",
        BeyondRate: "the conversation is more than {} takes at once",
        RequestTooLarge: "the request is too large for {}",
        RateLimited: "{} limits the rate of requests",
        Overloaded: "{} is overloaded",
        ServerError: "{} failed",
        BadResponse: "{} gave an answer that is not understood",
    }
)


def _hint(kind: type[ProviderError], status: int, told_s: float | None, words: str) -> str | None:
    if issubclass(kind, RateLimited | Overloaded | ServerError):
        if told_s is not None and told_s > _LONG_WAIT_S:
            return f"the provider asks to wait {_spell(told_s)}: try again then, or use another model"
        return "try again in a moment, or use another model"
    if kind is AuthenticationError and status == 403:
        return "the key is known but not allowed to do this, or it is wrong: check the account and the key"
    if kind is InvalidRequest and (status in (404, 405) or 300 <= status < 400):
        return "check the base URL: most servers want a path in it, such as /v1"
    if kind is InvalidRequest and re.search(_FOREIGN_REASONING, words.lower()):
        return (
            "the reasoning in this conversation is sealed for another account or model: "
            "go on with the key and the model that wrote it, or begin a new session"
        )
    if kind is ModelUnavailable and "v1/responses" in words:
        return 'the model speaks the other interface: set the option api = "responses" of the provider'
    if kind is InvalidRequest and re.search(_REASONING, words.lower()):
        return (
            "the server wants the model's reasoning sent back: say so by the option "
            'quirks = "reasoning_field=reasoning_content" of the provider'
        )
    return {
        AuthenticationError: NO_KEY_HINT,
        BillingError: "check the account's plan and balance, or use another provider",
        ModelUnavailable: "check the model's name against the models that the provider lists",
        ContextTooLong: "begin a new session, or use a model with a larger window",
        BeyondRate: "the account may send less than this at once: begin a new session, or use another model",
        RequestTooLarge: "send fewer or smaller attachments",
        BadResponse: "check the base URL",
    }.get(kind)


def _spell(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
