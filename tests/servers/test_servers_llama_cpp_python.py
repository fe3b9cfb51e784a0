"""The real command against the server of llama-cpp-python, with the packaged weights.

It speaks Chat Completions and calls no tool in a stream: what handles calls refuses "auto" there. So no call
is expected of it, one reply or several; that it takes tools on offer and a history with calls is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli
from server_kit import CANCELLED, COLOUR, STREAM, Door, calls_of, program, serving

from caliban_provider.errors import ModelUnavailable
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_local.weights import PACKAGED_MODEL, find_weights
from caliban_provider_openai.testing import chat

pytestmark = [pytest.mark.local_model, pytest.mark.servers]

KEY = "sk-loopback"
LONG = "Write a very long story about a dragon, chapter by chapter, with every detail."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = program("llama-cpp-python", "bin/python")
    try:
        weights = find_weights(PACKAGED_MODEL)
    except ModelUnavailable as error:
        pytest.skip(error.message)
    flags = ("--model", str(weights), "--model_alias", "smollm2", "--api_key", KEY, "--verbose", "false")
    limits = ("--n_ctx", "2048", "--n_threads", "1", "--seed", "1", "--host", "127.0.0.1", "--port", "0")
    start = str(Path(__file__).with_name("llama_cpp_python.py"))
    with serving([python, start, *flags, *limits], tmp_path_factory.mktemp("llama")) as address:
        yield f"{address}/v1"


@pytest.fixture
def door(url: str) -> Door:
    # It refuses a message whose content is null, which a message of calls alone has elsewhere.
    quirks = {"quirks": "null_content=false"}
    return Door(kind="openai", url=url, model="smollm2", key=KEY, options=quirks)


def test_its_text_streams_and_what_it_does_not_count_is_estimated(cli: Cli, door: Door) -> None:
    flags = ("--no-tools", "--temperature", "0", "--max-tokens", "24", *STREAM)
    done = door.ask(cli, "Name three colours.", *flags)
    assert done.code in (0, 1), done.err  # 1: the reply may hit its limit
    assert len(done.of("text")) > 3
    assert done.frames[-1]["usage"]["output_tokens"] > 0
    assert done.frames[-1]["usage"]["estimated"] is True


def test_it_takes_tools_on_offer_and_a_history_with_calls_side_by_side(cli: Cli, door: Door) -> None:
    calls = [chat.call("Read", {"path": name}) for name in ("notes.txt", "more.txt")]
    replies = [chat.exchange(*calls), chat.exchange(chat.text("They are 4711 and 4712."))]
    flags = ("--no-system", "--max-tokens", "16", *STREAM)
    with LoopbackServer(replies) as server:
        before = Door(kind="openai", url=f"{server.url}/v1", model="smollm2", key=KEY)
        assert len(calls_of(before.ask(cli, "Read both.", "--session", "s", *flags))) == 2
    done = door.ask(cli, "And now say hello.", "-r", "s", "--max-turns", "1", *flags)
    assert (calls_of(done), done.of("text") != []) == ([], True), done.out
    assert done.frames[-1]["subtype"] in ("success", "max_turns")  # the reply may hit its limit


def test_a_schema_holds_its_answer_where_it_is_asked_in_its_own_words(cli: Cli, url: str) -> None:
    quirks = {"quirks": "structured=json_object_schema"}
    door = Door(kind="openai", url=url, model="smollm2", key=KEY, options=quirks)
    flags = ("--no-tools", "--temperature", "0", "--max-tokens", "40", "--output-format", "json")
    done = door.ask(cli, "Which colour is the sky?", *flags, "--json-schema", json.dumps(COLOUR))
    assert (done.code, done.json["turns"]) == (0, 1), done.err
    assert done.json["structured_output"]["colour"] in ("red", "blue")


def test_a_schema_in_words_that_it_does_not_know_is_asked_without_at_once(cli: Cli, door: Door) -> None:
    flags = ("--no-tools", "--temperature", "0", "--max-tokens", "4", "--json-schema", json.dumps(COLOUR))
    done = door.ask(cli, "Which colour is the sky?", *flags, "--output-format", "stream-json")
    assert "schema_not_enforced" in [frame["subtype"] for frame in done.of("warning")], done.err
    assert [frame for frame in done.frames if frame.get("subtype") == "api_retry"] == []


def test_a_wrong_key_is_said_and_a_prompt_that_is_too_long_ends_the_run(cli: Cli, door: Door) -> None:
    refused = door.ask(cli, "hi", "--no-tools", key="sk-wrong")
    assert (refused.code, refused.out) == (1, "")
    assert "does not accept the key (HTTP 401)" in refused.err
    long = door.ask(cli, "word " * 4000, "--no-tools")
    assert (long.code, long.out) == (1, "")
    # It begins the stream before it counts, and fails without a word.
    assert "the stream ended before the reply did" in long.err


def test_an_interrupt_ends_the_run_and_the_server_takes_the_next(cli: Cli, door: Door) -> None:
    assert door.interrupt(cli, LONG, "--no-tools", "--temperature", "0") == CANCELLED
    assert door.ask(cli, "Name three colours.", "--no-tools", "--max-tokens", "8").out
