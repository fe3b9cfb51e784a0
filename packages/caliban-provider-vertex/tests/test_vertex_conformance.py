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
from caliban_provider_anthropic.testing import strict as anthropic
from caliban_provider_anthropic.testing import wire
from caliban_provider_vertex.factory import VertexFactory
from caliban_provider_vertex.foundry import FoundryFactory
from caliban_provider_vertex.testing.strict import StrictValidator, error_body

STATUSES = {529: "overloaded_error", 500: "api_error"}


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


class VertexWire(Wire):
    model = "claude-opus-4-5"
    thinking = True

    def make(self, options: ProviderOptions) -> Provider:
        return VertexFactory(environ={"ANTHROPIC_VERTEX_PROJECT_ID": "p-1"}).create(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        return wire.reply(*map(as_wire, blocks), usage=usage, stop_reason=stop_reason)

    def refusal(self, status: int) -> bytes:
        message = f"Publisher Model {self.model} was not found" if status == 404 else "No."
        return error_body(status, message)

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        return wire.reply(wire.together(as_wire(first), as_wire(second)))

    def overloaded(self) -> bytes:
        return wire.error_event("overloaded_error", "Overloaded")

    def noise(self) -> list[bytes]:
        return [b": a comment\n\n", wire.event("ping"), wire.event("vertex_event", sky="blue")]

    def complaint(self, request: Request) -> str | None:
        refusal = StrictValidator(project="p-1", region="global")(request)
        return None if refusal is None else refusal[1].decode()


class FoundryWire(VertexWire):
    model = "claude-sonnet-4-6"

    def make(self, options: ProviderOptions) -> Provider:
        return FoundryFactory(environ={}).create(options)

    def complaint(self, request: Request) -> str | None:
        refusal = anthropic.StrictValidator()(request)
        return None if refusal is None else refusal[1].decode()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(VertexWire()), ids=str)
def test_keeps_the_contract(check: Check, backend: str) -> None:
    check.run(backend)


@pytest.mark.parametrize("check", wire_checks(FoundryWire()), ids=str)
def test_foundry_keeps_the_contract(check: Check) -> None:
    check.run("asyncio")
