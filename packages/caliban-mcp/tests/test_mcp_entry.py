"""Entries that no run could use, texts that grow, and remembered lists that say nonsense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caliban_mcp.cache import DATED_S, CachedServer, ListCache
from caliban_mcp.entry import entry_problem
from caliban_mcp.errors import ServerMisconfigured
from caliban_mcp.variables import expanded
from caliban_mcp_client.entries import read_tool
from caliban_mcp_client.target import Verdict
from caliban_mcp_client.values import ServerInfo


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"command": "x", "url": "https://x.example"}, "both"),
        ({"command": ""}, "empty"),
        ({"url": ""}, "empty"),
        ({"command": "x\0y"}, "NUL"),
        ({"command": "x", "args": ["a", "b\0"]}, "args"),
        ({"command": "x", "env": {"A": "\0"}}, "env"),
        ({"command": "x", "env": {"A\0": "b"}}, "env"),
        ({"command": "x", "env": {"A=B": "c"}}, "'A=B'"),
        ({"command": "x", "env": {"": "c"}}, "''"),
        ({"command": "x", "cwd": "\ud800"}, "UTF-8"),
        ({"command": "x", "args": ["${A:-${B}"]}, "not closed"),
        ({"command": "x", "args": ["${1}"]}, "names no variable"),
        ({"url": "https://x.example", "headers": {"A\r\nB": "c"}}, "header"),
        ({"url": "https://x.example", "headers": {"A B": "c"}}, "'A B'"),
        ({"url": "https://x.example", "headers": {"A": "c\r\nD: e"}}, "end of a line"),
        ({"url": "https://x.example", "headers": {"A": "☃"}}, "HTTP"),
    ],
)
def test_an_entry_that_no_run_could_use_is_named(table: dict[str, Any], word: str) -> None:
    problem = entry_problem(table)
    assert problem is not None and word in problem


@pytest.mark.parametrize(
    "table",
    [
        {"command": "x", "args": ["${A}", "${B:-\n}", "ü"], "env": {"A": "line\nline"}, "cwd": "${PWD}"},
        {"url": "https://x.example/${A}", "headers": {"X-A": "Bearer ${TOKEN:-none}"}},
        {"command": "x", "args": "of a wrong type", "env": 5},
        {},
    ],
)
def test_every_other_entry_is_left_to_settings(table: dict[str, Any]) -> None:
    assert entry_problem(table) is None


@pytest.mark.parametrize("text", ["${A}" * 100_000, "${NONE:-" + "${A}" * 100_000 + "}"])
def test_a_text_that_grows_is_given_up_before_it_is_there(text: str) -> None:
    asked = 0

    def value_of(name: str) -> str | None:
        nonlocal asked
        asked += 1
        return "x" * 10_000 if name == "A" else None

    with pytest.raises(ServerMisconfigured, match="characters"):
        expanded(text, value_of)
    assert asked < 200


def test_what_was_remembered_comes_back_as_it_was(tmp_path: Path) -> None:
    cache = ListCache(tmp_path, now=lambda: 5.0)
    raw = {
        "name": "t",
        "title": "T",
        "description": "Says it.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"a": 1},
        "else": None,
    }
    tool = read_tool(raw, print)
    assert tool is not None
    entry = cache.fresh(
        info=ServerInfo(era="legacy", protocol_version="2025-11-25", capabilities={"tools": {}}, name="n"),
        verdict=Verdict(era="legacy", protocol_version="2025-11-25", kind="http"),
        tools=(tool,),
        has_resources=True,
    )
    cache.save("k", entry)
    assert cache.load("k") == entry
    cache.save("silent", CachedServer(saved_at=4.0))
    assert cache.load("silent") == CachedServer(saved_at=4.0)
    assert not cache.is_dated(entry)
    assert ListCache(tmp_path, now=lambda: 6.0 + DATED_S).is_dated(entry)
    cache.asked("k", entry)
    asked = cache.load("k")
    assert asked is not None
    assert (asked.saved_at, asked.asked_at) == (5.0, 5.0)
    path = tmp_path / "k.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"asked_at": "yesterday"}))
    assert cache.load("k") == entry


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"saved_at": "5"},
        {"info": []},
        {"info": {}},
        {"info": {"era": "modern", "capabilities": {}}},
        {"verdict": {"era": "old", "protocol_version": "x", "kind": "auto"}},
        {"verdict": {"era": "legacy", "protocol_version": "x", "kind": "ftp"}},
        {"verdict": 5},
        {"tools": {}},
        {"tools": [5]},
        {"tools": [{"title": "no name"}]},
        {"has_resources": 1},
    ],
)
def test_a_remembered_list_that_says_nonsense_is_as_if_it_were_not_there(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    cache = ListCache(tmp_path, now=lambda: 5.0)
    cache.save(
        "k",
        cache.fresh(info=ServerInfo(era="legacy", protocol_version="2025-11-25", capabilities={})),
    )
    assert cache.load("k") is not None
    path = tmp_path / "k.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))
    assert cache.load("k") is None
