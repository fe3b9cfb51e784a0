# ruff: noqa: E501 (the table reads best one case a line)
from __future__ import annotations

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider import error_body
from caliban_provider.classify import error_for, error_for_type, named, retry_after_s
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

NOW = 1_800_000_000.0


def anthropic(kind: str, message: str) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    ).encode()


def openai(message: str, kind: str | None, code: str | int | None) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def google(code: int, message: str, status: str, **detail: str) -> bytes:
    details = [{"@type": "x", **detail}] if detail else []
    return json.dumps(
        {"error": {"code": code, "message": message, "status": status, "details": details}}
    ).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        # by status, whatever the body is
        (400, b"", InvalidRequest),
        (401, b"", AuthenticationError),
        (402, b"", BillingError),
        (403, b"<html>forbidden</html>", AuthenticationError),
        (404, b"404 page not found", InvalidRequest),
        (405, b"", InvalidRequest),
        (408, b"", ServerError),
        (409, b"", ServerError),
        (413, b"", RequestTooLarge),
        (418, b"", InvalidRequest),
        (422, b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', InvalidRequest),
        (429, b"slow down", RateLimited),
        (500, b"", ServerError),
        (500, b"1 validation error: {'type': 'literal_error', 'loc': ('body', 'top_p')}", InvalidRequest),
        (500, b"1 validation error: {'type': 'missing', 'loc': ('response', 'id')}", ServerError),
        (400, b'{"error": {"message": "No connected db.", "type": "no_db_connection"}}', AuthenticationError),
        (502, b"<html>bad gateway</html>", ServerError),
        (503, b"", Overloaded),
        (504, b"", ServerError),
        (529, b"", Overloaded),
        (301, b"", InvalidRequest),
        (204, b"", BadResponse),
        # Anthropic
        (400, anthropic("invalid_request_error", "max_tokens: field required"), InvalidRequest),
        (400, anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000"), ContextTooLong),
        (
            400,
            anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 1 + 2 > 3"),
            ContextTooLong,
        ),
        (400, anthropic("invalid_request_error", "Your credit balance is too low to access"), BillingError),
        (401, anthropic("authentication_error", "invalid x-api-key"), AuthenticationError),
        (403, anthropic("permission_error", "not allowed"), AuthenticationError),
        (404, anthropic("not_found_error", "model: claude-nine"), ModelUnavailable),
        (413, anthropic("request_too_large", "Request exceeds the maximum size"), RequestTooLarge),
        (429, anthropic("rate_limit_error", "per-minute limit"), RateLimited),
        (500, anthropic("api_error", "Internal server error"), ServerError),
        (500, anthropic("overloaded_error", "Overloaded"), Overloaded),
        (529, anthropic("overloaded_error", "Overloaded"), Overloaded),
        # OpenAI and compatibles
        (
            400,
            openai("This model's maximum context length is 8192 tokens", "invalid_request_error", "context_length_exceeded"),
            ContextTooLong,
        ),
        (400, openai("max_tokens is too large: 99999", "invalid_request_error", "invalid_value"), InvalidRequest),
        (401, openai("Incorrect API key provided", "invalid_request_error", "invalid_api_key"), AuthenticationError),
        (404, openai("The model `x` does not exist", "invalid_request_error", "model_not_found"), ModelUnavailable),
        (429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), RateLimited),
        (429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), BillingError),
        (
            400,
            openai(
                "Unsupported parameter: 'temperature' is not supported with this model.",
                "invalid_request_error",
                "unsupported_parameter",
            ),
            InvalidRequest,
        ),
        # what a limit of the rate refuses for its own size never fits by waiting
        (
            413,
            openai(
                "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7071",
                "tokens",
                "rate_limit_exceeded",
            ),
            BeyondRate,
        ),
        (413, openai("slow down", "tokens", "rate_limit_exceeded"), BeyondRate),
        (429, openai("Request too large for gpt-4o on TPM", "tokens", "rate_limit_exceeded"), BeyondRate),
        (429, openai("TPM: Limit 30,000, Requested 45,000.", "tokens", "rate_limit_exceeded"), BeyondRate),
        (429, b"tokens per min: limit 100, used 90, requested 101", BeyondRate),
        (429, b"tokens per min: limit 100, used 90, requested 100", RateLimited),
        (429, b"limit , requested ,", RateLimited),
        (429, openai("Limit 30000, Used 29000, Requested 4500", "tokens", "rate_limit_exceeded"), RateLimited),
        (500, openai("The server had an error", "server_error", None), ServerError),
        (503, openai("Slow down", "slow_down", None), Overloaded),
        (400, openai("Incorrect API key provided: x", "invalid_request_error", None), AuthenticationError),
        (402, openai("This request requires more credits", None, 402), BillingError),
        (500, openai("the request exceeds the available context size", "server_error", 500), ContextTooLong),
        (400, openai("foo/bar is not a valid model ID", None, 400), ModelUnavailable),
        (404, b'{"code": "DeploymentNotFound", "message": "The API deployment does not exist"}', ModelUnavailable),
        # Google
        (400, google(400, "API key not valid.", "INVALID_ARGUMENT", reason="API_KEY_INVALID"), AuthenticationError),
        (400, google(400, "The input token count (9) exceeds the maximum", "INVALID_ARGUMENT"), ContextTooLong),
        (403, google(403, "denied", "PERMISSION_DENIED"), AuthenticationError),
        (404, google(404, "models/gemini-x is not found for API version v1", "NOT_FOUND"), ModelUnavailable),
        (429, google(429, "You exceeded your current quota", "RESOURCE_EXHAUSTED"), RateLimited),
        (503, google(503, "The model is overloaded.", "UNAVAILABLE"), Overloaded),
        (429, b"[" + google(429, "quota", "RESOURCE_EXHAUSTED") + b"]", RateLimited),
        # Ollama, Amazon
        (404, b'{"error": "model \\"x\\" not found, try pulling it first"}', ModelUnavailable),
        (400, b'{"__type": "ThrottlingException", "message": "Too many requests"}', RateLimited),
        (400, b'{"message": "Input is too long for requested model."}', ContextTooLong),
    ],
)  # fmt: skip
def test_vendors_answers_are_told_apart(status: int, body: bytes, kind: type[ProviderError]) -> None:
    error = error_for(status, {}, body, provider="acme")
    assert type(error) is kind
    assert error.status == status


def test_an_error_says_who_what_why_and_what_to_do() -> None:
    body = anthropic("authentication_error", "invalid x-api-key")
    error = error_for(401, {"request-id": "req_head"}, body, provider="anthropic")
    assert error.message == "anthropic does not accept the key (HTTP 401): invalid x-api-key"
    assert error.hint == "the key is missing or wrong: set the provider's API key"
    assert (error.code, error.request_id) == ("authentication_error", "req_head")
    assert error_for(401, {}, body, provider="anthropic").request_id == "req_1"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", ""),
        (b"   \r\n", ""),
        (b"plain\r\n text\x00 \x1b[31mred\x1b[0m \x1b]0;title\x07", ": plain text red"),
        (b"<html><head><style>p{}</style></head><body><h1>Bad &amp; Gateway</h1>nginx</body>", ": Bad & Gateway nginx"),
        (b'{"error": "one"}', ": one"),
        (b'{"detail": "two"}', ": two"),
        (b'{"detail": [{"msg": "a"}, {"msg": "b"}, 3]}', ": a; b"),
        (b'{"error": {"message": "outer", "metadata": {"raw": "inner"}}}', ": outer: inner"),
        (b'{"error": null}', ""),
        (b'{"error": {"type": "weird_thing"}}', ": weird_thing"),
        (b"[]", ": []"),
        (b"[" * 50_000, ": " + "[" * 359 + "…"),
        ("\u202egnp.exe\u2028 \ud7ff".encode(), ": gnp.exe"),
        (b"\xff\xfe", ": \ufffd\ufffd"),
    ],
)  # fmt: skip
def test_any_body_gives_one_clean_line(body: bytes, told: str) -> None:
    assert error_for(500, {}, body, provider="acme").message == f"acme failed (HTTP 500){told}"


@given(
    status=st.integers(100, 999),
    body=st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(("error", "message", "code", "type", "details", "detail", "msg")), inner
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
    headers=st.dictionaries(
        st.sampled_from(("retry-after", "retry-after-ms", "date", "x-should-retry", "location")),
        st.text(max_size=20),
    ),
)
def test_any_answer_becomes_an_error_with_a_clean_bounded_message(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    error = error_for(status, headers, body, provider="acme")
    assert error.message.isprintable() and len(error.message) <= 500
    assert error.retry_after_s is None or error.retry_after_s > 0
    in_stream = error_for_type(str(status), body.decode("utf-8", "replace"), provider="acme")
    assert in_stream.message.isprintable() and len(in_stream.message) <= 500


@pytest.mark.parametrize(
    "body",
    [
        b"bad key my-very-secret",
        b'{"error": {"message": "bad key my-very-secret"}}',
        b"Incorrect API key provided: sk-abcdef0123456789.",
        b"authorization: Bearer abc.def",
        b"key AIzaSyA0123456789",
    ],
)
def test_a_key_that_the_server_repeats_is_not_shown(body: bytes) -> None:
    message = str(error_for(401, {}, body, provider="acme", secrets=("my-very-secret", "")))
    assert "[key]" in message
    for part in ("secret", "abcdef", "abc.def", "SyA0"):
        assert part not in message
    in_stream = error_for_type("x", body.decode(), provider="acme", secrets=("my-very-secret",))
    assert "secret" not in str(in_stream)


def test_model_names_are_not_taken_for_keys() -> None:
    assert error_body.clean("model claude-haiku-4-5-20251001 and gpt-5.4-mini") == (
        "model claude-haiku-4-5-20251001 and gpt-5.4-mini"
    )


@pytest.mark.parametrize(
    ("said", "retryable"), [("true", True), ("FALSE", False), ("", False), ("maybe", False)]
)
def test_the_server_decides_on_retrying_when_it_says_so(said: str, retryable: bool) -> None:
    assert error_for(400, {"x-should-retry": said}, b"", provider="acme").retryable is retryable


def test_a_server_error_that_must_not_be_retried_is_not() -> None:
    assert error_for(500, {"x-should-retry": "false"}, b"", provider="acme").retryable is False
    assert error_for(500, {}, b"", provider="acme").retryable is True


def test_a_redirect_says_where_to_without_its_query() -> None:
    error = error_for(307, {"location": "https://user:pw@other.example/v1?key=abc"}, b"", provider="acme")
    assert error.message == (
        "acme refused the request (HTTP 307): redirects are not followed; it points to other.example/v1"
    )
    assert error.hint == "check the base URL: most servers want a path in it, such as /v1"


@pytest.mark.parametrize(
    ("headers", "text", "wait_s"),
    [
        ({"retry-after": "3"}, "", 3.0),
        ({"retry-after": " 2.5 "}, "", 2.5),
        ({"retry-after-ms": "700"}, "", 0.7),
        ({"retry-after-ms": "700", "retry-after": "3"}, "", 0.7),
        ({"retry-after-ms": "soon", "retry-after": "3"}, "", 3.0),
        ({"retry-after": "86400"}, "", 86400.0),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, "", 30.0),
        (
            {"retry-after": formatdate(NOW + 30, usegmt=True), "date": formatdate(NOW + 10, usegmt=True)},
            "",
            20.0,
        ),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, "", None),
        ({"retry-after": "0"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": "٣"}, "", None),
        ({"retry-after": "Wed, 99 Foo 2026"}, "try again in 4s", 4.0),
        ({}, "Please try again in 2.5s. Visit https://x", 2.5),
        ({}, "Please try again in 700ms.", 0.7),
        ({}, "Try again in 1m30s", 90.0),
        ({}, "try again in 1h 2m 3.5s", 3723.5),
        ({}, "Please retry in 34.074824224s.", 34.074824224),
        ({}, "retry after 20 seconds", 20.0),
        ({}, "Please wait for about 2 minutes and 5 seconds before", 125.0),
        ({}, '{"details":[{"retryDelay": "34s"}]}', 34.0),
        ({}, "try again in a while", None),
        ({}, "try again in 3 stages", None),
        ({}, "limit 30 per 60s", None),
        ({}, "", None),
    ],
)
def test_the_told_wait_is_found(headers: dict[str, str], text: str, wait_s: float | None) -> None:
    delay_s = retry_after_s(headers, text, NOW)
    assert delay_s == (wait_s if wait_s is None else pytest.approx(wait_s))


def test_the_told_wait_reaches_the_error_and_an_absurd_one_its_hint() -> None:
    body = openai("Rate limit reached. Please try again in 2.5s.", "tokens", "rate_limit_exceeded")
    assert error_for(429, {}, body, provider="acme").retry_after_s == 2.5
    long = error_for(429, {"retry-after": "86400"}, b"", provider="acme")
    assert (long.retry_after_s, long.hint) == (
        86400.0,
        "the provider asks to wait 24 h: try again then, or use another model",
    )


@pytest.mark.parametrize("lead", ["", "event: error\n", "\r\nevent: error\r\nid: 5\r\n"])
def test_a_refusal_that_is_written_as_an_event_is_read_like_any_other(lead: str) -> None:
    refusal = openai("the prompt is too long", "invalid_request_error", "context_length_exceeded")
    body = lead.encode() + b"data: " + refusal + b"\n\n"
    error = error_for(400, {}, body, provider="acme")
    assert (type(error), error.message, error.code) == (
        ContextTooLong,
        "the conversation is too long for the model of acme (HTTP 400): the prompt is too long",
        "context_length_exceeded",
    )


@pytest.mark.parametrize(("period", "again"), [("PerDay", False), ("PerMinute", True)])
def test_a_quota_of_the_day_is_not_waited_for_by_the_second(period: str, again: bool) -> None:
    violation = {"violations": [{"quotaId": f"GenerateRequests{period}PerProjectPerModel-FreeTier"}]}
    body = {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [violation, {"retryDelay": "43s"}],
        }
    }
    error = error_for(429, {}, json.dumps(body).encode(), provider="acme")
    assert (type(error), error.retryable, error.retry_after_s) == (RateLimited, again, 43.0)
    assert ("tomorrow" in (error.hint or "")) is not again


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (
            400,
            "The encrypted content gAAA could not be verified. Reason: it is broken.",
            "sealed for another",
        ),
        (400, "messages.1.content.0: Invalid `signature` in `thinking` block", "sealed for another"),
        (404, "This model is only supported in v1/responses and not in v1/chat/completions.", "api = "),
        (400, "The reasoning_content in the thinking mode must be passed back", "reasoning_field="),
        (400, "Item 'rs_6' of type 'reasoning' was provided without its required following item.", None),
    ],
)
def test_what_is_known_of_a_refusal_stands_in_its_hint(status: int, message: str, hint: str | None) -> None:
    error = error_for(status, {}, openai(message, "invalid_request_error", ""), provider="acme")
    assert error.hint is None if hint is None else hint in (error.hint or "")


def test_who_may_send_less_at_once_is_told_so() -> None:
    body = openai(
        "Request too large on tokens per min: Limit 9, Requested 10", "tokens", "rate_limit_exceeded"
    )
    error = error_for(429, {"retry-after": "8"}, body, provider="acme")
    assert (error.retryable, error.hint) == (
        False,
        "the account may send less than this at once: begin a new session, or use another model",
    )


@pytest.mark.parametrize(
    ("kind", "message", "wanted"),
    [
        ("overloaded_error", "Overloaded", Overloaded),
        ("rate_limit_error", "slow", RateLimited),
        ("rate_limit_exceeded", "slow", RateLimited),
        ("api_error", "Internal", ServerError),
        ("server_error", "Internal", ServerError),
        ("timeout_error", "", ServerError),
        ("invalid_request_error", "wrong", InvalidRequest),
        ("invalid_request_error", "prompt is too long: 3 > 2", ContextTooLong),
        ("invalid_prompt", "no", InvalidRequest),
        ("authentication_error", "no", AuthenticationError),
        ("insufficient_quota", "no", BillingError),
        ("not_found_error", "model: x", ModelUnavailable),
        ("ThrottlingException", "", RateLimited),
        ("429", "Provider returned error", RateLimited),
        ("502", "Provider returned error", ServerError),
        ("a_new_kind", "?", ServerError),
        ("", "", ServerError),
    ],
)
def test_errors_inside_a_stream_are_told_apart(kind: str, message: str, wanted: type[ProviderError]) -> None:
    assert type(error_for_type(kind, message, provider="acme")) is wanted


def test_an_error_inside_a_stream_says_so() -> None:
    error = error_for_type("overloaded_error", "Overloaded, try again in 3s", provider="acme")
    assert error.message == "acme is overloaded (in the stream): Overloaded, try again in 3s"
    assert (error.code, error.status, error.retry_after_s) == ("overloaded_error", None, 3.0)


def test_a_key_that_is_refused_inside_a_stream_was_refused_by_a_server() -> None:
    error = error_for_type("authentication_error", "no", provider="acme")
    assert (type(error), error.status) == (AuthenticationError, 401)


def test_a_code_of_control_characters_is_no_code():
    error = error_for(500, {}, b'{"code":"\\f"}', provider="p")
    assert (error.message, error.code) == ("p failed (HTTP 500)", None)


def test_a_stand_in_for_a_key_does_not_garble_the_message():
    body = b'{"error":{"message":"localhost has no such model"}}'
    error = error_for(500, {}, body, provider="p", secrets=("local",))
    assert "localhost has no such model" in error.message
    hidden = error_for(
        500, {}, b'{"error":{"message":"key sk-canary-1 is bad"}}', provider="p", secrets=("sk-canary-1",)
    )
    assert "sk-canary-1" not in hidden.message


@pytest.mark.parametrize(
    "words",
    [
        "Invalid request: Your request exceeded model token limit: 262144",
        "Prompt exceeds max length",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        "Trying to keep the first 9000 tokens when the tokens to keep from the initial prompt is greater than "
        "the context length",
        "The input exceeds the maximum allowed length",
        "prompt token count of 140000 exceeds the limit of 128000",
        "prompt token count (140000) cannot exceed 128000",
        "litellm.BadRequestError: ContextWindowExceededError: too much",
        "The sequence is longer than the model's maximum",
        "Too many tokens in the conversation for this model's window",
        "input length 40000 is larger than the largest allowed size 32768",
        "This model supports at most 8192 input tokens, got 9000",
        "This model only supports prompts of 4096 tokens",
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1234",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 512",
    ],
)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_prompt_that_is_too_long_is_recognised_by_the_shape_of_the_words(words: str, status: int) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert type(error_for(status, {}, body, provider="acme")) is ContextTooLong


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 200000. This model supports at most 128000 completion tokens",
        "The image exceeds the maximum size of 5 MB",
        "Too many tools: the limit is 128",
        "Tool name is longer than 64 characters, the maximum length",
        "messages.0.content: string too long, the maximum length is 10485760",
        "thinking.budget_tokens must not be larger than max_tokens",
        "temperature: 3 is greater than the maximum of 2",
        "metadata exceeds the size limit",
        "temperature: Input should be less than or equal to 2",
        "max_tokens: must be at most 8192 for this model",
        "This model supports up to 128000 output tokens",
    ],
)
def test_other_limits_are_not_taken_for_the_window(words: str) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    assert type(error_for(400, {}, body, provider="acme")) is InvalidRequest


def test_a_server_that_misses_the_reasoning_is_answered_with_the_quirk() -> None:
    words = "The `reasoning_content` in the thinking mode must be passed back to the API."
    error = error_for(400, {}, json.dumps({"error": {"message": words}}).encode(), provider="acme")
    assert error.hint is not None and "reasoning_field=reasoning_content" in error.hint


def test_an_error_takes_the_name_that_the_operator_gave_its_provider() -> None:
    for status in (400, 401, 402, 404, 413, 429, 500, 503):
        error = error_for(status, {}, b"no openai here", provider="openai")
        named(error, "openai", "groq", "set GROQ_API_KEY")
        assert "groq" in error.message and "openai" not in error.message.partition(":")[0]
        assert str(error).startswith(error.message)
        assert (error.hint == "set GROQ_API_KEY") is (status == 401)
