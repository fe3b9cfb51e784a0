from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import Message
from caliban_provider.testing.strategies import chunkings, histories, texts


@given(histories())
def test_a_history_is_valid_to_send(history: tuple[Message, ...]) -> None:
    turns = [message for message in history if message.role != "system"]
    assert all(message.role != "system" for message in history[1:])
    assert [message.role for message in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
    for reply, answer in zip(turns[1::2], turns[2::2], strict=True):
        assert [call.id for call in reply.tool_uses] == [result.tool_use_id for result in answer.tool_results]
        assert answer.content
    ids = [call.id for message in history for call in message.tool_uses]
    assert len(ids) == len(set(ids))


@given(st.binary(max_size=40).flatmap(lambda data: st.tuples(st.just(data), chunkings(data))))
def test_chunks_joined_are_the_bytes_again(pair: tuple[bytes, list[bytes]]) -> None:
    data, chunks = pair
    assert b"".join(chunks) == data


@given(texts())
def test_texts_can_be_carried_by_any_wire(text: str) -> None:
    assert text and text.encode().decode() == text
