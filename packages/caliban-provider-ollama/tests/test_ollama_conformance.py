"""The suite that every adapter must withstand, run on this one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from caliban_common.message import Block, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.http import HttpClient
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider_ollama.models import ModelFacts
from caliban_provider_ollama.provider import OllamaProvider
from caliban_provider_ollama.testing import wire
from caliban_provider_ollama.testing.strict import StrictValidator
from caliban_provider_ollama.transport import Transport

REASONS: dict[StopReason, str] = {"end_turn": "stop", "tool_use": "stop", "max_tokens": "length"}


def as_wire(block: Block) -> wire.Item:
    match block:
        case TextBlock(text=text):
            return wire.text(text, piece_chars=3)
        case ThinkingBlock(text=text):
            return wire.thinking(text, piece_chars=3)
        case ToolUseBlock(id=id, name=name, input=input):
            return wire.call(name, input, id=id)
        case _:
            raise AssertionError(block)


class OllamaWire(Wire):
    """The suite counts requests, so what the model can do is known from the start."""

    model = wire.MODEL
    content_type = wire.CONTENT_TYPE

    def make(self, options: ProviderOptions) -> Provider:
        http = HttpClient(connect_s=options.connect_s, read_s=max(options.first_byte_s, options.idle_s))
        return OllamaProvider(
            Transport(options),
            http,
            known={self.model: ModelFacts(context_tokens=131_072, tools=True)},
            silence_s=(options.first_byte_s, options.idle_s),
        )

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        return wire.reply(*map(as_wire, blocks), usage=usage, done_reason=REASONS[stop_reason])

    def refusal(self, status: int) -> bytes:
        return wire.error_line(f"model '{self.model}' not found" if status == 404 else "No.")

    def overloaded(self) -> bytes:
        return wire.error_line("server busy, please try again.  maximum pending requests exceeded")

    def noise(self) -> list[bytes]:
        return [b"\n", b'{"weather":"blue"}\n', wire.line({"content": ""}), wire.line({"sky": 7})]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictValidator()(request)
        return None if refusal is None else refusal[1].decode()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(OllamaWire()), ids=str)
def test_keeps_the_contract(check: Check, backend: str) -> None:
    check.run(backend)
