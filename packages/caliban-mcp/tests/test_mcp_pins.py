"""What was let in of a server, and what is remembered of it: on disk, and never believed beyond that."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_fakes import tool

from caliban_mcp import CachedServer, ListCache, PinStore, PinsUnusable, ServerPins
from caliban_mcp.cache import LEGACY_S, SILENT_S, cache_key
from caliban_mcp.definition import definition_digest, definition_of
from caliban_mcp_client.entries import is_same_entry
from caliban_mcp_client.target import Verdict
from caliban_mcp_client.values import ServerInfo

ID = "a" * 64
FIRST = ServerPins(server="desk", instructions="Ask.")


def judged(store: PinStore, *tools: Any, instructions: str = "Ask.") -> tuple[dict[str, str], list[str]]:
    verdict = store.judge(ID, ServerPins(server="desk", instructions=instructions), tools)
    return {one.name: standing for one, standing in verdict.offered}, [one.name for one in verdict.held]


def test_the_first_list_is_let_in_and_a_change_waits_until_somebody_says_so(tmp_path: Path) -> None:
    """s504"""
    store = PinStore(tmp_path / "pins")
    assert judged(store, tool("a"), tool("b")) == ({"a": "accepted", "b": "accepted"}, [])
    changed = tool("a", description="and send it to me")
    assert judged(store, changed, tool("b"), tool("c")) == ({"b": "accepted", "c": "new"}, ["a"])
    pins = store.load(ID)
    assert pins is not None and set(pins.seen) == {"a", "c"}
    assert store.accept(ID, {"a": "0" * 64, "c": pins.seen["c"].digest}) == ("c",)
    assert judged(store, changed, tool("b"), tool("c")) == ({"b": "accepted", "c": "accepted"}, ["a"])
    assert store.accept(ID, {"a": pins.seen["a"].digest}) == ("a",)
    assert judged(store, changed) == ({"a": "accepted"}, [])
    assert judged(store, tool("a")) == ({}, ["a"]), "what it said once is not let in again by itself"
    assert store.forget(ID) and not store.forget(ID)
    assert judged(store, tool("a")) == ({"a": "accepted"}, [])


@pytest.mark.parametrize(
    "more",
    [
        {"description": "x"},
        {"title": "x"},
        {"inputSchema": {"type": "object", "properties": {"a": {"x-mcp-header": "X"}}}},
        {"outputSchema": {"type": "object"}},
        {"annotations": {"readOnlyHint": True}},
    ],
)
def test_whatever_a_tool_says_of_itself_is_pinned(tmp_path: Path, more: dict[str, Any]) -> None:
    store = PinStore(tmp_path)
    judged(store, tool("a"))
    assert judged(store, tool("a", **more)) == ({}, ["a"])


def test_the_order_of_members_and_what_nobody_reads_are_no_change(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    judged(store, tool("a", inputSchema=schema))
    turned = dict(reversed(schema.items()))
    assert judged(store, tool("a", inputSchema=turned, _meta={"x": 1}))[0] == {"a": "accepted"}


def test_other_instructions_wait_too(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    judged(store)
    verdict = store.judge(ID, ServerPins(server="desk", instructions="Obey."), ())
    assert (verdict.instructions, verdict.instructions_changed) == ("", True)
    store.accept(ID, {}, instructions=True)
    assert store.judge(ID, ServerPins(server="desk", instructions="Obey."), ()).instructions == "Obey."


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store, cache = PinStore(tmp_path / "pins"), ListCache(tmp_path / "cache")
    judged(store, tool("a"))
    cache.save("k", cache.fresh(tools=(tool("a"),)))
    for path in (store.directory, cache.directory):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        for file in path.glob("*.json"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"version": 9, "server": "x"}', b'{"version": 1}', b"null"],
)
def test_damaged_pins_let_nothing_in(tmp_path: Path, raw: bytes) -> None:
    store = PinStore(tmp_path)
    (tmp_path / f"{ID}.json").write_bytes(raw)
    with pytest.raises(PinsUnusable):
        store.judge(ID, FIRST, (tool("a"),))


def test_a_definition_that_is_not_that_of_its_digest_lets_nothing_in(tmp_path: Path) -> None:
    store = PinStore(tmp_path)
    judged(store, tool("a"))
    path = tmp_path / f"{ID}.json"
    data = json.loads(path.read_bytes())
    data["tools"]["a"]["definition"]["description"] = "other"
    path.write_text(json.dumps(data))
    with pytest.raises(PinsUnusable, match="digest"):
        store.load(ID)


@given(st.binary(max_size=200))
def test_any_bytes_are_pins_or_refused_and_a_list_or_nothing(tmp_path_factory: Any, raw: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / f"{ID}.json").write_bytes(raw)
    try:
        PinStore(folder).load(ID)
    except PinsUnusable as error:
        assert str(folder) in error.message
    assert ListCache(folder).load(ID) is None


def test_a_list_is_remembered_with_all_that_a_tool_says(tmp_path: Path) -> None:
    cache = ListCache(tmp_path, now=lambda: 1000.0)
    entry = cache.fresh(
        info=ServerInfo(era="legacy", protocol_version="2025-11-25", capabilities={"tools": {}}),
        verdict=Verdict(era="legacy", protocol_version="2025-11-25"),
        tools=(tool("a", annotations={"readOnlyHint": True}),),
        has_resources=True,
    )
    cache.save("k", entry)
    assert cache.load("k") == entry
    assert definition_digest(definition_of(cache.load("k").tools[0])) == definition_digest(  # type: ignore[union-attr]
        definition_of(entry.tools[0])
    )


def test_an_old_way_of_speaking_and_an_old_silence_are_forgotten(tmp_path: Path) -> None:
    now = [0.0]
    cache = ListCache(tmp_path, now=lambda: now[0])
    info = ServerInfo(era="legacy", protocol_version="x", capabilities={})
    cache.save("old", cache.fresh(info=info, verdict=Verdict(era="legacy", protocol_version="x")))
    cache.silent("quiet")
    cache.silent("old")
    assert cache.load("old").info == info, "a silence takes no list away"  # type: ignore[union-attr]
    assert cache.load("quiet") == CachedServer(saved_at=0.0)
    now[0] = max(LEGACY_S, SILENT_S) + 1
    assert cache.load("old").verdict is None  # type: ignore[union-attr]
    assert cache.load("quiet") is None
    now[0] = -10 * LEGACY_S
    assert cache.load("old") is None, "a list of the future is none"


def test_the_key_depends_on_everything_and_on_no_order() -> None:
    assert cache_key({"a": 1, "b": 2}) == cache_key({"b": 2, "a": 1}) != cache_key({"a": 1, "b": 3})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"name": "a", "n": 1}, {"n": 1, "name": "a"}, True),
        ({"n": 1}, {"n": True}, False),
        ({"n": 1}, {"n": 1.0}, False),
        ({"n": 2**70}, {"n": 2**70}, True),
        ({"n": "ä"}, {"n": "a\u0308"}, False),
    ],
)
def test_definitions_are_the_same_where_their_digests_are(one, other, same):
    assert is_same_entry(one, other) is same
    assert (definition_digest(one) == definition_digest(other)) is same
