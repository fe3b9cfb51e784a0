"""The suite that every adapter must withstand, run on both interfaces and on Azure."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from caliban_common.message import Block, TextBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider_openai.azure import FACTORY as AZURE
from caliban_provider_openai.factory import FACTORY
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.refusal import error_body
from caliban_provider_openai.testing.strict_chat import COMPATIBLE, OPENAI, Server, StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses

KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    529: ("server_error", None),
}


class _OpenAIWire(Wire):
    def refusal(self, status: int) -> bytes:
        kind, code = KINDS[status]
        return error_body(kind, "No.", code=code)


class ResponsesWire(_OpenAIWire):
    model = responses.MODEL

    def make(self, options: ProviderOptions) -> Provider:
        return FACTORY.create(replace(options, extra={"api": "responses"}))

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        ending = responses.COMPLETED
        if stop_reason == "max_tokens":
            ending = responses.Ending(status="incomplete", reason="max_output_tokens")
        return responses.reply(*map(self.item, blocks), usage=usage, ending=ending)

    def item(self, block: Block) -> responses.Written:
        match block:
            case TextBlock(text=text):
                return responses.text(text, piece_chars=3)
            case ToolUseBlock(id=id, name=name, input=input):
                return responses.call(name, input, call_id=id, piece_chars=5)
            case _:
                raise AssertionError(block)

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        return responses.reply(responses.together(self.item(first), self.item(second)))

    def overloaded(self) -> bytes:
        return responses.error_event("server_is_overloaded", "Overloaded: slow_down")

    def noise(self) -> list[bytes]:
        return [
            b": keep-alive\n\n",
            responses.event("response.weather.delta", delta="blue", output_index=0),
            responses.event("keepalive", sequence_number=3),
        ]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictResponses()(request)
        return None if refusal is None else refusal[1].decode()


class ChatWire(_OpenAIWire):
    model = chat.MODEL
    server: Server = COMPATIBLE
    style = chat.STYLE

    def make(self, options: ProviderOptions) -> Provider:
        return FACTORY.create(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        finish = "length" if stop_reason == "max_tokens" else None
        return chat.reply(*map(self.part, blocks), usage=usage, finish=finish, style=self.style)

    def part(self, block: Block) -> chat.Written:
        match block:
            case TextBlock(text=text):
                return chat.text(text, piece_chars=3)
            case ToolUseBlock(id=id, name=name, input=input):
                return chat.call(name, input, id=id, piece_chars=5)
            case _:
                raise AssertionError(block)

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        return chat.reply(chat.together(self.part(first), self.part(second)))

    def overloaded(self) -> bytes:
        return chat.error_event("overloaded", "Overloaded", code=503)

    def noise(self) -> list[bytes]:
        return [
            b": OPENROUTER PROCESSING\n\n",
            chat.data({"choices": [], "prompt_filter_results": []}),
            chat.chunk([{"index": 0, "delta": {"weather": "blue"}, "finish_reason": None}]),
            chat.chunk([{"index": 0, "delta": None}]),
        ]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictChat(self.server)(request)
        return None if refusal is None else refusal[1].decode()


class PaddedChatWire(ChatWire):
    style = chat.Style(padding=True, spaced=True, usage_in="last", done=False)


class AzureWire(ChatWire):
    model = "gpt-4.1"
    server = OPENAI

    def make(self, options: ProviderOptions) -> Provider:
        return AZURE.create(options)


WIRES = (
    (ResponsesWire(), ("asyncio", "trio")),
    (ChatWire(), ("asyncio", "trio")),
    (PaddedChatWire(), ("asyncio",)),
    (AzureWire(), ("trio",)),
)


@pytest.mark.parametrize(
    ("check", "backend"),
    [
        pytest.param(check, backend, id=f"{type(wire).__name__}: {check}: {backend}")
        for wire, backends in WIRES
        for check in wire_checks(wire)
        for backend in backends
    ],
)
def test_keeps_the_contract(check: Check, backend: str) -> None:
    check.run(backend)
