"""Sessions written down: fences that hold, secrets that go, keys of folders, transcripts that come back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from caliban_common.mask import Masker
from caliban_common.message import (
    Base64Source,
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
    assistant,
    user,
)
from caliban_common.usage import Usage
from caliban_sessions import SessionState
from caliban_sessions.export import (
    Script,
    Step,
    as_json,
    as_markdown,
    as_page,
    as_transcript,
    masked_script,
    project_key,
)
from caliban_sessions.intake import read_claude, read_exported

SECRET = "zX9" * 9
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


def script(*messages: Message, **more: object) -> Script:
    state = SessionState(
        name="s",
        id="i",
        created_at=NOW,
        updated_at=NOW,
        provider="anthropic",
        model="m",
        messages=messages,
        **more,
    )
    return Script(state=state, steps=tuple(Step(message=message, at=NOW) for message in messages))


def every_block(text: str) -> tuple[Message, ...]:
    pdf = DocumentBlock(source=Base64Source(media_type="application/pdf", data="aGk="), title=text)
    image = ImageBlock(source=UrlSource(url=f"https://example.org/{text}"))
    return (
        Message(role="user", content=(TextBlock(text=text), image, pdf), id="a"),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(text=text, signature="sig"),
                RedactedThinkingBlock(data="x"),
                OpaqueBlock(family="anthropic", data={"note": text}),
                ToolUseBlock(id="t", name="Bash", input={"command": text}),
            ),
            id="b",
            family="anthropic",
            model="m",
        ),
        Message(
            role="user",
            content=(ToolResultBlock(tool_use_id="t", content=(TextBlock(text=text), image, pdf)),),
            id="c",
        ),
    )


@pytest.mark.parametrize("form", [as_markdown, as_json, as_page, as_transcript])
def test_a_secret_is_in_no_block_of_no_form(form) -> None:
    whole = script(*every_block(SECRET), title=SECRET, labels=(SECRET,), workspace=f"/w/{SECRET}")
    assert SECRET in form(whole)
    text = form(masked_script(whole, Masker([SECRET])))
    assert SECRET not in text and SECRET[:20] not in text


def test_what_has_no_secret_stays_as_it_is() -> None:
    whole = script(*every_block("plain"))
    assert masked_script(whole, Masker([SECRET])) == whole


@pytest.mark.parametrize("text", ["```\n# x\n```", "````", "`" * 50, "~~~"])
def test_no_text_ends_its_fence(text: str) -> None:
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text=text),))
    lines = as_markdown(script(Message(role="user", content=(result,)))).splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("```"))
    fence = lines[begin]
    assert lines[begin + 1 : -1] == text.splitlines()
    assert lines[-1] == fence
    assert all(fence not in line for line in text.splitlines())


def test_a_huge_text_is_cut_with_a_note_but_in_json() -> None:
    whole = script(user("z" * 10_000_000))
    for form in (as_markdown, as_page):
        text = form(whole)
        assert len(text) < 1_100_000 and "9,000,000 more characters are left out here" in text
    assert "z" * 10_000_000 in as_json(whole)


def test_controls_and_bidi_are_shown_and_not_done() -> None:
    for form in (as_markdown, as_page):
        text = form(script(user("\x1b[31m \u202e \x07 \u2066 \x00"), title="a\u202eb"))
        assert not set(text) & set("\x1b\u202e\x07\u2066\x00")
        assert "\\x1b[31m \\u202e \\x07 \\u2066 \\x00" in text


def test_an_export_as_json_comes_back_whole() -> None:
    whole = script(*every_block("plain"), title="T", labels=("a",), total_usage=Usage(input_tokens=3))
    taken = read_exported(as_json(whole).encode())
    assert taken.left_out == ()
    assert taken.state.messages == whole.state.messages
    assert (taken.state.title, taken.state.labels, taken.state.total_usage.input_tokens) == ("T", ("a",), 3)
    assert taken.facts["a"] == {"at": "2026-11-27T10:00:00.000Z"}


def test_a_mirrored_transcript_comes_back_but_for_what_only_we_know() -> None:
    whole = script(*every_block("plain"), assistant("done", id="d"), title="T", labels=("a",), workspace="/w")
    text = as_transcript(whole)
    assert text.startswith('{"version":"caliban/1",')
    taken = read_claude(text.encode())
    assert taken.left_out == ()
    blocks = [type(block).__name__ for message in taken.state.messages for block in message.content]
    sent = [type(block).__name__ for message in whole.state.messages for block in message.content]
    assert blocks == [name for name in sent if name != "OpaqueBlock"]
    assert (taken.state.title, taken.state.labels, taken.state.workspace) == ("T", ("a",), "/w")
    ids = [json.loads(line).get("uuid") for line in text.splitlines()]
    assert [json.loads(line)["parentUuid"] for line in text.splitlines()[:4]] == [None, *ids[:3]]


@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("/home/me/a.b_c", "-home-me-a-b-c"),
        ("/u\u0308/é" + "x" * 10, "----xxxxxxxxxx"),
        ("/" + "abc/" * 80, "c-abc-abc-abc-4vpznl"),
        ("/" + "\U0001f600ü" * 120, "--------------p7pvox"),
    ],
)
def test_the_folder_of_a_directory_is_called_as_the_helpers_look_for_it(path: str, end: str) -> None:
    assert project_key(path).endswith(end)
    assert len(project_key(path)) <= 208
