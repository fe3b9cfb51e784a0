"""Real reports of users of such tools about streams, by their numbers: on every wire, by the real command.

Which report is shown where is in `test_reports.py`.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import ModuleType
from typing import Any

import pytest
from hang_guard import HANG_S

from caliban_provider.testing.exchange import Exchange, Request, Send
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import strict as anthropic_strict
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_bedrock.testing import wire as bedrock
from caliban_provider_google.testing import strict as google_strict
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import strict as ollama_strict
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.strict_chat import COMPATIBLE, StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses
from caliban_sessions import SessionStore

EVIL = "你好世界 🌍 ✅ \u2028x\u0085y\u2029 ü"
FRAMES = ("--output-format", "stream-json")
TURNS = ("-p", "--input-format", "stream-json")
SSE = "text/event-stream"
AWS = {
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A wire: who writes its replies, how a stream fails in the middle, and how the command gets there.

    `ends` counts the events after the content of a reply. `text_lines` says that its events are lines.
    """

    kit: ModuleType
    flags: tuple[str, ...]
    env: Callable[[str], Mapping[str, str]]
    overload: bytes
    ends: int
    validator: Callable[[Request], tuple[int, bytes] | None] | None = None
    content_type: str = SSE
    text_lines: bool = True
    call: Callable[..., Any] = field(default=chat.call)

    def script(self, exchanges: Sequence[Exchange]) -> Any:
        """What a server is told: one of Ollama's is asked other things, too."""
        return ollama.Server(exchanges) if self.kit is ollama else exchanges

    def exchange(self, pieces: Sequence[bytes], *, bytewise: bool = False, charset: str = "") -> Exchange:
        """An answer of these pieces, one flush each."""
        head = {"content-type": self.content_type + charset}
        return Exchange(headers=head, steps=tuple(map(Send, pieces)), bytewise=bytewise)

    def cut(self, *items: Any) -> Exchange:
        """An answer that says all of `items`, and then that it is overloaded."""
        return self.exchange([*self.kit.reply(*items)[: -self.ends], self.overload])


DOORS = {
    "anthropic": Door(
        kit=anthropic,
        call=anthropic.tool_use,
        flags=(),
        env=lambda url: {"ANTHROPIC_BASE_URL": url},
        overload=anthropic.error_event("overloaded_error"),
        ends=2,
        validator=anthropic_strict.StrictValidator(),
    ),
    "chat": Door(
        kit=chat,
        flags=("--provider", "openai", "--model", "some-model"),
        env=lambda url: {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "k"},
        overload=chat.error_event("overloaded", code=529),
        ends=3,
        validator=StrictChat(COMPATIBLE),
    ),
    "responses": Door(
        kit=responses,
        call=responses.call,
        flags=("--provider", "azure", "--model", "gpt-5.5"),
        env=lambda url: {"AZURE_OPENAI_BASE_URL": f"{url}/openai/v1", "AZURE_OPENAI_API_KEY": "k"},
        overload=responses.error_event("server_is_overloaded"),
        ends=1,
        validator=StrictResponses(),
    ),
    "google": Door(
        kit=google,
        call=lambda name, args: google.call(name, args, signature="VFM="),
        flags=("--provider", "google", "--model", google.MODEL),
        env=lambda url: {"GEMINI_BASE_URL": url, "GEMINI_API_KEY": "k"},
        overload=google.event(google.error(503, "UNAVAILABLE", "The model is overloaded.")),
        ends=1,
        validator=google_strict.StrictValidator(),
    ),
    "ollama": Door(
        kit=ollama,
        call=ollama.call,
        flags=("--provider", "ollama", "--model", ollama.MODEL),
        env=lambda url: {"OLLAMA_BASE_URL": url},
        overload=ollama.error_line("server busy, please try again.  maximum pending requests exceeded"),
        ends=1,
        validator=ollama_strict.StrictValidator(),
        content_type=ollama.CONTENT_TYPE,
    ),
    "bedrock": Door(
        kit=bedrock,
        call=anthropic.tool_use,
        flags=("--provider", "bedrock", "--model", "global.anthropic.claude-sonnet-4-6"),
        env=lambda url: {**AWS, "AWS_BEDROCK_BASE_URL": url},
        overload=bedrock.exception("throttlingException"),
        ends=2,
        content_type=bedrock.CONTENT_TYPE,
        text_lines=False,
    ),
}


def said(door: Door, text: str) -> Any:
    """`text` as an item of the door's kit."""
    return (anthropic if door.kit is bedrock else door.kit).text(text)


@contextmanager
def behind(door: Door, *exchanges: Exchange) -> Iterator[tuple[LoopbackServer, dict[str, str]]]:
    """A strict server of a door and the environment that leads there; it must refuse nothing."""
    with LoopbackServer(door.script(exchanges), validator=door.validator) as server:
        yield server, dict(door.env(server.url))
        assert [request.body[-300:] for request in server.refused] == []


def prompts(*words: str) -> bytes:
    """Frames of input, one for each word."""
    return "".join(json.dumps({"type": "user", "content": word}) + "\n" for word in words).encode()


def stored(cli, name: str = "s") -> list[str]:
    """The texts of the assistant in a session on disk."""
    state = SessionStore(cli.home / ".local/share/caliban/sessions").load(name)
    return [message.text for message in state.messages if message.role == "assistant"]


@pytest.mark.parametrize("name", DOORS)
def test_b061_text_cut_anywhere_is_shown_and_stored_as_it_was_written(cli, name):
    door = DOORS[name]
    pieces = door.kit.reply(said(door, EVIL))
    exchanges = [door.exchange(pieces, bytewise=True, charset="; charset=utf-8"), door.exchange(pieces)]
    exchanges.append(Exchange(steps=tuple(map(Send, pieces)), bytewise=True))
    if door.text_lines:
        crlf = b"".join(pieces).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        halves = [half for line in crlf.split(b"\n") for half in (line, b"\n")][:-1]
        exchanges.append(door.exchange(halves))
    with behind(door, *exchanges) as (_, env):
        words = prompts(*("hi" for _ in exchanges))
        done = cli.run(*TURNS, *door.flags, "--session", "s", stdin=words, env=env)
    assert (done.code, done.out) == (0, f"{EVIL}\n" * len(exchanges)), done.err
    assert stored(cli) == [EVIL] * len(exchanges)


@pytest.mark.parametrize("name", DOORS)
def test_b062_an_overload_in_the_stream_is_asked_again_and_everything_counts_once(cli, name):
    door = DOORS[name]
    call = door.call("Bash", {"command": "echo ran >> log"})
    exchanges = (
        door.cut(said(door, "Hel"), call),
        door.exchange(door.kit.reply(said(door, "Hello"), call)),
        door.exchange(door.kit.reply(said(door, "done"))),
    )
    with behind(door, *exchanges) as (_, env):
        flags = ("--session", "s", "--allow", "Bash")
        done = cli.run("-p", "hi", *door.flags, *flags, *FRAMES, env=env)
    assert (done.code, done.frames[-1]["result"]) == (0, "done"), done.err
    retries = [frame["attempt"] for frame in done.of("system") if frame["subtype"] == "api_retry"]
    assert retries == [1]
    assert stored(cli) == ["Hello", "done"]
    assert len(done.of("tool_use")) == len(done.of("tool_result")) == 1
    assert (cli.work / "log").read_text() == "ran\n"


def test_b063_an_attempt_that_is_given_up_is_announced_before_the_next_one_begins(cli):
    cut = anthropic.broken(anthropic.text("Hel"), after=4, end=anthropic.error_event("api_error"))
    early = anthropic.broken(anthropic.text("Hel"), after=1, end=anthropic.error_event("api_error"))
    cli.script(early, cut, anthropic.exchange(anthropic.text("Hello")))
    done = cli.run("-p", "hi", *FRAMES, "--include-partial-messages")
    shape = [frame.get("subtype") or frame.get("delta") for frame in done.frames]
    again = ["reply_discarded", "api_retry"]
    assert shape == ["init", "api_retry", "Hel", *again, "Hello", "success"]
    assert done.frames[-1]["result"] == "Hello"


@pytest.mark.parametrize(
    ("name", "why"),
    [("google", {"finish": "MALFORMED_FUNCTION_CALL"}), ("anthropic", {"stop_reason": "max_tokens"})],
)
def test_b063_words_that_are_taken_back_for_any_other_reason_are_announced_too(cli, name, why):
    door = DOORS[name]
    given_up = door.kit.exchange(said(door, "Hel"), **why)
    with behind(door, given_up, door.kit.exchange(said(door, "Hello"))) as (_, env):
        done = cli.run("-p", "hi", *door.flags, *FRAMES, "--include-partial-messages", env=env)
    shape = [frame.get("subtype") or frame.get("delta") for frame in done.frames]
    assert shape == ["init", "Hel", "reply_discarded", "Hello", "success"]


DELAY_S = 0.2
TOLD = {
    "seconds": lambda: {"retry_after": str(DELAY_S)},
    "milliseconds": lambda: {"retry_after_ms": str(DELAY_S * 1000)},
    "words": lambda: {"message": f"Rate limit reached. Please try again in {DELAY_S}s."},
    "date": lambda: {"retry_after": format_datetime(at(2), usegmt=True)},
}


def at(seconds: float) -> datetime:
    """That many seconds from now, without its fraction, as dates on the wire are."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)


def test_b064_a_delay_is_kept_in_whatever_way_it_is_told(cli):
    due: list[tuple[str, float]] = []
    early: list[str] = []
    ways = iter(TOLD)

    def limited(request: Request) -> Exchange:
        if due and time.time() < due[-1][1]:
            early.append(due[-1][0])
        way = next(ways, None)
        if way is None:
            return anthropic.exchange(anthropic.text("at last"))
        due.append((way, at(2).timestamp() if way == "date" else time.time() + DELAY_S))
        return anthropic.failure(429, "rate_limit_error", **TOLD[way]())

    with LoopbackServer(limited) as server:
        done = cli.run("-p", "hi", env={"ANTHROPIC_BASE_URL": server.url})
    assert (done.code, done.out) == (0, "at last\n"), done.err
    assert (len(due), early) == (len(TOLD), [])
    assert done.err.count("asking again in") == len(TOLD)


@pytest.mark.parametrize("how", ["signal", "frame"])
def test_b064_an_interrupt_ends_the_wait_at_once(cli, how):
    cli.script(anthropic.failure(429, "rate_limit_error", retry_after="50"))
    cli.script(anthropic.exchange(anthropic.text("on")))
    process = cli.begin(*TURNS, *FRAMES, stdin=-1)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(prompts("hi"))
    process.stdin.flush()
    while b"api_retry" not in (line := process.stdout.readline()):
        assert line
    if how == "signal":
        process.send_signal(signal.SIGINT)
    else:
        process.stdin.write(b'{"type":"control","subtype":"interrupt"}\n')
        process.stdin.flush()
    assert json.loads(process.stdout.readline())["subtype"] == "cancelled"
    rest, _ = process.communicate(prompts("go on") if how == "frame" else None, timeout=HANG_S)
    if how == "frame":
        assert (process.returncode, json.loads(rest.splitlines()[-1])["result"]) == (0, "on")
    assert len(cli.server.requests) == (1 if how == "signal" else 2)


def test_b064_an_absurd_delay_is_left_to_the_next_model(cli):
    cli.script(anthropic.failure(429, "rate_limit_error", retry_after="86400"))
    cli.script(anthropic.exchange(anthropic.text("ok"), model="claude-haiku-4-5"))
    done = cli.run("-p", "hi", "--model", "claude-opus-4-7", "--fallback-model", "claude-haiku-4-5")
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert [body["model"] for body in cli.bodies()] == ["claude-opus-4-7", "claude-haiku-4-5"]


def answers(request: Request) -> list[str]:
    """The results of tools in a request of Chat Completions."""
    return [message["content"] for message in request.json["messages"] if message["role"] == "tool"]


X, Y = '{"path":"x"}', '{"path":"y"}'


def piece(arguments: str, **members: Any) -> dict[str, Any]:
    """A delta with a piece of a call."""
    name = {"name": members.pop("name")} if "name" in members else {}
    return {"tool_calls": [{**members, "function": {**name, "arguments": arguments}}]}


GHOST = {"tool_calls": [{"id": "", "function": {"name": "", "arguments": ""}}]}
CALLS = {
    "b067 no index": [piece(X, id="a", name="Read"), piece(Y, id="b", name="Read")],
    "b067 one index": [piece(X, id="a", name="Read", index=0), piece(Y, id="b", name="Read", index=0)],
    "b067 bare pieces": [
        piece("", id="a", name="Read"),
        piece(X[:5]),
        piece(X[5:]),
        piece("", id="b", name="Read"),
        piece(Y),
    ],
    "b068 in turns, and a ghost": [
        piece("", id="a", name="Read", index=0),
        piece("", id="b", name="Read", index=1),
        piece(X[:3], index=0),
        piece(Y[:9], index=1),
        GHOST,
        piece(X[3:], index=0),
        piece(Y[9:], index=1),
        GHOST,
    ],
}


@pytest.mark.parametrize("way", CALLS)
def test_b067_b068_calls_told_in_odd_pieces_are_two_calls_with_their_own_input(cli, way):
    for word in "xy":
        (cli.work / word).write_text(f"this is {word}")
    door = DOORS["chat"]
    calls = chat.exchange(chat.raw(*CALLS[way]), finish="tool_calls")
    with behind(door, calls, chat.exchange(chat.text("done"))) as (server, env):
        done = cli.run("-p", "hi", *door.flags, env=env)
        one, two = answers(server.requests[1])
    assert (done.code, done.out) == (0, "done\n"), done.err
    assert "this is x" in one and "this is y" in two


@pytest.mark.parametrize("name", ["anthropic", "chat", "responses"])
def test_b068_calls_that_grow_in_turns_keep_their_own_input(cli, name):
    door = DOORS[name]
    for word in "xy":
        (cli.work / word).write_text(f"this is {word}")
    calls = [door.call("Read", {"path": word}, piece_chars=2) for word in "xy"]
    both = door.kit.exchange(door.kit.together(*calls))
    with behind(door, both, door.kit.exchange(door.kit.text("done"))) as (_, env):
        done = cli.run("-p", "hi", *door.flags, *FRAMES, env=env)
    assert (done.code, done.frames[-1]["result"]) == (0, "done"), done.err
    paths = {frame["id"]: frame["input"]["path"] for frame in done.of("tool_use")}
    results = {paths[frame["tool_use_id"]]: json.dumps(frame["content"]) for frame in done.of("tool_result")}
    assert sorted(paths.values()) == ["x", "y"]
    assert ["this is " + word in results[word] for word in "xy"] == [True, True]


@pytest.mark.parametrize("counted", ["extra", "nowhere"])
def test_b069_chunks_without_choices_or_delta_do_no_harm(cli, counted):
    door = DOORS["chat"]
    role, *rest = chat.reply(chat.text("Hello"), style=chat.Style(usage_in=counted))
    odd = [
        chat.data({"id": "", "model": "", "choices": [], "prompt_filter_results": [{}]}),
        role,
        chat.chunk([{"index": 0, "delta": None, "finish_reason": None}]),
        chat.chunk([{"index": 0, "delta": {"role": "assistant", "content": None}}]),
        chat.chunk([{"index": 0, "finish_reason": None}]),
    ]
    with behind(door, door.exchange([*odd, *rest])) as (_, env):
        done = cli.run("-p", "hi", *door.flags, "--output-format", "json", env=env)
    assert (done.code, done.json["result"]) == (0, "Hello"), done.err
    usage = done.json["usage"]
    assert usage.get("estimated", False) is (counted == "nowhere")
    assert (usage["input_tokens"] == 10) is (counted == "extra")
    assert usage["input_tokens"] > 0
