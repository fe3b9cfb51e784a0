"""The vendor's own client as a second opinion: on what we make of a stream, and on what we send.

The client signs with a library that need not be installed, so it runs with a bearer token; signatures are
compared in `test_bedrock_sigv4`.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from late_kit import Late

from caliban_common.message import system, user
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing import strategies
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.decode import Decoder
from caliban_provider_anthropic.testing import wire as inner
from caliban_provider_bedrock.factory import BedrockFactory
from caliban_provider_bedrock.framing import BedrockFraming
from caliban_provider_bedrock.testing import wire

anthropic = Late("anthropic")

MODEL = "us.anthropic.claude-sonnet-4-6"
SLOW = settings(max_examples=examples(50))
TEXTS = strategies.texts()
BLOCKS = st.one_of(
    st.builds(lambda text, size: inner.text(text, piece_chars=size), TEXTS, st.integers(1, 9)),
    st.builds(lambda text: inner.thinking(text, signature="sig", piece_chars=4), TEXTS),
    st.builds(inner.redacted, st.text("abc=", min_size=1)),
    st.builds(lambda input: inner.tool_use("Read", input, piece_chars=3), strategies.json_objects),
)


def client(answer: Any, **options: Any) -> anthropic.AnthropicBedrock:
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.AnthropicBedrock(
        api_key="k",
        aws_region="us-east-1",
        base_url="http://vendor",
        max_retries=0,
        http_client=http,
        **options,
    )


def theirs(chunks: list[bytes]) -> dict[str, Any]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": wire.CONTENT_TYPE}, content=iter(chunks))

    with (
        client(answer) as bedrock,
        bedrock.messages.stream(
            model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "x"}]
        ) as stream,
    ):
        return stream.get_final_message().to_dict()


def ours(chunks: list[bytes]) -> Assembler:
    framing, decoder, assembler = BedrockFraming(), Decoder(model=MODEL), Assembler()
    for chunk in chunks:
        for item in framing.feed(chunk):
            for event in decoder.feed(item):
                assembler.add(event)
    decoder.finish()
    return assembler


def plain(block: Any) -> dict[str, Any]:
    names = {
        "thinking": ("text", "signature"),
        "redacted_thinking": ("data",),
        "tool_use": ("id", "name", "input"),
        "text": ("text",),
    }[block.type]
    out = {"type": block.type, **{name: getattr(block, name) for name in names}}
    if block.type == "thinking":
        out["thinking"] = out.pop("text")
    return out


@SLOW
@given(
    st.lists(BLOCKS, max_size=4),
    st.sampled_from([None, "max_tokens", "refusal"]),
    st.integers(0, 99),
    st.data(),
)
def test_a_reply_is_what_the_vendors_client_makes_of_it(
    blocks: list[inner.WireBlock], stop_reason: str | None, read: int, data: st.DataObject
) -> None:
    usage = Usage(input_tokens=100, output_tokens=7, cache_read_tokens=read)
    whole = b"".join(wire.reply(*blocks, stop_reason=stop_reason, usage=usage, model="claude-sonnet-4-6"))
    chunks = data.draw(strategies.chunkings(whole))
    mine, other = ours(chunks), theirs(chunks)
    assert [plain(block) for block in mine.message("anthropic", "").content] == [
        {key: value for key, value in block.items() if value is not None} for block in other["content"]
    ]
    assert (mine.id, mine.stop_reason, mine.model) == (other["id"], other["stop_reason"], MODEL)
    assert mine.usage == usage
    assert other["usage"]["input_tokens"] == 100 - read


@SLOW
@given(st.lists(BLOCKS, max_size=3), st.data())
def test_events_do_not_depend_on_how_the_answer_is_cut(
    blocks: list[inner.WireBlock], data: st.DataObject
) -> None:
    whole = b"".join(wire.reply(*blocks))

    def events(chunks: list[bytes]) -> list[Any]:
        framing = BedrockFraming()
        return [event for chunk in chunks for event in framing.feed(chunk)]

    assert events(data.draw(strategies.chunkings(whole))) == events([whole])


@pytest.mark.anyio
@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
    ],
)
async def test_the_request_is_the_one_that_the_vendors_client_sends(model: str) -> None:
    tool = ToolSpec(
        name="Read", description="Read.", input_schema={"type": "object", "properties": {"p": {}}}
    )
    request = CompletionRequest(
        model=model, messages=(system("Be brief."), user("Hi 🌍")), max_tokens=64, tools=(tool,)
    )
    with LoopbackServer([wire.exchange(inner.text("Hello"))]) as server:
        provider = BedrockFactory(environ={"AWS_REGION": "us-east-1"}).create(
            ProviderOptions(api_key="k", base_url=server.url, extra={"anthropic_beta": "a-1, b-2"})
        )
        async with provider.stream(request) as events:
            async for _ in events:
                pass
        await provider.aclose()
    sent: list[httpx2.Request] = []

    def answer(got: httpx2.Request) -> httpx2.Response:
        sent.append(got)
        return httpx2.Response(200, headers={"content-type": wire.CONTENT_TYPE}, content=b"")

    mine = server.requests[0]
    bare = {name: value for name, value in mine.json.items() if not name.startswith("anthropic_")}
    with client(answer) as bedrock:
        bedrock.messages.create(
            model=model,
            stream=True,
            extra_headers={"anthropic-beta": "a-1,b-2"},
            extra_body={"anthropic_version": "bedrock-2023-05-31"},
            **bare,
        )
    assert unquote(mine.path) == unquote(sent[0].url.path)
    assert mine.json == json.loads(sent[0].content)
    assert mine.headers["authorization"] == sent[0].headers["authorization"] == "Bearer k"
