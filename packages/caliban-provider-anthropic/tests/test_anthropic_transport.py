"""Addresses and headers."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import user
from caliban_provider.call import Prepared
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.provider import ProviderOptions
from caliban_provider.registry import find
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.encode import Encoder
from caliban_provider_anthropic.factory import FACTORY
from caliban_provider_anthropic.transport import ApiTransport, root_url

BODY = Encoder().body(CompletionRequest(model="m", messages=(user("a"),), max_tokens=1))


def prepared(**options: Any) -> Prepared:
    return ApiTransport(ProviderOptions(**options)).prepare(BODY)


@pytest.mark.parametrize(
    ("given", "root"),
    [
        (None, "https://api.anthropic.com"),
        ("", "https://api.anthropic.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("https://gateway.example/v1", "https://gateway.example"),
        ("https://gateway.example/v1/", "https://gateway.example"),
        ("https://gateway.example/anthropic//", "https://gateway.example/anthropic"),
        ("https://gateway.example/anthropic/v1/messages", "https://gateway.example/anthropic"),
        (" https://gateway.example \n", "https://gateway.example"),
    ],
)
def test_the_base_url_is_taken_in_every_spelling(given: str | None, root: str) -> None:
    assert root_url(given) == root


@pytest.mark.parametrize("given", ["api.anthropic.com", "ftp://x", "http://", "v1", "http://[::1"])
def test_a_base_url_that_is_none_is_refused_at_once(given: str) -> None:
    with pytest.raises(InvalidRequest):
        FACTORY.create(ProviderOptions(base_url=given))


def test_the_vendor_gets_the_key_in_its_own_header() -> None:
    assert prepared(api_key=" sk-ant-api03-x\n") == Prepared(
        method="POST",
        url="https://api.anthropic.com/v1/messages",
        headers={
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "anthropic-version": "2023-06-01",
            "x-api-key": "sk-ant-api03-x",
        },
        body=BODY.join(),
    )


@pytest.mark.parametrize(
    ("options", "x_api_key", "authorization"),
    [
        ({"api_key": "sk-ant-oat01-x"}, None, "Bearer sk-ant-oat01-x"),
        ({"api_key": "k", "base_url": "http://gw"}, "k", "Bearer k"),
        ({"api_key": "k", "base_url": "http://gw", "extra": {"auth": "bearer"}}, None, "Bearer k"),
        ({"api_key": "k", "base_url": "http://gw", "extra": {"auth": "x-api-key"}}, "k", None),
        ({"api_key": "k", "headers": {"X-Api-Key": "other"}}, "other", None),
        ({"base_url": "http://gw"}, None, None),
        ({"headers": {"Authorization": "Bearer own"}}, None, "Bearer own"),
    ],
)
def test_where_the_key_goes(
    options: dict[str, Any], x_api_key: str | None, authorization: str | None
) -> None:
    headers = prepared(**options).headers
    assert (headers.get("x-api-key"), headers.get("authorization")) == (x_api_key, authorization)


def test_the_vendor_is_not_asked_without_a_key() -> None:
    for ask in (lambda t: t.prepare(BODY), lambda t: t.prepare_models(None, 10)):
        with pytest.raises(AuthenticationError) as raised:
            ask(ApiTransport(ProviderOptions()))
        assert "ANTHROPIC_API_KEY" in (raised.value.hint or "")


@pytest.mark.parametrize("key", ["sk ant", "“sk-ant”", "sk\x00", "a\nb"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(AuthenticationError) as raised:
        FACTORY.create(ProviderOptions(api_key=key))
    assert key not in str(raised.value)


def test_version_and_betas_are_options() -> None:
    extra = {"anthropic_version": "2026-10-21", "anthropic_beta": "a-1,b-2"}
    headers = prepared(api_key="k", extra=extra).headers
    assert (headers["anthropic-version"], headers["anthropic-beta"]) == ("2026-10-21", "a-1,b-2")


def test_the_list_of_models_is_asked_for_page_by_page() -> None:
    transport = ApiTransport(ProviderOptions(api_key="k"))
    assert transport.prepare_models(None, 10).url == "https://api.anthropic.com/v1/models?limit=10"
    page = transport.prepare_models("a/b", 10)
    assert page.url == "https://api.anthropic.com/v1/models?limit=10&after_id=a%2Fb"
    assert (page.method, page.body, "content-type" in page.headers) == ("GET", b"", False)


def test_the_factory_says_what_a_face_must_know() -> None:
    assert (FACTORY.name, FACTORY.default_model, FACTORY.needs_key) == (
        "anthropic",
        "claude-sonnet-4-6",
        True,
    )
    assert FACTORY.key_env == ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    assert FACTORY.base_url_env == ("ANTHROPIC_BASE_URL",)


@pytest.mark.parametrize("builtin", [{}, {"anthropic": "caliban_provider_anthropic.factory:FACTORY"}])
def test_the_factory_is_found_by_its_name(builtin: dict[str, str]) -> None:
    assert find("anthropic", builtin) is FACTORY
