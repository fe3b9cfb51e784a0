"""What clouds take less of, and the mark of a prompt that is kept for an hour."""

from __future__ import annotations

import json

import pytest

from caliban_common.message import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock, UrlSource
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.encode import Encoder
from caliban_provider_anthropic.narrow import ROOMY, Limits, within

LONG = "mcp__" + "a" * 70
SPEC = ToolSpec(name=LONG, description="Does.", kind="read", input_schema={"type": "object"})


def request(*messages: Message, **options: object) -> CompletionRequest:
    return CompletionRequest(model="claude-opus-5", messages=messages, max_tokens=100, **options)  # type: ignore[arg-type]


HI = Message(role="user", content=(TextBlock(text="hi"),))


def test_names_that_are_too_long_are_shortened_everywhere_and_can_be_told_back() -> None:
    used = Message(role="assistant", content=(ToolUseBlock(id="c", name=LONG, input={}),))
    result = Message(role="user", content=(ToolResultBlock(tool_use_id="c", content=(TextBlock(text="x"),)),))
    short, names = within(
        request(HI, used, result, tools=(SPEC,), tool_choice=LONG), Limits(name_chars=64, image_urls=False)
    )
    ((wire, ours),) = names.items()
    assert (ours, len(wire)) == (LONG, 64)
    assert short.tools[0].name == short.tool_choice == short.messages[1].tool_uses[0].name == wire


def test_a_request_that_fits_stays_as_it_is() -> None:
    asked = request(HI, tools=(SPEC,))
    assert within(asked, ROOMY) == (asked, {})


@pytest.mark.parametrize("inside", [False, True])
def test_the_address_of_an_image_is_refused_before_it_is_sent(inside: bool) -> None:
    image = ImageBlock(source=UrlSource(url="https://example.org/a.png"))
    block = ToolResultBlock(tool_use_id="c", content=(image,)) if inside else image
    with pytest.raises(InvalidRequest, match="does not fetch images"):
        within(request(Message(role="user", content=(block,))), Limits(image_urls=False))


def test_a_prompt_may_be_kept_for_an_hour() -> None:
    body = json.loads(Encoder(cache_ttl="1h").body(request(HI, tools=(SPEC,))).join())
    mark = {"type": "ephemeral", "ttl": "1h"}
    assert body["tools"][0]["cache_control"] == mark
    assert body["messages"][0]["content"][0]["cache_control"] == mark
