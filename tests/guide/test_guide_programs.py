"""The programs of the guide do what the guide says of them, and are as short as it says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import pytest

from caliban_provider.testing.loopback import Exchange, LoopbackServer, Request
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

PROGRAMS = Path(__file__).parents[2] / "docs" / "guide" / "programs"
MAX_LINES = {"approval": 56, "batch": 16, "chat": 16, "events": 33, "research": 68}
"""Lines that are not blank: what the shortest program that does the same took elsewhere."""


def says(*texts: str) -> Exchange:
    return wire.exchange(wire.text(*texts))


def asked(request: Request) -> str:
    """The text of the last user message."""
    content = request.json["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def echo(request: Request) -> Exchange:
    """Answer with the question."""
    return says("You said: ", asked(request))


@contextmanager
def serving(program, *arguments: str) -> Iterator[str]:
    """The address that a program which serves prints first."""
    process = program.start(*arguments)
    try:
        yield process.stdout.readline().strip().rstrip("/")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def post(url: str) -> dict[str, object]:
    with urlopen(HttpRequest(url, method="POST"), timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize("name", MAX_LINES)
def test_a_program_is_short(name):
    lines = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= MAX_LINES[name]


def test_every_program_is_run_here():
    assert sorted(path.stem for path in PROGRAMS.glob("*.py")) == sorted(MAX_LINES)


def test_a_chat_remembers_the_prompts_before(program):
    with LoopbackServer([says("Hello Ada."), says("Ada.")], validator=StrictValidator()) as server:
        done = program("chat", server.url).run(stdin="I am Ada.\nWho am I?\n")
        bodies = [request.json for request in server.requests]
    assert (done.returncode, done.stdout.splitlines()) == (0, ["Hello Ada.", "Ada."]), done.stderr
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "assistant", "user"]
    assert "I am Ada." in json.dumps(bodies[1]["messages"][0])
    assert "Hello Ada." in json.dumps(bodies[1]["messages"][1])
    assert ["Be brief." in json.dumps(body["system"]) for body in bodies] == [True, True]


def test_a_chat_ends_with_the_reason_where_the_model_cannot_be_asked(program):
    failure = wire.failure(401, "authentication_error", "invalid x-api-key")
    with LoopbackServer([failure], validator=StrictValidator()) as server:
        done = program("chat", server.url).run(stdin="I am Ada.\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert "RunFailed: " in done.stderr
    assert done.stderr.splitlines()[-1].startswith("hint: ")


def test_a_hundred_readers_of_events_get_each_their_own(program):
    together = threading.Barrier(100)

    def read(number: int) -> list[dict[str, object]]:
        together.wait(60)
        with urlopen(f"{url}/?number+{number}", timeout=90) as stream:
            assert stream.headers["Content-Type"] == "text/event-stream"
            lines = stream.read().decode().splitlines()
        return [json.loads(line.removeprefix("data: ")) for line in lines if line]

    with (
        LoopbackServer(echo) as server,
        serving(program("events", server.url), "0") as url,
        ThreadPoolExecutor(100) as readers,
    ):
        streams = list(readers.map(read, range(100)))
    assert [events[-1]["text"] for events in streams] == [f"You said: number {each}" for each in range(100)]
    for events in streams:
        assert [event["type"] for event in events][:: len(events) - 1] == ["turn_start", "run_end"]
        pieces = [event["text"] for event in events if event["type"] == "assistant_text_delta"]
        assert "".join(map(str, pieces)) == events[-1]["text"]


def test_a_reader_who_leaves_takes_nothing_from_the_others(program):
    with LoopbackServer(echo) as server, serving(program("events", server.url), "0") as url:
        urlopen(f"{url}/?one", timeout=60).close()
        with urlopen(f"{url}/?two", timeout=60) as stream:
            last = stream.read().decode().splitlines()[-2]
    assert json.loads(last.removeprefix("data: "))["text"] == "You said: two"


def test_research_uses_five_tools_and_gives_an_answer_with_its_sources(program, tmp_path):
    (tmp_path / "bees.txt").write_text("Bees dance.\nThe dance shows where food is.\n", encoding="utf-8")
    (tmp_path / "ants.txt").write_text("Ants leave a scent.\n", encoding="utf-8")
    report = {"answer": "By a dance.", "sources": ["bees.txt"]}
    script = [
        wire.exchange(wire.tool_use("list_texts", {}), wire.tool_use("search", {"pattern": "DANCE"})),
        wire.exchange(wire.tool_use("read", {"text": "bees.txt", "first": 1})),
        wire.exchange(wire.tool_use("take_note", {"claim": "They dance.", "text": "bees.txt"})),
        wire.exchange(wire.tool_use("read_notes", {})),
        says(json.dumps(report)),
    ]
    with LoopbackServer(script, validator=StrictValidator()) as server:
        done = program("research", server.url).run(".", "How do bees tell each other of food?")
        bodies = [request.json for request in server.requests]
    assert (done.returncode, done.stdout) == (0, "By a dance.\n- bees.txt\n"), done.stderr
    assert [tool["name"] for tool in bodies[0]["tools"]] == [
        "list_texts",
        "search",
        "read",
        "take_note",
        "read_notes",
    ]
    arguments = bodies[0]["tools"][2]["input_schema"]["properties"]
    assert arguments["first"]["description"] == "the number of the first line, from 0"
    results = json.dumps([block for body in bodies[1:] for block in body["messages"][-1]["content"]])
    for shown in ("bees.txt:0: Bees dance.", "The dance shows where food is.", "They dance. (bees.txt)"):
        assert shown in results
    assert '"is_error": true' not in results


WAITING = [{"name": "refund", "input": {"order": "A7", "euros": 40}}]


@pytest.mark.parametrize(
    ("verdict", "result"), [("allow", "paid 40 for A7"), ("deny", "")], ids=["allowed", "denied"]
)
def test_a_call_is_approved_from_outside_after_the_process_that_asked_is_gone(
    verdict, result, program, tmp_path
):
    script = [wire.exchange(wire.tool_use("refund", WAITING[0]["input"])), says("Done.")]
    with LoopbackServer(script, validator=StrictValidator()) as server:
        with serving(program("approval", server.url), "0", ".") as url:
            begun = post(f"{url}/ask/r1?Refund+order+A7")
        assert begun == {"stop": "approval", "text": "", "waiting": WAITING}
        assert len(server.requests) == 1
        with serving(program("approval", server.url), "0", ".") as url:
            ended = post(f"{url}/{verdict}/r1")
        (block,) = server.requests[1].json["messages"][-1]["content"]
    assert ended == {"stop": "end_of_turn", "text": "Done.", "waiting": []}
    assert bool(block.get("is_error")) == (verdict == "deny")
    assert result in json.dumps(block["content"])


def test_a_batch_asks_two_hundred_questions_ten_at_a_time(program):
    lock = threading.Lock()
    counts = {"now": 0, "most": 0}
    ten = threading.Barrier(10)

    def answer(request: Request) -> Exchange:
        with lock:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        ten.wait(60)  # so that ten at a time are needed as well as allowed
        with lock:
            counts["now"] -= 1
        return echo(request)

    with LoopbackServer(answer) as server:
        done = program("batch", server.url).run(stdin="".join(f"number {each}\n" for each in range(200)))
    rows = sorted(map(json.loads, done.stdout.splitlines()), key=lambda row: row["line"])
    assert done.returncode == 0, done.stderr
    assert rows == [{"line": each, "ok": True, "answer": f"You said: number {each}"} for each in range(200)]
    assert counts == {"now": 0, "most": 10}
