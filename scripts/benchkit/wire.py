"""The replies of the mock server, as bytes of the Anthropic Messages wire and of OpenAI's Responses wire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

STREAM_BYTES = 200_000
DELTA_BYTES = 4
PARALLEL_CALLS = 8
LAST_WORD = "qxfin"


def sse(events: Iterable[tuple[str, dict[str, Any]]]) -> bytes:
    """Server-sent events, each with its name and its type inside."""
    return b"".join(
        f"event: {name}\ndata: {json.dumps({'type': name, **data}, separators=(',', ':'))}\n\n".encode()
        for name, data in events
    )


def text(*pieces: str) -> bytes:
    """A reply of one text block that comes in `pieces`."""
    deltas = (
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": p}}) for p in pieces
    )
    return _message("end_turn", [_block(0, {"type": "text", "text": ""}, deltas)])


def calls(*inputs: tuple[str, dict[str, Any]], turn: int) -> bytes:
    """A reply that calls tools: `inputs` are pairs of tool name and arguments."""
    blocks = []
    for index, (name, arguments) in enumerate(inputs):
        start = {"type": "tool_use", "id": f"toolu_{turn}_{index}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        blocks.append(_block(index, start, [("content_block_delta", {"index": index, "delta": delta})]))
    return _message("tool_use", blocks)


def long_text() -> list[str]:
    """`STREAM_BYTES` characters in pieces of `DELTA_BYTES`."""
    return ["abc "] * (STREAM_BYTES // DELTA_BYTES)


def responses_text(*pieces: str) -> bytes:
    """A reply of text that comes in `pieces` on the Responses wire, for a peer that speaks only that."""
    answer = "".join(pieces)
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": answer, "annotations": []}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    done = {**response, "status": "completed", "output": [{**item, "content": [part]}], "usage": usage}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return sse(
        [
            ("response.created", {"response": response}),
            ("response.output_item.added", {"output_index": 0, "item": {**item, "content": []}}),
            *(("response.output_text.delta", {**place, "delta": piece}) for piece in pieces),
            ("response.output_text.done", {**place, "text": answer}),
            ("response.output_item.done", {"output_index": 0, "item": {**item, "content": [part]}}),
            ("response.completed", {"response": done}),
        ]
    )


def prose(deltas: int) -> list[str]:
    """So many pieces of five characters, in paragraphs of eighty, and a last word that nothing else has."""
    pieces = [f"w{number % 1000:03} " if number % 80 else "\n\n" for number in range(1, deltas)]
    return [*pieces, LAST_WORD]


def _block(index: int, start: dict[str, Any], deltas: Iterable[tuple[str, dict[str, Any]]]) -> bytes:
    begin = ("content_block_start", {"index": index, "content_block": start})
    return sse([begin, *deltas, ("content_block_stop", {"index": index})])


def _message(stop_reason: str, blocks: list[bytes]) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "mock",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    ending = {"delta": {"stop_reason": stop_reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}
    tail = [("message_delta", ending), ("message_stop", {})]
    return b"".join([sse([("message_start", {"message": message})]), *blocks, sse(tail)])
