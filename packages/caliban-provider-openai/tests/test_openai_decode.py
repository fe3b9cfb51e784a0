"""What the two readers make of replies, good and odd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.message import OpaqueBlock, TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.errors import (
    BadResponse,
    BillingError,
    ContextTooLong,
    InvalidRequest,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.reader import WireDecoder
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.testing.contract import assert_order
from caliban_provider_openai.chat.decode import ChatDecoder, Style
from caliban_provider_openai.responses.decode import ResponsesDecoder
from caliban_provider_openai.testing import chat, responses


def folded(pieces: list[bytes], decoder: WireDecoder[SSEEvent]) -> Assembler:
    sse, events = SSEDecoder(), []
    for item in [*sse.feed(b"".join(pieces)), *sse.close()]:
        events += decoder.feed(item)
    events += decoder.finish()
    assert_order(events)
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler


def response(pieces: list[bytes], **options: Any) -> Assembler:
    return folded(pieces, ResponsesDecoder(model=responses.MODEL, **options))


def completion(pieces: list[bytes], **options: Any) -> Assembler:
    named = {name: options.pop(name) for name in ("names", "secrets") if name in options}
    return folded(pieces, ChatDecoder(model=chat.MODEL, style=Style(**options), **named))


def content(assembler: Assembler) -> tuple[Any, ...]:
    return assembler.message("openai", "m").content


def test_a_response_becomes_thinking_its_ciphertext_text_and_calls() -> None:
    thought = responses.reasoning("First.", "Then.", encrypted="gAAAA-whole", piece_chars=2)
    usage = Usage(
        input_tokens=100, output_tokens=50, cache_read_tokens=60, cache_write_tokens=5, thinking_tokens=20
    )
    reply = response(
        responses.reply(
            thought,
            responses.text("Let me ", "look.", phase="commentary"),
            responses.call("Read", {"path": "a"}, call_id="call_1", piece_chars=3),
            usage=usage,
            model="gpt-5.5-2026-04-23",
        )
    )
    assert content(reply) == (
        ThinkingBlock(text="First.\n\nThen."),
        OpaqueBlock(family="openai", data=dict(thought.whole)),
        TextBlock(text="Let me look."),
        OpaqueBlock(family="openai", data={"type": "phase", "phase": "commentary"}),
        ToolUseBlock(id="call_1", name="Read", input={"path": "a"}),
    )
    assert (reply.stop_reason, reply.usage, reply.model) == ("tool_use", usage, responses.MODEL)


def test_the_model_asked_for_stands_for_its_snapshots_and_for_whatever_an_alias_is_called() -> None:
    replies = (responses.reply(responses.text("x"), model="other"), chat.reply(chat.text("x"), model="other"))
    for aliased, model in ((False, "other"), (True, "mine")):
        made = folded(replies[0], ResponsesDecoder(model="mine", aliased=aliased))
        chatted = folded(replies[1], ChatDecoder(model="mine", style=Style(aliased=aliased)))
        assert (made.model, chatted.model) == (model, model)


def test_names_of_the_wire_become_ours() -> None:
    names = {"mcp_a": "mcp.a"}
    (call,) = content(response(responses.reply(responses.call("mcp_a", {})), names=names))
    assert call.name == "mcp.a"
    (call,) = content(completion(chat.reply(chat.call("mcp_a", {})), names=names))
    assert call.name == "mcp.a"


def test_an_item_that_is_told_at_its_end_only_is_taken_whole() -> None:
    whole = responses.reply(
        responses.text("Hello"), responses.call("Read", {"path": "a"}, call_id="call_1"), id="resp_1"
    )
    expected = (TextBlock(text="Hello"), ToolUseBlock(id="call_1", name="Read", input={"path": "a"}))
    done = [piece for piece in whole if b"output_item.done" in piece]
    for pieces in ([whole[0], *done, whole[-1]], [whole[0], whole[-1]], [whole[-1]]):
        assert content(response(pieces)) == expected


@pytest.mark.parametrize(
    ("ending", "stop_reason", "detail"),
    [
        (responses.Ending(status="incomplete", reason="max_output_tokens"), "max_tokens", None),
        (responses.Ending(status="incomplete", reason="content_filter"), "content_filter", None),
        (responses.Ending(status="incomplete", reason="steered"), "other", "steered"),
        (responses.Ending(status="incomplete"), "other", "incomplete"),
        (responses.COMPLETED, "end_turn", None),
    ],
)
def test_a_response_says_why_it_ended(ending: responses.Ending, stop_reason: str, detail: str | None) -> None:
    reply = response(responses.reply(responses.text("x"), ending=ending))
    assert (reply.stop_reason, reply.detail) == (stop_reason, detail)


def test_a_refusal_is_text_with_its_own_reason() -> None:
    for reply in (
        response(responses.reply(responses.refusal("I ", "cannot."))),
        completion(chat.reply(chat.refusal("I ", "cannot."))),
    ):
        assert (content(reply), reply.stop_reason) == ((TextBlock(text="I cannot."),), "refusal")


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("server_error", ServerError, True),
        ("rate_limit_exceeded", RateLimited, True),
        ("server_is_overloaded", Overloaded, True),
        ("insufficient_quota", BillingError, False),
        ("context_length_exceeded", ContextTooLong, False),
        ("invalid_prompt", InvalidRequest, False),
        ("data_residency_mismatch", InvalidRequest, False),
        ("bio_policy", InvalidRequest, False),
        ("image_parse_error", InvalidRequest, False),
        ("vector_store_timeout", ServerError, True),
        ("something_new", ServerError, True),
    ],
)
def test_an_error_inside_a_response_has_its_class(
    code: str, kind: type[ProviderError], retryable: bool
) -> None:
    failed = responses.reply(responses.text("x"), ending=responses.Ending(status="failed", code=code))
    event = [*responses.reply(responses.text("x"))[:3], responses.error_event(code)]
    nested = [responses.event("error", error={"type": "invalid_request_error", "code": code, "message": "m"})]
    for pieces in (failed, event):
        with pytest.raises(ProviderError) as raised:
            response(pieces)
        assert (type(raised.value), raised.value.retryable, raised.value.code) == (kind, retryable, code)
    with pytest.raises(ProviderError) as raised:
        response(nested)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "m", "type": "invalid_request_error", "code": "invalid_value"}, InvalidRequest),
        ({"message": "m", "type": "invalid_request_error", "code": None}, InvalidRequest),
        ({"message": "Overloaded", "code": 503}, Overloaded),
        ({"message": "Rate limited", "code": 429, "metadata": {}}, RateLimited),
        (
            {"message": "maximum context length", "type": "BadRequest", "code": 400},
            ContextTooLong,
        ),
        ({"message": "Internal", "type": "server_error"}, ServerError),
        ("Input too long: maximum context length", ContextTooLong),
    ],
)
def test_an_error_inside_a_completion_has_its_class(error: object, kind: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as raised:
        completion([*chat.reply(chat.text("x"))[:2], chat.data({"error": error})])
    assert type(raised.value) is kind


def test_errors_without_a_member_of_that_name_are_errors_too() -> None:
    plain = {"object": "error", "message": "No slots", "type": "overloaded", "code": 503}
    for piece in (chat.data(plain), b"event: error\n" + chat.data({"message": "No slots", "code": 503})):
        with pytest.raises(Overloaded):
            completion([piece])


def test_no_error_tells_the_key() -> None:
    with pytest.raises(ProviderError) as raised:
        completion([chat.error_event("x", "your key tok-secret-1 is bad")], secrets=("tok-secret-1",))
    assert "tok-secret-1" not in str(raised.value)


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
def test_reasoning_comes_in_two_spellings_and_is_marked_where_it_goes_back(member: str) -> None:
    pieces = chat.reply(chat.thinking("Hm", ", so.", member=member), chat.text("Yes."))
    assert content(completion(pieces)) == (ThinkingBlock(text="Hm, so."), TextBlock(text="Yes."))
    kept = content(completion(pieces, keeps_reasoning=True))
    assert kept == (ThinkingBlock(text="Hm, so.", signature=""), TextBlock(text="Yes."))


def test_reasoning_told_in_both_spellings_counts_once() -> None:
    delta = {"reasoning_content": "Hm", "reasoning": "Hm", "content": ""}
    assert content(completion(chat.reply(chat.raw(delta, delta)))) == (ThinkingBlock(text="HmHm"),)


def test_content_may_come_in_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Yes."},
    ]
    blocks = content(completion(chat.reply(chat.raw({"content": parts}))))
    assert blocks == (ThinkingBlock(text="Hm"), TextBlock(text="Yes."))


@pytest.mark.parametrize(
    ("finish", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "content_filter"),
        ("tool_calls", "end_turn"),
        ("model_length", "context_window"),
        ("FOO", "other"),
    ],
)
def test_a_completion_says_why_it_ended(finish: str, stop_reason: str) -> None:
    reply = completion(chat.reply(chat.text("x"), finish=finish))
    assert (reply.stop_reason, reply.detail) == (stop_reason, "FOO" if finish == "FOO" else None)


def test_calls_end_a_reply_as_tool_use_whatever_the_server_says() -> None:
    for finish in ("stop", "tool_calls", "function_call"):
        assert completion(chat.reply(chat.call("Read", {}), finish=finish)).stop_reason == "tool_use"
    assert completion(chat.reply(chat.call("Read", {}), finish="length")).stop_reason == "max_tokens"


def test_the_end_may_lack_its_mark_but_not_its_reason() -> None:
    whole = chat.reply(chat.text("Hello"), style=chat.Style(done=False, usage_in="last"))
    assert completion(whole).message("", "").text == "Hello"
    with pytest.raises(StreamInterrupted):
        completion(whole[:-1])
    assert completion([*whole[:-1], chat.DONE]).stop_reason == "end_turn"
    for pieces in ([], [chat.DONE]):
        with pytest.raises(StreamInterrupted):
            completion(pieces)


@pytest.mark.parametrize("last", [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": None}])
def test_a_last_chunk_without_counts_takes_none_back(last: dict[str, object]) -> None:
    whole = chat.reply(chat.text("x"), style=chat.Style(usage_in="nowhere"))
    counted = chat.chunk([], usage={"prompt_tokens": 9, "completion_tokens": 3})
    usage = completion([*whole[:-1], counted, chat.chunk([], usage=last), whole[-1]]).usage
    assert usage == Usage(input_tokens=9, output_tokens=3)


def test_usage_is_found_wherever_a_server_keeps_it() -> None:
    counted = {"prompt_tokens": 7, "completion_tokens": 3}
    whole = chat.reply(chat.text("x"), style=chat.Style(usage_in="nowhere"))
    assert completion(whole).usage == Usage()
    extra = [
        chat.chunk([], usage={**counted, "prompt_cache_hit_tokens": 4}),
        chat.chunk([], x_groq={"usage": {**counted, "prompt_tokens_details": {"cached_tokens": 4}}}),
        chat.chunk([{"index": 0, "delta": {}, "usage": {**counted, "cached_tokens": 4}}]),
    ]
    for piece in extra:
        usage = completion([*whole[:-1], piece, whole[-1]]).usage
        assert usage == Usage(input_tokens=7, output_tokens=3, cache_read_tokens=4)


def test_a_whole_message_in_a_stream_is_taken() -> None:
    message = {"role": "assistant", "content": "Hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    assert completion([chat.chunk([choice])]).message("", "").text == "Hello"


def test_other_choices_are_left_out() -> None:
    other = chat.chunk([{"index": 1, "delta": {"content": "other"}, "finish_reason": None}])
    whole = chat.reply(chat.text("mine"))
    assert completion([whole[0], other, *whole[1:]]).message("", "").text == "mine"


def test_what_is_no_chunk_is_refused() -> None:
    for piece in (b"data: {not json\n\n", b"data: []\n\n", chat.data({"choices": {}})):
        with pytest.raises(BadResponse):
            completion([piece])
    with pytest.raises(BadResponse):
        response(responses.reply(responses.text("x"))[2:])


def calls(*pieces: dict[str, Any], salt: str = "s") -> list[tuple[str, str, Any]]:
    raw = chat.raw(*({"tool_calls": [piece]} for piece in pieces))
    made = completion(chat.reply(raw, finish="tool_calls"), salt=salt).message("", "").tool_uses
    return [(call.id, call.name, call.raw_input or dict(call.input)) for call in made]


def piece(arguments: object = None, **members: Any) -> dict[str, Any]:
    name = members.pop("name", None)
    named = {} if name is None else {"name": name}
    return {**members, "function": {**named, **({} if arguments is None else {"arguments": arguments})}}


X, Y = '{"file_path":"x"}', '{"file_path":"y"}'
TWO = [("a", "Read", {"file_path": "x"}), ("b", "Read", {"file_path": "y"})]


def test_b067_calls_without_an_index_or_with_the_same_one_stay_apart() -> None:
    assert calls(piece(X, id="a", name="Read"), piece(Y, id="b", name="Read")) == TWO
    assert calls(piece(X, id="a", name="Read", index=0), piece(Y, id="b", name="Read", index=0)) == TWO
    assert (
        calls(
            piece("", id="a", name="Read"),
            piece(X[:5]),
            piece(X[5:]),
            piece("", id="b", name="Read"),
            piece(Y),
        )
        == TWO
    )


def test_b068_calls_that_grow_in_turns_keep_their_own_input_and_ghosts_are_no_calls() -> None:
    ghost = {"index": 2, "id": "", "function": {"name": "", "arguments": ""}}
    assert (
        calls(
            piece("", index=0, id="a", name="Read"),
            piece("", index=1, id="b", name="Read"),
            piece(X[:3], index=0),
            piece(Y[:9], index=1),
            ghost,
            piece(X[3:], index=0),
            piece(Y[9:], index=1),
            {"id": "", "function": {"name": "", "arguments": ""}},
        )
        == TWO
    )
    assert calls(ghost) == []


def test_id_and_name_may_come_with_every_piece() -> None:
    for index in ({}, {"index": 0}):
        pieces = [piece(part, id="a", name="Read", **index) for part in (X[:4], X[4:8], X[8:])]
        assert calls(*pieces) == TWO[:1]
        bare = [piece(part, name="Read", **index) for part in (X[:4], X[4:8], X[8:])]
        assert [call[1:] for call in calls(*bare)] == [TWO[0][1:]]


def test_ids_that_are_missing_are_made_up_and_unique() -> None:
    pieces = [piece(X, name="Read", index=0), piece(Y, name="Read", index=0)]
    made = calls(*pieces)
    assert [call[1:] for call in made] == [call[1:] for call in TWO]
    ids = {call[0] for call in (*made, *calls(*pieces, salt="other"))}
    assert len(ids) == 4 and all(ids)


def test_one_id_at_two_places_is_two_calls() -> None:
    pieces = [piece(X, id="a", name="Read", index=0), piece(Y, id="a", name="Read", index=1)]
    assert [call[1:] for call in calls(*pieces)] == [call[1:] for call in TWO]


def test_arguments_may_be_an_object_a_name_may_be_late_and_the_old_form_is_a_call() -> None:
    assert calls(piece({"file_path": "x"}, id="a", name="Read")) == TWO[:1]
    assert calls(piece(X[:4], id="a", index=0), piece(X[4:], name="Read", index=0)) == TWO[:1]
    old = chat.raw({"function_call": {"name": "Read", "arguments": X}})
    (call,) = completion(chat.reply(old, finish="function_call")).message("", "").tool_uses
    assert (call.name, call.input) == ("Read", {"file_path": "x"})


def test_broken_arguments_are_kept_as_they_came() -> None:
    assert calls(piece('{"a": ', id="a", name="Read")) == [("a", "Read", '{"a": ')]
    (call,) = content(response(responses.reply(responses.call("Read", '{"a": '))))
    assert call.raw_input == '{"a": '


def test_text_after_a_call_is_a_block_of_its_own() -> None:
    reply = completion(chat.reply(chat.text("a"), chat.call("Read", {}, id="c"), chat.text("b")))
    assert content(reply) == (
        TextBlock(text="a"),
        ToolUseBlock(id="c", name="Read", input={}),
        TextBlock(text="b"),
    )


WORDS = st.sampled_from(
    [
        "type", "item", "output_index", "delta", "response", "output", "content", "choices", "index", "id",
        "tool_calls", "function", "name", "arguments", "finish_reason", "usage", "error", "code", "summary",
        "message", "reasoning_content", "call_id", "content_index", "model", "text", "incomplete_details",
    ]
)  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "function_call", "reasoning"])
)
ODD = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)
KINDS = st.sampled_from(
    [
        "response.created", "response.output_item.added", "response.output_item.done", "response.completed",
        "response.output_text.delta", "response.function_call_arguments.delta", "response.failed", "error",
        "response.reasoning_summary_text.delta", "response.incomplete", "", "response.output_text.done",
        "response.refusal.done", "response.function_call_arguments.done", "response.reasoning_text.done",
    ]
)  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(KINDS, st.dictionaries(WORDS, ODD, max_size=5)), max_size=5))
def test_whatever_comes_is_understood_or_a_providers_error(told: list[tuple[str, dict[str, Any]]]) -> None:
    pieces = [chat.data({**value, "type": kind}) for kind, value in told]
    for decoder in (ResponsesDecoder(), ChatDecoder()):
        try:
            folded(pieces, decoder)
        except ProviderError:
            pass


def test_events_after_the_end_are_skipped() -> None:
    assert completion([*chat.reply(chat.text("x")), *chat.reply(chat.text("y"))]).message("", "").text == "x"
    two = [*responses.reply(responses.text("x")), *responses.reply(responses.text("y"))]
    assert response(two).message("", "").text == "x"


def _response_events(*events: Mapping[str, Any], end: Mapping[str, Any] | None = None) -> list[bytes]:
    start = {"type": "response.created", "response": {"id": "resp_1", "model": responses.MODEL}}
    last = end or {"type": "response.completed", "response": {"status": "completed", "output": []}}
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in (start, *events, last)]


def _added(id: str, call_id: str, **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": id, "call_id": call_id, "name": "Read", "arguments": ""}
    return {"type": "response.output_item.added", "item": item, **more}


def _piece(id: str, delta: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "item_id": id, "delta": delta, **more}


def _whole(id: str, call_id: str, arguments: str, **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": id, "call_id": call_id, "name": "Read", "arguments": arguments}
    return {"type": "response.output_item.done", "item": item, **more}


A, B = '{"path":"a"}', '{"path":"b"}'
TWO_CALLS = (
    ToolUseBlock(id="call_a", name="Read", input={"path": "a"}),
    ToolUseBlock(id="call_b", name="Read", input={"path": "b"}),
)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(
            (
                _added("a", "call_a"), _piece("a", A), _whole("a", "call_a", A),
                _added("b", "call_b"), _piece("b", B), _whole("b", "call_b", B),
            ),
            id="without places",
        ),
        pytest.param(
            (
                _added("a", "call_a"), _added("b", "call_b"),
                _piece("a", A[:4]), _piece("b", B[:5]), _piece("a", A[4:]), _piece("b", B[5:]),
                _whole("b", "call_b", B), _whole("a", "call_a", A),
            ),
            id="without places, in turns",
        ),
        pytest.param((_whole("", "call_a", A), _whole("", "call_b", B)), id="without places and ids"),
        pytest.param(
            (
                {
                    "type": "response.output_item.done",
                    "output_index": 0,
                    "item": {"type": "message", "id": "m"},
                },
                _added("a", "call_a", output_index=0), _piece("a", A, output_index=0),
                _whole("a", "call_a", A, output_index=0),
                _added("b", "call_b", output_index=1), _whole("b", "call_b", B, output_index=1),
            ),
            id="something ends at the place of a call before it",
        ),
        pytest.param(
            (
                _added("a", "call_a", output_index=0), _piece("x", A, output_index=0),
                _whole("y", "call_a", A, output_index=0),
                _added("b", "call_b", output_index=1), _piece("z", B, output_index=1),
                _whole("w", "call_b", B, output_index=1),
            ),
            id="another id in every event",
        ),
        pytest.param(
            (
                _added("a", "call_a"),
                {"type": "response.function_call_arguments.done", "item_id": "a", "arguments": A},
                _added("b", "call_b"),
                {"type": "response.function_call_arguments.done", "item_id": "b", "arguments": B},
            ),
            id="arguments at their end only",
        ),
    ],
)  # fmt: skip
def test_calls_of_a_response_are_told_apart_whatever_a_server_leaves_out(
    events: tuple[Mapping[str, Any], ...],
) -> None:
    assert content(response(_response_events(*events))) == TWO_CALLS
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    if items:
        end = {"type": "response.completed", "response": {"output": items}}
        assert content(response(_response_events(*events, end=end))) == TWO_CALLS


@pytest.mark.parametrize("pieces", [(), ("Hel",), ("Hel", "lo")])
def test_a_part_that_is_told_whole_at_its_end_only_is_taken(pieces: tuple[str, ...]) -> None:
    def told(kind: str, **item: Any) -> tuple[dict[str, Any], ...]:
        place = {"item_id": "i", "content_index": 0}
        deltas = ({"type": f"{kind}.delta", "delta": piece, **place} for piece in pieces)
        added = {"type": "response.output_item.added", "item": {"id": "i", **item}}
        name = "refusal" if "refusal" in kind else "text"
        return (added, *deltas, {"type": f"{kind}.done", name: "Hello", **place})

    reply = response(_response_events(*told("response.output_text", type="message")))
    assert content(reply) == (TextBlock(text="Hello"),)
    refused = response(_response_events(*told("response.refusal", type="message")))
    assert (content(refused), refused.stop_reason) == ((TextBlock(text="Hello"),), "refusal")
    for kind in ("response.reasoning_text", "response.reasoning_summary_text"):
        (thought,) = content(response(_response_events(*told(kind, type="reasoning"))))
        assert isinstance(thought, ThinkingBlock) and thought.text == "Hello"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_failed_is_no_success_whatever_its_last_event_is_called(status: str) -> None:
    failed = {"status": status, "output": [], "error": {"code": "server_error", "message": "no more room"}}
    for end in (
        {"type": "response.completed", "response": failed},
        {"type": "response.completed", "response": {**failed, "error": None}},
        {"type": "response.incomplete", "response": failed},
    ):
        with pytest.raises(ServerError):
            response(_response_events(end=end))


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("model_length", "context_window"),
        ("model_context_window_exceeded", "context_window"),
        ("max_output_reached", "max_tokens"),
        ("sensitive", "content_filter"),
        ("a_new_reason", "other"),
    ],
)
def test_a_completion_that_was_cut_is_no_finished_one(reason: str, stop: str) -> None:
    assert completion(_chunks({"content": "Half"}, finish=reason)).stop_reason == stop


@pytest.mark.parametrize("reason", ["insufficient_system_resource", "network_error", "abort", "error"])
def test_a_completion_that_its_server_gave_up_is_an_error_worth_asking_again(reason: str) -> None:
    with pytest.raises(ServerError if reason != "insufficient_system_resource" else Overloaded) as caught:
        completion(_chunks({"content": "Half"}, finish=reason))
    assert caught.value.retryable


def _chunks(*deltas: Mapping[str, Any], finish: str = "tool_calls") -> list[bytes]:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    texts = [json.dumps({"id": "c", "model": chat.MODEL, **chunk}).encode() for chunk in chunks]
    return [b"data: " + text + b"\n\n" for text in (*texts, b"[DONE]")]


def _call_piece(text: str, **more: Any) -> dict[str, Any]:
    function = {"name": more.pop("name", ""), "arguments": text}
    return {"tool_calls": [{"type": "function", "function": function, **more}]}


@pytest.mark.parametrize("name", ["", None])
@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_a_piece_without_a_name_goes_on_with_the_open_call_whatever_its_id(
    name: str | None, index: dict[str, int]
) -> None:
    pieces = [_call_piece(char, id=f"call_{at + 1}", name=name, **index) for at, char in enumerate(A)]
    reply = completion(_chunks(_call_piece("", id="call_0", name="Read", index=0), *pieces))
    assert content(reply) == (ToolUseBlock(id="call_0", name="Read", input={"path": "a"}),)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((_call_piece("{}", id="c", name="Read", index=0), _call_piece(A, index=0)), id="empty"),
        pytest.param((_call_piece("null", id="c", name="Read", index=0), _call_piece(A, index=0)), id="null"),
        pytest.param(
            (_call_piece(A, id="c", name="Read", index=0), _call_piece(A, id="c", name="Read", index=1)),
            id="two places",
        ),
        pytest.param(
            (_call_piece(A, id="c", name="Read", index=0), _call_piece(A, id="c", name="Read", index=0)),
            id="one place",
        ),
        pytest.param(
            (_call_piece(A, id="c", name="Read"), _call_piece(A, id="c", name="Read")), id="no place"
        ),
    ],
)
def test_a_call_that_is_told_twice_or_begun_with_nothing_is_one_call(
    pieces: tuple[dict[str, Any], ...],
) -> None:
    assert content(completion(_chunks(*pieces))) == (ToolUseBlock(id="c", name="Read", input={"path": "a"}),)


@pytest.mark.parametrize("before", [(), ({"content": "Half"},)])
@pytest.mark.parametrize(
    "words", [b'{"code":400,"message":"the request exceeds the available context size"}']
)
def test_an_error_in_a_field_of_its_own_is_the_servers_word(
    before: tuple[dict[str, Any], ...], words: bytes
) -> None:
    pieces = _chunks(*before)[:-2] if before else []
    for line, kind in ((words, ContextTooLong), (b"no more room", ServerError)):
        with pytest.raises(kind):
            completion([*pieces, b"error: " + line + b"\n\n", b"data: [DONE]\n\n"])


def test_an_event_that_was_cut_may_be_asked_for_again_and_a_comment_is_passed_over() -> None:
    with pytest.raises(BadResponse) as caught:
        completion([b'data: {"id":"x","obj\n\n'])
    assert caught.value.retryable
    pieces = [b"data: : OPENROUTER PROCESSING\n\n", *_chunks({"content": "Hi"}, finish="stop")]
    assert content(completion(pieces)) == (TextBlock(text="Hi"),)
