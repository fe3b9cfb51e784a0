"""The suite that every adapter must withstand, run on this one: on AI Studio and on Vertex."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from caliban_common.message import Block, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.google_auth import GivenToken
from caliban_provider.http import HttpClient
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider_google.factory import GoogleFactory
from caliban_provider_google.provider import GoogleProvider
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.strict import StrictValidator
from caliban_provider_google.vertex import GeminiVertexTransport

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    529: "UNAVAILABLE",
}
FINISHES: dict[StopReason, str] = {"end_turn": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS"}


def as_wire(block: Block) -> wire.Item:
    match block:
        case TextBlock(text=text):
            return wire.text(text, piece_chars=3)
        case ThinkingBlock(text=text, signature=signature):
            return wire.thinking(text, signature=signature, piece_chars=3)
        case ToolUseBlock(id=id, name=name, input=input):
            return wire.call(name, input, id=id)
        case _:
            raise AssertionError(block)


class StudioWire(Wire):
    model = wire.MODEL
    thinking = True

    def make(self, options: ProviderOptions) -> Provider:
        return GoogleFactory(environ={}).create(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        return wire.reply(*map(as_wire, blocks), usage=usage, finish=FINISHES[stop_reason])

    def refusal(self, status: int) -> bytes:
        message = f"models/{self.model} is not found for API version v1beta" if status == 404 else "No."
        return wire.event(wire.error(status, STATUSES[status], message))[6:]

    def overloaded(self) -> bytes:
        return wire.event(wire.error(503, "UNAVAILABLE", "The model is overloaded."))

    def noise(self) -> list[bytes]:
        return [
            b": a comment\n\n",
            wire.event({"weather": "blue"}),
            wire.chunk({"text": ""}),
            wire.event({"candidates": [], "usageMetadata": {}}),
        ]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictValidator()(request)
        return None if refusal is None else refusal[1].decode()


class VertexWire(StudioWire):
    def make(self, options: ProviderOptions) -> Provider:
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        tokens = GivenToken(options.api_key or "")
        transport = GeminiVertexTransport(options, tokens, project="p-1", location="europe-west4")
        return GoogleProvider(transport, http, first_byte_s=options.first_byte_s, idle_s=options.idle_s)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(StudioWire()), ids=str)
def test_keeps_the_contract_on_ai_studio(check: Check, backend: str) -> None:
    check.run(backend)


@pytest.mark.parametrize("check", wire_checks(VertexWire()), ids=str)
def test_keeps_the_contract_on_vertex(check: Check) -> None:
    check.run("asyncio")
