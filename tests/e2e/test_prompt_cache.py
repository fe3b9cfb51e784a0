"""Prompt caching through the real command: where markers stand, what was found, and what broke it."""

from __future__ import annotations

import json

import pytest

from caliban_common.usage import Usage
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_openai.testing import chat

LONG = "word " * 1000
FRAMES = ("--output-format", "stream-json")


def marked(body) -> tuple[int, int]:
    """How many markers stand before the conversation, and within it."""
    before = json.dumps([body.get("tools"), body.get("system")]).count("cache_control")
    return before, json.dumps(body["messages"]).count("cache_control")


@pytest.mark.parametrize(
    ("prompt", "settings", "markers"),
    [
        ("hi", "{}", (2, 0)),
        (LONG, "{}", (2, 1)),
        ("hi", '{"min_cache_block_tokens": 0}', (2, 1)),
        (LONG, '{"min_cache_block_tokens": 100000}', (2, 0)),
    ],
)
def test_a_conversation_is_marked_once_it_is_long_enough(cli, prompt, settings, markers):
    cli.script(wire.exchange(wire.text("ok")))
    assert cli.run("-p", prompt, "--settings", settings).code == 0
    assert marked(cli.bodies()[0]) == markers


def test_a_conversation_that_goes_on_has_four_markers_at_most_the_newest_on_its_last_words(cli):
    (cli.work / "f").write_text("x")
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"})) for _ in range(3)))
    cli.script(wire.exchange(wire.text("ok")))
    assert cli.run("-p", LONG).code == 0
    assert [marked(body) for body in cli.bodies()] == [(2, 1), (2, 2), (2, 2), (2, 2)]
    last = [json.dumps(message) for message in cli.bodies()[-1]["messages"] if message["role"] == "user"]
    assert ["cache_control" in message for message in last] == [False, False, True, True]


@pytest.mark.parametrize("flag", [("--no-prompt-cache",), ()])
def test_without_prompt_cache_nothing_is_marked(cli, flag):
    cli.script(wire.exchange(wire.text("ok")))
    env = {} if flag else {"CALIBAN_NO_PROMPT_CACHE": "1"}
    assert cli.run("-p", LONG, *flag, env=env).code == 0
    assert marked(cli.bodies()[0]) == (0, 0)


@pytest.mark.parametrize("value", ["-1", '"many"', "1.5"])
def test_a_length_that_is_none_is_code_78(cli, value):
    done = cli.run("-p", "hi", "--settings", f'{{"min_cache_block_tokens": {value}}}')
    assert done.code == 78
    assert "min_cache_block_tokens" in done.err


def test_each_turn_says_what_share_of_its_prompt_was_in_the_cache(cli):
    (cli.work / "f").write_text("x")
    first = Usage(input_tokens=4000, output_tokens=5, cache_write_tokens=4000)
    second = Usage(input_tokens=5000, output_tokens=5, cache_read_tokens=4000, cache_write_tokens=1000)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "f"}), usage=first))
    cli.script(wire.exchange(wire.text("ok"), usage=second))
    done = cli.run("-p", "hi", *FRAMES)
    turns = [frame["usage"] for frame in done.of("message")]
    assert [usage["cache_hit_ratio"] for usage in turns] == [0, 0.8]
    assert turns[1]["cache_read_input_tokens"] == 4000
    assert done.frames[-1]["usage"]["cache_hit_ratio"] == pytest.approx(4 / 9, abs=1e-4)
    assert done.of("warning") == []


def test_a_cache_that_lost_the_prompt_is_a_frame_and_no_line_for_a_person(cli):
    (cli.work / "f").write_text("x")
    cached = Usage(input_tokens=4000, output_tokens=5, cache_write_tokens=4000)
    script = (
        wire.exchange(wire.tool_use("Read", {"path": "f"}), usage=cached),
        wire.exchange(wire.text("ok"), usage=cached),
    )
    cli.script(*script)
    done = cli.run("-p", "hi", *FRAMES)
    assert [frame["subtype"] for frame in done.of("warning")] == ["cache_miss"]
    assert done.of("warning")[0]["details"]["lost_tokens"] == 4000
    cli.script(*script)
    assert cli.run("-p", "hi", "--quiet").err == ""


def test_a_resumed_session_says_which_part_of_its_prompt_is_not_what_it_was(cli):
    cli.script(*(wire.exchange(wire.text(word)) for word in ("one", "two", "three", "four")))
    assert cli.run("-p", "hi", "--session", "s").code == 0
    same = cli.run("-p", "on", "-r", "s", *FRAMES)
    assert same.of("warning") == []
    bare = cli.run("-p", "on", "-r", "s", "--no-tools", *FRAMES)
    (warning,) = bare.of("warning")
    assert warning["subtype"] == "cache_break"
    assert warning["details"]["part"] == "tool Read, which is gone"
    other = cli.run("-p", "on", "-r", "s", "--no-tools", "--system", "Be brief.")
    assert "the provider's prompt cache cannot be reused beyond system message 1, which changed" in other.err


def test_usage_that_a_server_does_not_tell_is_estimated_and_marked(cli, tmp_path):
    with LoopbackServer(
        [chat.exchange(chat.text("x" * 400), style=chat.Style(usage_in="nowhere"))]
    ) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
        )
        flags = ("--provider", "mine", "--model", "some", "--output-format", "json")
        done = cli.run("-p", "hi", *flags, env={"MY_KEY": "k"})
    assert done.code == 0
    for usage in (done.json["usage"], done.json["model_usage"]["some"]):
        assert usage["estimated"] is True
        assert usage["output_tokens"] >= 100
        assert usage["input_tokens"] > 100


def test_usage_that_a_server_tells_is_not_marked(cli):
    cli.script(wire.exchange(wire.text("ok")))
    assert "estimated" not in cli.run("-p", "hi", "--output-format", "json").json["usage"]
