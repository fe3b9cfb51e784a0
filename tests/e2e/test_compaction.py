"""Summaries in place of what was said: asked for, told of, and undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caliban_provider_anthropic.testing import wire

FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
FILLER = "words and more words " * 40


def said(text: str) -> Any:
    return wire.exchange(wire.text(text))


def frames(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def control(subtype: str) -> dict[str, Any]:
    return {"type": "control", "subtype": subtype}


@pytest.fixture
def kept(cli) -> tuple[str, ...]:
    """A session of fourteen messages."""
    folder = cli.home / "kept"
    folder.mkdir()
    roles = ("user", "assistant") * 7
    messages = [{"id": f"m{n}", "role": role, "content": f"{n}. {FILLER}"} for n, role in enumerate(roles)]
    (folder / "s.json").write_text(json.dumps({"messages": messages}))
    return ("-r", "s", "--sessions-dir", str(folder), "--system", "Be brief.", "--no-tools")


def texts(body: dict[str, Any]) -> list[str]:
    """The beginnings of the texts that a request shows, the system prompt's first."""
    blocks = [*body["system"], *(block for m in body["messages"] for block in m["content"])]
    return [block["text"].split("\n")[0].split(" words")[0] for block in blocks]


WHOLE = [f"{n}." for n in range(14)]


def test_a_person_compacts_and_takes_it_back_in_another_process(cli, kept):
    cli.script(said("What was: much."), said("noted"))
    first = cli.run(*FRAMES, *kept, stdin=frames(control("compact"), {"type": "user", "content": "go on"}))
    (boundary,) = [f for f in first.of("system") if f["subtype"] == "compact_boundary"]
    sizes = boundary["compact_metadata"]
    assert sizes["trigger"] == "manual" and sizes["post_tokens"] < sizes["pre_tokens"]
    assert first.code == 0
    assert texts(cli.bodies()[1]) == [
        "Be brief.",
        "Summary of earlier conversation:",
        *WHOLE[6:],
        "go on",
    ]
    cli.script(said("all of it"))
    second = cli.run(
        *FRAMES, *kept, stdin=frames(control("undo_compaction"), {"type": "user", "content": "and now?"})
    )
    assert second.code == 0, second.err
    assert texts(cli.bodies()[2]) == ["Be brief.", *WHOLE, "go on", "noted", "and now?"]
    assert (first.of("warning"), second.of("warning")) == ([], [])
    saved = json.loads((Path(kept[3]) / "s.json").read_text())
    assert saved["messages"][1]["content"][0]["text"] == f"0. {FILLER}"


@pytest.mark.parametrize(
    ("subtype", "words"),
    [
        ("compact", "the conversation could not be summarised: there is nothing old enough to compact"),
        ("undo_compaction", "nothing of this conversation was summarised"),
    ],
)
def test_what_cannot_be_done_is_an_error_of_its_own(cli, subtype, words):
    done = cli.run(*FRAMES, "--session", "new", stdin=frames(control(subtype)))
    assert (done.code, done.frames[-1]["error"]) == (1, words)
    assert cli.bodies() == []


def test_what_a_summary_costs_is_in_its_result(cli, kept):
    cli.script(said("What was: much."))
    done = cli.run(*FRAMES, *kept, stdin=frames(control("compact")))
    result = done.frames[-1]
    assert (done.code, result["subtype"], result["usage"]["input_tokens"]) == (0, "success", 10)
    assert json.loads((Path(kept[3]) / "s.json").read_text())["total_usage"]["input_tokens"] == 10


def test_standard_error_says_that_a_conversation_was_summarised(cli, kept):
    cli.script(said("What was: much."), said("done"))
    done = cli.run("-p", "go", *kept, "--settings", '{"auto_compact_threshold": 0.001}')
    assert (done.code, done.out) == (0, "done\n")
    (line,) = [line for line in done.err.splitlines() if "summarised" in line]
    assert line.startswith("caliban: the conversation was summarised: about ")
