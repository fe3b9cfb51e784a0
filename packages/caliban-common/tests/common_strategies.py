"""Generators of messages: well-formed ones, odd ones, and whole histories that something has damaged."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st
from msgspec.structs import replace

import caliban_common.message as made
from caliban_common.message import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)

ID = "m"
"""One id for all messages here: what is compared is what they say."""

user = partial(made.user, id=ID)
system = partial(made.system, id=ID)
assistant = partial(made.assistant, id=ID)

ODD = (
    "",
    " ",
    "\n\t",
    "\x00",
    "\x1b[2J",
    "\u2028",
    "\ud800",
    "\udc00x",
    "\ud83d\ude00",
    "é",
    "日本",
    "a" * 300,
)

any_text = st.one_of(
    st.text(max_size=20),
    st.sampled_from(ODD),
    st.text(alphabet=st.characters(categories=["Cs", "Lu", "Zs"]), max_size=8),
)
clean_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
prose = clean_text.filter(lambda text: bool(text.strip()))


def json_values(text: st.SearchStrategy[str], *, finite: bool = True) -> st.SearchStrategy[object]:
    """Plain JSON data with strings of `text`."""
    floats = st.floats(allow_nan=not finite, allow_infinity=not finite)
    scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, text)
    return st.recursive(
        scalars,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
        max_leaves=8,
    )


def objects(text: st.SearchStrategy[str], *, finite: bool = True) -> st.SearchStrategy[dict[str, object]]:
    """Plain JSON objects."""
    return st.dictionaries(text, json_values(text, finite=finite), max_size=3)


def blocks(text: st.SearchStrategy[str], *, finite: bool = True) -> st.SearchStrategy[Block]:
    """Blocks of every type."""
    texts = st.builds(TextBlock, text=text)
    inline = st.builds(Base64Source, media_type=text, data=text)
    images = st.builds(ImageBlock, source=inline | st.builds(UrlSource, url=text, media_type=text))
    content = st.lists(st.one_of(texts, images), max_size=3).map(tuple)
    return st.one_of(
        texts,
        images,
        st.builds(DocumentBlock, source=inline, title=st.none() | text),
        st.builds(ThinkingBlock, text=text, signature=st.none() | text),
        st.builds(RedactedThinkingBlock, data=text),
        st.builds(
            ToolUseBlock, id=text, name=text, input=objects(text, finite=finite), raw_input=st.none() | text
        ),
        st.builds(ToolResultBlock, tool_use_id=text, content=content, is_error=st.booleans()),
        st.builds(OpaqueBlock, family=text, data=objects(text, finite=finite)),
    )


def messages(text: st.SearchStrategy[str], *, finite: bool = True) -> st.SearchStrategy[Message]:
    """Messages of any content in any role."""
    return st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant"]),
        content=st.lists(blocks(text, finite=finite), max_size=4).map(tuple),
        id=text.filter(bool),
        family=st.none() | st.sampled_from(["anthropic", "openai"]),
        model=st.none() | st.sampled_from(["m", "n"]),
    )


def call(id: str, name: str = "Read", **input: object) -> ToolUseBlock:
    """A tool call."""
    return ToolUseBlock(id=id, name=name, input=input)


def result(id: str, text: str = "ok", *, is_error: bool = False) -> ToolResultBlock:
    """A tool result of one text."""
    return ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),), is_error=is_error)


def reply(*content: Block, family: str = "anthropic", model: str = "m") -> Message:
    """An assistant message as a model of `family` left it."""
    return Message(role="assistant", content=content, family=family, model=model, id=ID)


def results(*content: Block) -> Message:
    """A user message of results."""
    return Message(role="user", content=content, id=ID)


@st.composite
def valid_histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Histories as a run leaves them: every call answered at once, ids unique, nothing empty."""
    history = [system("be good")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(0, 3))):
        history.append(user(draw(prose)))
        for _ in range(draw(st.integers(0, 3))):
            count = draw(st.integers(1, 3))
            ids = [f"call_{number + offset}" for offset in range(count)]
            number += count
            thought = (ThinkingBlock(text="hm", signature="sig"),) if draw(st.booleans()) else ()
            history.append(reply(*thought, *(call(id, path="/a") for id in ids)))
            history.append(results(*(result(id) for id in ids)))
        history.append(assistant(draw(prose)))
    return tuple(history)


@st.composite
def damaged_histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Histories cut anywhere, with results moved, doubled, lost and renamed, and odd messages between."""
    history = list(draw(valid_histories()))
    start = draw(st.integers(0, len(history)))
    history = history[start : draw(st.integers(start, len(history)))]
    loose: list[ToolResultBlock] = []
    for number, message in enumerate(history):
        kept = [block for block in message.content if not isinstance(block, ToolResultBlock)]
        for block in message.tool_results:
            fate = draw(st.sampled_from(["keep", "keep", "keep", "lose", "double", "move"]))
            kept += [block] * {"keep": 1, "double": 2}.get(fate, 0)
            loose += [block] if fate == "move" else []
        history[number] = replace(message, content=tuple(kept))
    for block in loose:
        history.insert(draw(st.integers(0, len(history))), results(block))
    for odd in draw(st.lists(messages(any_text, finite=False), max_size=2)):
        history.insert(draw(st.integers(0, len(history))), odd)
    if draw(st.booleans()):
        history = [_with_one_id(message) for message in history]
    return tuple(history)


def _with_one_id(message: Message) -> Message:
    """`message` as a server writes it that calls every call the same."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            block = replace(block, id="call")
        elif isinstance(block, ToolResultBlock):
            block = replace(block, tool_use_id="call")
        content.append(block)
    return replace(message, content=tuple(content))
