"""The suite that every adapter must withstand, run on this one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

import pytest

from caliban_common.message import Block, RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.conformance import Check, Wire, wire_checks
from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_bedrock.factory import BedrockFactory
from caliban_provider_bedrock.sigv4 import AwsKeys
from caliban_provider_bedrock.testing import wire
from caliban_provider_bedrock.testing.strict import StrictValidator

KINDS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    529: "ServiceUnavailableException",
}
KEYS = AwsKeys(access_key_id="AKIDEXAMPLE", secret_access_key="wJalrXUtnFEMI", session_token="session")


def as_wire(block: Block) -> anthropic.WireBlock:
    match block:
        case TextBlock(text=text):
            return anthropic.text(text, piece_chars=3)
        case ThinkingBlock(text=text, signature=signature):
            return anthropic.thinking(text, signature=signature or "c2ln", piece_chars=3)
        case RedactedThinkingBlock(data=data):
            return anthropic.redacted(data)
        case ToolUseBlock(id=id, name=name, input=input):
            return anthropic.tool_use(name, input, id=id, piece_chars=5)
        case _:
            raise AssertionError(block)


class BedrockWire(Wire):
    """With a bearer token, which is what the suite's key is taken for."""

    model = "global.anthropic.claude-sonnet-5-5"
    content_type = wire.CONTENT_TYPE
    textual = False
    thinking = True
    environ: ClassVar = {"AWS_REGION": "us-east-1"}
    validator = StrictValidator()

    def make(self, options: ProviderOptions) -> Provider:
        return BedrockFactory(environ=self.environ).create(options)

    def reply(self, blocks: Sequence[Block], *, usage: Usage, stop_reason: StopReason) -> list[bytes]:
        return wire.reply(*map(as_wire, blocks), usage=usage, stop_reason=stop_reason)

    def refusal(self, status: int) -> bytes:
        message = f"The model {self.model} is not found" if status == 404 else "No."
        return json.dumps({"message": message, "__type": KINDS[status]}).encode()

    def interleaved(self, first: ToolUseBlock, second: ToolUseBlock) -> list[bytes]:
        return wire.reply(anthropic.together(as_wire(first), as_wire(second)))

    def overloaded(self) -> bytes:
        return wire.exception("serviceUnavailableException", "Try later")

    def noise(self) -> list[bytes]:
        return [
            wire.frame({":message-type": "event", ":event-type": "initial-response"}, b"{}"),
            wire.frame({":message-type": "weather"}, b"\xff"),
            wire.frame({}, b""),
            wire.frame({":message-type": "event", ":event-type": "chunk"}, b'{"p":"abc"}'),
            *wire.framed([anthropic.event("ping"), anthropic.event("message_weather", sky="blue")]),
        ]

    def complaint(self, request: Request) -> str | None:
        refusal = self.validator(request)
        return None if refusal is None else refusal[1].decode()


class SigningWire(BedrockWire):
    """With keys, whose signatures are worked out again."""

    environ: ClassVar = {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": KEYS.access_key_id,
        "AWS_SECRET_ACCESS_KEY": KEYS.secret_access_key,
        "AWS_SESSION_TOKEN": KEYS.session_token or "",
    }
    validator = StrictValidator(keys=KEYS, region="eu-central-1")

    def make(self, options: ProviderOptions) -> Provider:
        bare = ProviderOptions(
            base_url=options.base_url,
            headers={**options.headers, "x-gateway": "a  b"},
            first_byte_s=options.first_byte_s,
            idle_s=options.idle_s,
        )
        return super().make(bare)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("check", wire_checks(BedrockWire()), ids=str)
def test_keeps_the_contract_with_a_token(check: Check, backend: str) -> None:
    check.run(backend)


SIGNING = [check for check in wire_checks(SigningWire()) if not check.name.startswith("the key travels")]


@pytest.mark.parametrize("check", SIGNING, ids=str)
def test_keeps_the_contract_with_keys(check: Check) -> None:
    check.run("asyncio")
