"""The suite that every adapter must withstand, run on this one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from caliban_common.message import Block, RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.factory import FACTORY
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def as_wire(block: Block) -> wire.WireBlock:
    match block:
        case TextBlock(text=text):
            return wire.text(text, piece_chars=3)
        case ThinkingBlock(text=text, signature=signature):
            return wire.thinking(text, signature=signature or "c2ln", piece_chars=3)
        case RedactedThinkingBlock(data=data):
            return wire.redacted(data)
        case ToolUseBlock(id=id, name=name, input=input):
            return wire.tool_use(name, input, id=id, piece_chars=5)
        case _:
            raise AssertionError(block)


class AnthropicWire(Wire):
    model = wire.MODEL
    thinking = True

    def make(self, options: ProviderOptions) -> Provider:
        return FACTORY.create(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        return wire.reply(*map(as_wire, blocks), usage=usage, stop_reason=stop_reason)

    def refusal(self, status: int) -> bytes:
        message = f"model: {self.model}" if status == 404 else "No."
        return wire.error_body(KINDS[status], message)

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        return wire.reply(wire.together(as_wire(first), as_wire(second)))

    def overloaded(self) -> bytes:
        return wire.error_event("overloaded_error", "Overloaded")

    def noise(self) -> list[bytes]:
        return [
            b": a comment\n\n",
            wire.event("ping"),
            wire.event("message_weather", sky="blue"),
            wire.event("content_block_delta", index=0, delta={"type": "weather_delta", "sky": "blue"}),
        ]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictValidator()(request)
        return None if refusal is None else refusal[1].decode()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(AnthropicWire()), ids=str)
def test_keeps_the_contract(check: Check, backend: str) -> None:
    check.run(backend)
