"""The vendor's own client as a second opinion: on what we make of a stream, and on what we send."""

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
from caliban_provider.assemble import Assembler
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing import strategies
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.decode import Decoder
from caliban_provider_anthropic.testing import wire
from caliban_provider_vertex.factory import VertexFactory
from caliban_provider_vertex.settings import VertexSettings
from caliban_provider_vertex.testing.tokens import FakeTokens
from caliban_provider_vertex.transport import VertexTransport

anthropic = Late("anthropic")

SLOW = settings(max_examples=examples(40))
BLOCKS = st.one_of(
    st.builds(lambda text, size: wire.text(text, piece_chars=size), strategies.texts(), st.integers(1, 9)),
    st.builds(lambda input: wire.tool_use("Read", input, piece_chars=3), strategies.json_objects),
)


def client(answer: Any) -> anthropic.AnthropicVertex:
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return anthropic.AnthropicVertex(
        access_token="t",
        region="us-east5",
        project_id="p-1",
        base_url="http://vendor/v1",
        max_retries=0,
        http_client=http,
    )


@SLOW
@given(st.lists(BLOCKS, max_size=4), st.data())
def test_a_reply_is_what_the_vendors_client_makes_of_it(
    blocks: list[wire.WireBlock], data: st.DataObject
) -> None:
    chunks = data.draw(strategies.chunkings(b"".join(wire.reply(*blocks))))
    framing = VertexTransport(VertexSettings(root="http://v"), FakeTokens(["t"])).framing()
    decoder, mine = Decoder(model=wire.MODEL), Assembler()
    for chunk in chunks:
        for item in framing.feed(chunk):
            for event in decoder.feed(item):
                mine.add(event)

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))

    with (
        client(answer) as vertex,
        vertex.messages.stream(
            model=wire.MODEL, max_tokens=9, messages=[{"role": "user", "content": "x"}]
        ) as stream,
    ):
        other = stream.get_final_message().to_dict()
    parts: list[dict[str, Any]] = []
    for block in mine.message("anthropic", "").content:
        names = ("text",) if block.type == "text" else ("id", "name", "input")
        parts.append({"type": block.type, **{name: getattr(block, name) for name in names}})
    assert parts == [
        {key: value for key, value in block.items() if value is not None} for block in other["content"]
    ]
    assert (mine.id, mine.stop_reason) == (other["id"], other["stop_reason"])


@pytest.mark.anyio
@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-haiku-4-5@20251001"])
async def test_the_request_is_the_one_that_the_vendors_client_sends(model: str) -> None:
    tool = ToolSpec(
        name="Read", description="Read.", input_schema={"type": "object", "properties": {"p": {}}}
    )
    request = CompletionRequest(
        model=model, messages=(system("Be brief."), user("Hi 🌍")), max_tokens=64, tools=(tool,)
    )
    with LoopbackServer([wire.exchange(wire.text("Hello"))]) as server:
        factory = VertexFactory(environ={"CLOUD_ML_REGION": "us-east5", "GOOGLE_CLOUD_PROJECT": "p-1"})
        provider = factory.create(ProviderOptions(api_key="t", base_url=f"{server.url}/v1"))
        async with provider.stream(request) as events:
            async for _ in events:
                pass
        await provider.aclose()
    sent: list[httpx2.Request] = []

    def answer(got: httpx2.Request) -> httpx2.Response:
        sent.append(got)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"")

    mine = server.requests[0]
    bare = {name: value for name, value in mine.json.items() if name != "anthropic_version"}
    with client(answer) as vertex:
        vertex.messages.create(model=model, extra_body={"anthropic_version": "vertex-2023-10-16"}, **bare)
    assert unquote(mine.path) == unquote(sent[0].url.path)
    assert mine.json == json.loads(sent[0].content)
    assert mine.headers["authorization"] == sent[0].headers["authorization"] == "Bearer t"
