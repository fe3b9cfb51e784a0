"""Where requests go, with which key, and who is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import user
from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider_openai.azure import AzureFactory, AzureTransport
from caliban_provider_openai.chat.encode import ChatEncoder
from caliban_provider_openai.factory import FACTORY, OpenAIFactory, environment
from caliban_provider_openai.quirks import Quirks
from caliban_provider_openai.responses.encode import ResponsesEncoder
from caliban_provider_openai.transport import ApiTransport

REQUEST = CompletionRequest(model="gpt 5.5/x", messages=(user("Hi"),), max_tokens=9)
CHAT = ChatEncoder(Quirks()).body(REQUEST)
RESPONSES = ResponsesEncoder().body(REQUEST)


def options(**members: Any) -> ProviderOptions:
    return ProviderOptions(**{"api_key": "k", **members})


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        (None, "https://api.openai.com/v1"),
        ("https://eu.api.openai.com", "https://eu.api.openai.com/v1"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        (" http://h/api/v1/chat/completions ", "http://h/api/v1"),
        ("https://g/v1beta/openai", "https://g/v1beta/openai"),
    ],
)
def test_a_base_url_may_be_written_in_many_ways(base_url: str | None, root: str) -> None:
    transport = ApiTransport(options(base_url=base_url))
    assert transport.prepare(CHAT).url == f"{root}/chat/completions"
    assert transport.prepare(RESPONSES).url == f"{root}/responses"
    assert transport.prepare_models().url == f"{root}/models"


@pytest.mark.parametrize("base_url", ["ftp://h", "h:80", "http://", "http://h/v1?key=1", "http://[::1"])
def test_what_is_no_address_is_refused(base_url: str) -> None:
    with pytest.raises(InvalidRequest, match="base URL"):
        ApiTransport(options(base_url=base_url))


def test_the_key_is_a_bearer_token_and_the_operators_headers_win() -> None:
    transport = ApiTransport(options(headers={"Authorization": "Bearer mine", "X-A": "b"}))
    prepared = transport.prepare(CHAT)
    assert prepared.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "authorization": "Bearer mine",
        "x-a": "b",
    }
    assert (prepared.method, prepared.body, transport.secrets) == ("POST", CHAT.join(), ("k",))
    assert "content-type" not in transport.prepare_models().headers


def test_only_the_vendor_learns_of_organization_and_project() -> None:
    extra = {"organization": "org-1", "project": "proj-1"}
    headers = ApiTransport(options(extra=extra)).prepare(CHAT).headers
    assert (headers["openai-organization"], headers["openai-project"]) == ("org-1", "proj-1")
    other = ApiTransport(options(extra=extra, base_url="http://127.0.0.1:1")).prepare(CHAT).headers
    assert not other.keys() & {"openai-organization", "openai-project"}


def test_a_missing_key_is_told_before_the_first_request_where_one_is_needed() -> None:
    none = ProviderOptions()
    for factory, chosen in (
        (OpenAIFactory(environ={}), none),
        (OpenAIFactory(environ={}), ProviderOptions(api_key="  ")),
        (AzureFactory(environ={}), ProviderOptions(extra={"resource": "r"})),
    ):
        with pytest.raises(AuthenticationError) as raised:
            factory.create(chosen)
        assert raised.value.hint and "_API_KEY" in raised.value.hint
    local = OpenAIFactory(environ={}).create(ProviderOptions(base_url="http://127.0.0.1:1"))
    assert (local.name, local.family) == ("openai", "openai")
    headed = ProviderOptions(headers={"Authorization": "Bearer t"})
    assert OpenAIFactory(environ={}).create(headed).name == "openai"


def test_a_key_that_is_none_is_refused() -> None:
    for key in ("a b", "schlüssel", "a\nb"):
        with pytest.raises(AuthenticationError, match="characters"):
            ApiTransport(options(api_key=key))


def test_the_factory_states_its_facts() -> None:
    facts = (FACTORY.name, FACTORY.default_model, FACTORY.needs_key, FACTORY.key_env, FACTORY.base_url_env)
    assert facts == ("openai", "gpt-5.5", False, ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",))
    azure = AzureFactory()
    assert (azure.name, azure.needs_key, azure.key_env) == ("azure", False, ("AZURE_OPENAI_API_KEY",))


def test_the_environment_fills_what_options_leave_open() -> None:
    environ = {"A": "1", "B": "2", "EMPTY": ""}
    given = options(extra={"one": "mine"})
    made = environment(given, environ, one=("A",), two=("EMPTY", "B"), three=("EMPTY",))
    assert dict(made.extra) == {"one": "mine", "two": "2"}


def test_an_interface_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no interface"):
        OpenAIFactory(environ={}).create(options(extra={"api": "realtime"}))


DEPLOYED = "https://res.openai.azure.com/openai/deployments/gpt%205.5%2Fx/chat/completions"


@pytest.mark.parametrize(
    ("base_url", "extra", "chat", "responses"),
    [
        (
            None,
            {"resource": "res"},
            f"{DEPLOYED}?api-version=2024-10-21",
            "https://res.openai.azure.com/openai/responses?api-version=2024-10-21",
        ),
        (
            "https://res.openai.azure.com/",
            {"api_version": "2025-04-01-preview"},
            f"{DEPLOYED}?api-version=2025-04-01-preview",
            "https://res.openai.azure.com/openai/responses?api-version=2025-04-01-preview",
        ),
        (
            "https://res.services.ai.azure.com/openai/v1/",
            {},
            "https://res.services.ai.azure.com/openai/v1/chat/completions",
            "https://res.services.ai.azure.com/openai/v1/responses",
        ),
        (
            None,
            {"resource": "res", "api_version": "v1"},
            "https://res.openai.azure.com/openai/v1/chat/completions",
            "https://res.openai.azure.com/openai/v1/responses",
        ),
        (
            None,
            {"resource": "res", "api_version": "preview"},
            "https://res.openai.azure.com/openai/v1/chat/completions?api-version=preview",
            "https://res.openai.azure.com/openai/v1/responses?api-version=preview",
        ),
    ],
)
def test_azure_has_two_surfaces(
    base_url: str | None, extra: dict[str, str], chat: str, responses: str
) -> None:
    transport = AzureTransport(options(base_url=base_url, extra=extra))
    assert (transport.prepare(CHAT).url, transport.prepare(RESPONSES).url) == (chat, responses)
    assert transport.prepare(CHAT).headers["api-key"] == "k"


def test_azure_takes_an_entra_token_as_a_bearer() -> None:
    transport = AzureTransport(options(extra={"resource": "res", "auth": "bearer"}))
    headers = transport.prepare(CHAT).headers
    assert headers["authorization"] == "Bearer k" and "api-key" not in headers


def test_azure_without_a_resource_says_what_to_set() -> None:
    for extra in ({}, {"resource": "evil.example/x"}):
        with pytest.raises(InvalidRequest) as raised:
            AzureFactory(environ={}).create(options(extra=extra))
        assert raised.value.hint and "AZURE_OPENAI_RESOURCE" in raised.value.hint
    environ = {"AZURE_OPENAI_RESOURCE": "res", "AZURE_OPENAI_API_VERSION": "v1"}
    assert AzureFactory(environ=environ).create(options()).name == "azure"
