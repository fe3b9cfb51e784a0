"""Hypothesis strategies for messages, histories and chunked bytes; import this from tests only."""

from __future__ import annotations

from hypothesis import strategies as st

from caliban_common.message import (
    Block,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

_NAMES = st.sampled_from(("Read", "Bash", "mcp__server__tool"))

json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
"""What JSON can say, without floats, so that a round trip is exact."""

json_objects: st.SearchStrategy[dict[str, object]] = st.dictionaries(
    st.text(max_size=8), json_values, max_size=4
)
"""The input of a tool call."""


def texts(*, min_size: int = 1) -> st.SearchStrategy[str]:
    """Text that any wire can carry (no lone surrogates), rich in what breaks decoders."""
    awkward = st.sampled_from(
        ("\u2028", "\u0085", "\r\n", "\n\n", "data: ", "🌍", "e\u0301", '"', "\\", "\x00")
    )
    return (
        st.lists(st.text(max_size=8) | awkward, min_size=min_size, max_size=6)
        .map("".join)
        .filter(lambda text: len(text) >= min_size)
    )


def assistant_blocks(call_id: str) -> st.SearchStrategy[Block]:
    """A block that a model may write; a tool call has the id `call_id`."""
    return st.one_of(
        st.builds(TextBlock, text=texts()),
        st.builds(ThinkingBlock, text=texts(), signature=st.none() | st.text("abcdef0123456789", min_size=4)),
        st.builds(RedactedThinkingBlock, data=st.text("abcdef0123456789", min_size=4, max_size=20)),
        st.builds(ToolUseBlock, id=st.just(call_id), name=_NAMES, input=json_objects),
    )


@st.composite
def assistant_messages(draw: st.DrawFn, *, prefix: str = "call") -> Message:
    """A reply of one to four blocks with distinct call ids."""
    size = draw(st.integers(1, 4))
    blocks = tuple(draw(assistant_blocks(f"{prefix}_{number}")) for number in range(size))
    return Message(role="assistant", content=blocks, family="test", model="test-1")


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """A history that is valid to send: alternating roles, every call answered in the next message."""
    messages = (
        [Message(role="system", content=(TextBlock(text=draw(texts())),))] if draw(st.booleans()) else []
    )
    messages.append(Message(role="user", content=(TextBlock(text=draw(texts())),)))
    for turn in range(draw(st.integers(0, 3))):
        reply = draw(assistant_messages(prefix=f"call_{turn}"))
        answers: tuple[Block, ...] = tuple(draw(_result(call.id)) for call in reply.tool_uses)
        if not answers or draw(st.booleans()):
            answers = (*answers, TextBlock(text=draw(texts())))
        messages += [reply, Message(role="user", content=answers)]
    return tuple(messages)


def chunkings(data: bytes) -> st.SearchStrategy[list[bytes]]:
    """Ways to cut `data` into pieces, empty pieces included; joined they are `data` again."""
    cuts = st.lists(st.integers(0, len(data)), max_size=12).map(sorted)
    bytewise = st.just([data[at : at + 1] for at in range(len(data))])
    return cuts.map(lambda at: _cut(data, at)) | bytewise


def _cut(data: bytes, at: list[int]) -> list[bytes]:
    return [data[start:end] for start, end in zip([0, *at], [*at, len(data)], strict=True)]


def _result(call_id: str) -> st.SearchStrategy[Block]:
    content = st.lists(
        st.builds(TextBlock, text=texts())
        | st.builds(ImageBlock.of, media_type=st.just("image/png"), data=st.just("iVBORw0KGgo=")),
        min_size=1,
        max_size=2,
    )
    return st.builds(
        ToolResultBlock, tool_use_id=st.just(call_id), content=content.map(tuple), is_error=st.booleans()
    )
