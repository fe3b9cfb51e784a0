"""Chat Completions against a server that nobody here wrote: llama.cpp's own, with the packaged weights."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.tool import ToolSpec
from caliban_provider.errors import AuthenticationError, ContextTooLong, ModelUnavailable
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import TextDelta
from caliban_provider.testing.contract import assembled, assert_order, collect
from caliban_provider_local.errors import LoadFailed
from caliban_provider_local.testing.server import llama_server
from caliban_provider_openai import FACTORY

pytestmark = [pytest.mark.anyio, pytest.mark.local_model]

KEY = "sk-loopback"
LIGHT = ToolSpec(
    name="Light",
    description="Switch the light.",
    input_schema={
        "type": "object",
        "properties": {"state": {"enum": ["on", "off"]}},
        "required": ["state"],
        "additionalProperties": False,
    },
)


@pytest.fixture
def anyio_backend() -> str:
    """One loop is enough here: the suite of conformance runs on both."""
    return "asyncio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    url: str


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    """The server, in a process that ends with these tests."""
    try:
        with llama_server(KEY) as url:
            yield Address(url=url)
    except (ModelUnavailable, LoadFailed) as error:
        pytest.skip(error.message)


@asynccontextmanager
async def provided(address: Address, key: str = KEY) -> AsyncIterator[Provider]:
    provider = FACTORY.create(ProviderOptions(api_key=key, base_url=address.url))
    try:
        yield provider
    finally:
        await provider.aclose()


def ask(*messages: Message, **members: object) -> CompletionRequest:
    options: dict[str, object] = {"max_tokens": 16, "temperature": 0.0, **members}
    return CompletionRequest(model="smollm2", messages=messages, **options)  # type: ignore[arg-type]


async def test_text_streams_from_it(address: Address) -> None:
    async with provided(address) as provider:
        events = await collect(provider, ask(user("Name three colours.")))
    assert_order(events)
    reply = assembled(events)
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    assert reply.message("openai", "smollm2").text
    assert reply.stop_reason in ("max_tokens", "end_turn")
    assert reply.usage.input_tokens > 5 and 0 < reply.usage.output_tokens <= 16


async def test_a_schema_holds_its_answer(address: Address) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    async with provided(address) as provider:
        request = ask(user("Which colour is the sky?"), response_schema=schema, max_tokens=40)
        reply = assembled(await collect(provider, request))
    answer = json.loads(reply.message("openai", "smollm2").text)
    assert answer["colour"] in ("red", "blue") and reply.stop_reason == "end_turn"


async def test_a_history_with_calls_and_tools_on_offer_are_taken_and_a_call_is_held_to_its_schema(
    address: Address,
) -> None:
    """Its template enforces no call, so the call is asked for as a constrained answer."""
    call = {
        "type": "object",
        "properties": {"tool": {"enum": ["Light"]}, "arguments": LIGHT.input_schema},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    messages = (
        user("Switch the light on."),
        Message(
            role="assistant",
            content=(ToolUseBlock(id="functions.Light:0", name="Light", input={"state": "on"}),),
        ),
        Message(
            role="user",
            content=(
                ToolResultBlock(tool_use_id="functions.Light:0", content=(TextBlock(text="It is on."),)),
            ),
        ),
    )
    async with provided(address) as provider:
        taken = assembled(await collect(provider, ask(*messages, tools=(LIGHT,), max_tokens=4)))
        again = (*messages, Message(role="assistant", content=(TextBlock(text="Done."),)), user("Now off."))
        held = assembled(await collect(provider, ask(*again, response_schema=call, max_tokens=80)))
    assert taken.complete
    made = json.loads(held.message("openai", "smollm2").text)
    assert made["tool"] == "Light" and made["arguments"]["state"] in ("on", "off")


async def test_its_errors_have_their_classes_and_its_models_their_window(address: Address) -> None:
    async with provided(address) as provider:
        with pytest.raises(ContextTooLong):
            await collect(provider, ask(user("word " * 4000)))
        (model,) = await provider.list_models()
    assert model.capabilities.context_tokens
    async with provided(address, "sk-wrong") as provider:
        with pytest.raises(AuthenticationError):
            await collect(provider, ask(user("Hi")))
