"""Calls that a model writes as text."""

from __future__ import annotations

import json

import pytest

from caliban_common.message import TextBlock, ToolUseBlock
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.errors import ProviderError, StreamInterrupted
from caliban_provider.request import CompletionRequest
from caliban_provider.spoken_calls import SpokenCall, spoken_calls
from caliban_provider.spoken_provider import SpokenCallsProvider
from caliban_provider.stream import TextDelta
from caliban_provider.testing.contract import ask
from caliban_provider.testing.scripted import ScriptedProvider, reply, text

pytestmark = pytest.mark.anyio

READ = ToolSpec(
    name="Read",
    description="Reads.",
    kind="read",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
)
CALL = '{"name": "Read", "arguments": {"path": "a"}}'
DOUBLED = '{{"name": "Read", "arguments": {"path": "a"}}}'
ONE = SpokenCall(name="Read", input={"path": "a"})


@pytest.mark.parametrize(
    ("written", "before", "calls"),
    [
        (CALL, "", 1),
        (f"  {CALL}\n", "", 1),
        (DOUBLED, "", 1),
        (CALL.replace("arguments", "parameters"), "", 1),
        (f"{CALL}\n{CALL}", "", 2),
        (f"[{CALL}, {CALL}]", "", 2),
        (f"```json\n{CALL}\n```", "", 1),
        (f"```\n{CALL}\n```\n```\n{CALL}\n```", "", 2),
        (f"<tool_call>\n{CALL}\n</tool_call>", "", 1),
        (f"I look. <tool_call>{CALL}</tool_call><tool_call>{CALL}</tool_call>", "I look. ", 2),
        (f"<tool_call>{CALL}", "", 1),
        (json.dumps({"type": "function", "function": json.loads(CALL)}), "", 1),
    ],
)
def test_a_reply_that_is_calls_and_nothing_else_is_these_calls(written: str, before: str, calls: int) -> None:
    assert spoken_calls(written, [READ]) == (before, (ONE,) * calls)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "{",
        "Paris.",
        f"Say {CALL} to read.",
        f"{CALL} reads a file.",
        f"```json\n{CALL}\n``` reads a file.",
        f"<tool_call>{CALL}</tool_call> reads a file.",
        CALL.replace("Read", "Write"),
        CALL.replace("path", "file"),
        '{"name": "Read", "arguments": {}}',
        '{"name": "Read"}',
        '{"name": "Read", "arguments": "no"}',
        f"{CALL}\n" + CALL.replace("Read", "Write"),
        "[1]",
        "[" * 100_000,
    ],
)
def test_anything_else_stays_text(written: str) -> None:
    assert spoken_calls(written, [READ]) == (written, ())


def _request(model: str) -> CompletionRequest:
    return CompletionRequest(
        model=model, messages=ask("hi", model=model).messages, max_tokens=100, tools=(READ,)
    )


@pytest.mark.parametrize("piece_chars", [1, 3, 1000])
@pytest.mark.parametrize(
    ("written", "content", "stop"),
    [
        (DOUBLED, (ToolUseBlock(id="?", name="Read", input={"path": "a"}),), "tool_use"),
        (
            f"I look. <tool_call>{CALL}</tool_call>",
            (TextBlock(text="I look. "), ToolUseBlock(id="?", name="Read", input={"path": "a"})),
            "tool_use",
        ),
        ("{not a call}", (TextBlock(text="{not a call}"),), "end_turn"),
        ("2 < 3 and <tools>", (TextBlock(text="2 < 3 and <tools>"),), "end_turn"),
    ],
)
async def test_the_stream_of_an_open_model_is_read_for_calls_and_said_once(
    written: str, content: tuple[object, ...], stop: str, piece_chars: int
) -> None:
    notices: list[str] = []
    inner = ScriptedProvider([reply(text(written), piece_chars=piece_chars)] * 2)
    provider = SpokenCallsProvider(inner, notices.append)
    for _ in range(2):
        assembler = Assembler()
        async with provider.stream(_request("QWEN.gguf")) as events:
            async for event in events:
                assembler.add(event)
        made = assembler.message("f", "m").content
        assert tuple(_anonymous(block) for block in made) == content
        assert assembler.stop_reason == stop
    assert len(notices) == (stop == "tool_use")


def _anonymous(block: object) -> object:
    if isinstance(block, ToolUseBlock):
        return ToolUseBlock(id="?", name=block.name, input=block.input)
    return block


async def test_a_model_that_speaks_calls_properly_is_read_as_it_is() -> None:
    inner = ScriptedProvider([reply(text(CALL))])
    assembler = Assembler()
    async with SpokenCallsProvider(inner, print).stream(_request("gpt-5.5")) as events:
        async for event in events:
            assembler.add(event)
    assert assembler.message("f", "m").content == (TextBlock(text=CALL),)


async def _told(inner: ScriptedProvider) -> tuple[list[str], Assembler, ProviderError | None]:
    """The pieces of text that come, the reply as far as it does, and the error that ends it."""
    pieces: list[str] = []
    assembler = Assembler()
    try:
        async with SpokenCallsProvider(inner, print).stream(_request("qwen3")) as events:
            async for event in events:
                assembler.add(event)
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
    except ProviderError as error:
        return pieces, assembler, error
    return pieces, assembler, None


@pytest.mark.parametrize(
    "written",
    [
        CALL,
        "  \n{",
        "```json\n" + CALL,
        "```",
        f"<tool_call>{CALL}",
        "<tool",
        f"I look. <tool_call>{CALL}",
        "I look. <tool",
    ],
)
async def test_what_is_held_of_a_reply_that_is_cut_comes_before_the_failure(written: str) -> None:
    cut = reply(text(written), error=StreamInterrupted("cut"), error_after=len(written) + 2, piece_chars=1)
    pieces, assembler, error = await _told(ScriptedProvider([cut]))
    assert ("".join(pieces), error) == (written, cut.error)
    assert assembler.message("f", "m").content == (TextBlock(text=written),)


@pytest.mark.parametrize(
    ("written", "held"),
    [
        ("```python\nprint(1)\n```", "```p"),
        ("```\nls -l\n```", "```\nl"),
        ("```jsonc\n{}\n```", "```jsonc"),
        ("[see](https://a.example)", "[s"),
        ("{}\n", "{}"),
        ("{ x: 1 }", "{ x"),
        ("<b>bold</b>", "<b"),
        (" " * 3000 + "x", " " * 2001),
    ],
)
async def test_text_that_can_be_no_call_is_given_out_as_it_comes(written: str, held: str) -> None:
    pieces, _, _ = await _told(ScriptedProvider([reply(text(written), piece_chars=1)]))
    assert "".join(pieces) == written
    assert pieces[0] == held


async def test_a_call_that_never_ends_is_text_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("caliban_provider.spoken_calls.MAX_CALL_CHARS", 100)
    written = '{"name": "Read", "arguments": {"path": "' + "a" * 200
    pieces, assembler, _ = await _told(ScriptedProvider([reply(text(written), piece_chars=1)]))
    assert (len(pieces[0]), "".join(pieces)) == (101, written)
    assert assembler.message("f", "m").content == (TextBlock(text=written),)
