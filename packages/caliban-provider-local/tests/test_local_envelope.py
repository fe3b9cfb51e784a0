"""The JSON form of tool calls: made as a schema, read while it is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.tool import ToolSpec
from caliban_provider_local.calls import call_words, form_schema, form_words
from caliban_provider_local.envelope import AnswerText, CallBegun, CallInput, EnvelopeReader, Piece

READ = ToolSpec(
    name="Read",
    description="Read a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
LOOSE = ToolSpec(name="Loose", description="Anything.", input_schema={})

CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text(max_size=6), JSON, max_size=4)
SPACE = st.sampled_from([None, 1, 2, "\t"])


def pieces_of(text: str, cuts: list[int], *, raw_answer: bool = False) -> tuple[EnvelopeReader, list[Piece]]:
    reader = EnvelopeReader(raw_answer=raw_answer)
    pieces: list[Piece] = []
    at = 0
    while at < len(text):
        step = cuts[at % len(cuts)]
        pieces += reader.feed(text[at : at + step])
        at += step
    return reader, pieces + reader.close()


def answer_of(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, AnswerText))


@given(text=st.text(), cuts=CUTS, ascii=st.booleans(), indent=SPACE)
def test_an_answer_comes_out_as_it_was_meant_however_it_is_cut(
    text: str, cuts: list[int], ascii: bool, indent: Any
) -> None:
    written = json.dumps({"answer": text}, ensure_ascii=ascii, indent=indent)
    reader, pieces = pieces_of(written, cuts)
    assert answer_of(pieces) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert not reader.called


@given(input=OBJECT, cuts=CUTS, ascii=st.booleans(), indent=SPACE)
def test_a_call_comes_out_with_its_arguments_however_it_is_cut(
    input: dict[str, Any], cuts: list[int], ascii: bool, indent: Any
) -> None:
    written = json.dumps({"tool": 'A"b', "arguments": input}, ensure_ascii=ascii, indent=indent)
    reader, pieces = pieces_of(written, cuts)
    assert pieces[0] == CallBegun('A"b')
    assert all(isinstance(piece, CallInput) for piece in pieces[1:])
    assert (
        json.loads("".join(piece.partial_json for piece in pieces if isinstance(piece, CallInput))) == input
    )
    assert reader.called


@given(value=JSON, cuts=CUTS, indent=SPACE)
def test_an_answer_of_any_json_keeps_its_text(value: Any, cuts: list[int], indent: Any) -> None:
    _, pieces = pieces_of(json.dumps({"answer": value}, indent=indent), cuts, raw_answer=True)
    assert json.loads(answer_of(pieces)) == value


def test_an_answer_streams_before_it_is_complete() -> None:
    reader = EnvelopeReader()
    assert reader.feed('{"answer": "He') == [AnswerText("He")]
    assert reader.feed("llo \\ud83d") == [AnswerText("llo ")]
    assert reader.feed("\\ude00!") == [AnswerText("😀!")]
    assert reader.feed('"}') == []


def test_arguments_stream_before_they_are_complete() -> None:
    reader = EnvelopeReader()
    assert reader.feed('{"tool": "Read", "arguments": {"pa') == [CallBegun("Read"), CallInput('{"pa')]
    assert reader.feed('th": "a}"') == [CallInput('th": "a}"')]
    assert reader.feed("}}\n") == [CallInput("}")]


@pytest.mark.parametrize("text", ["Hello there", " [1]", "{" + " " * 3000 + "x"])
def test_text_without_the_form_is_the_answer(text: str) -> None:
    assert answer_of(pieces_of(text, [5])[1]) == text


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ('{"too', []),
        ('{"answer": "ab\\u12', [AnswerText("ab"), AnswerText("\\u12")]),
        ('{"answer": "ab\\ud83d', [AnswerText("ab"), AnswerText("\ufffd")]),
        ('{"tool": "Read", "arguments": {"a', [CallBegun("Read"), CallInput('{"a')]),
    ],
)
def test_a_reply_cut_short_gives_what_there_is(text: str, pieces: list[Piece]) -> None:
    assert pieces_of(text, [1000])[1] == pieces


def test_the_schema_has_one_branch_per_tool_and_one_for_an_answer() -> None:
    def closed(**properties: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    read = closed(tool={"const": "Read"}, arguments=dict(READ.input_schema))
    loose = closed(tool={"const": "Loose"}, arguments={"type": "object"})
    answer = closed(answer={"type": "string"})
    assert form_schema([READ, LOOSE], answer=True) == {"anyOf": [read, loose, answer]}
    assert form_schema([READ], answer=False) == read
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert form_schema([LOOSE], answer=True, answer_schema=shape) == {"anyOf": [loose, closed(answer=shape)]}


def test_a_schema_that_refers_to_itself_takes_its_references_along() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    tool = ToolSpec(
        name="Tree",
        description="",
        input_schema={
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": node},
        },
    )
    schema = form_schema([LOOSE, tool], answer=False)
    assert schema["anyOf"][1]["properties"]["arguments"] == {"$ref": "#/$defs/tool1"}
    moved = schema["$defs"]["tool1"]
    assert moved["properties"]["root"] == {"$ref": "#/$defs/tool1/$defs/Node"}
    assert moved["$defs"]["Node"]["properties"]["next"] == {"$ref": "#/$defs/tool1/$defs/Node"}


def test_the_words_name_every_tool_and_an_earlier_call_has_the_form_of_a_new_one() -> None:
    words = form_words([READ], answer=True)
    assert '- Read: Read a file. Arguments: {"type":"object",' in words
    assert '{"answer": TEXT}' in words
    assert "answer" not in form_words([READ], answer=False)
    written = call_words("Read", {"path": "ä"}, None)
    _, pieces = pieces_of(written, [3])
    assert pieces[0] == CallBegun("Read")
    assert json.loads(written) == {"tool": "Read", "arguments": {"path": "ä"}}
    assert call_words("Read", {}, "{broken") == '{"tool": "Read", "arguments": {broken}'
