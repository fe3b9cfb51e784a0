"""The real command against llama.cpp's own server, by its three interfaces, with the packaged weights.

No test takes two calls of one reply from it: where a template does not say otherwise its grammar ends a reply
with the first call, and the packaged weights follow no template that allows more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from command_kit import Cli, Finished
from server_kit import CANCELLED, COLOUR, STREAM, Door, calls_of, results_of

from caliban_provider.errors import ModelUnavailable
from caliban_provider_local.errors import LoadFailed
from caliban_provider_local.testing.server import llama_server

pytestmark = [pytest.mark.local_model, pytest.mark.servers]

KEY = "sk-loopback"
LONG = "Write a very long story about a dragon, chapter by chapter, with every detail."
TEMPLATE = """\
{%- if tools -%}
<|im_start|>system
You call one of these tools:{% for tool in tools %} {{ tool.function.name }}{% endfor %}<|im_end|>
<|im_start|>user
Read the file other.md.<|im_end|>
<|im_start|>assistant
<tool_call>
{"name": "Read", "arguments": {"path": "other.md"}}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages -%}
{%- if message.role == 'assistant' and message.tool_calls -%}
<|im_start|>assistant
{% for call in message.tool_calls -%}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor -%}
<|im_end|>
{% elif message.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role != 'system' -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""
"""A small model has to be shown what a call looks like; the server finds the form in here, and parses it."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server, in a process that ends with these tests."""
    try:
        with llama_server(KEY, template=TEMPLATE) as address:
            yield address
    except (ModelUnavailable, LoadFailed) as error:
        pytest.skip(error.message)


@pytest.fixture(params=["chat", "responses", "messages"])
def door(url: str, request: pytest.FixtureRequest) -> Door:
    match request.param:
        case "chat" | "responses" as api:
            return Door(kind="openai", url=f"{url}/v1", model="smollm2", key=KEY, options={"api": api})
        case _:
            return Door(kind="anthropic", url=url, model="smollm2", key=KEY)


def ask(cli: Cli, door: Door, prompt: str, *flags: str, key: str | None = None) -> Finished:
    return door.ask(cli, prompt, "--temperature", "0", *flags, key=key)


def test_its_text_streams(cli: Cli, door: Door) -> None:
    done = ask(cli, door, "Name three colours.", "--no-tools", "--max-tokens", "24", *STREAM)
    assert done.code in (0, 1), done.err  # 1: the reply may hit its limit
    assert len(done.of("text")) > 3
    assert 0 < done.frames[-1]["usage"]["output_tokens"] <= 24 * 4
    assert "estimated" not in done.frames[-1]["usage"]


def test_its_call_runs_a_tool_and_it_is_shown_the_result(cli: Cli, door: Door) -> None:
    flags = ("--no-system", "--max-turns", "2", "--max-tokens", "40", *STREAM)
    done = ask(cli, door, "Read the file notes.txt.", *flags)
    assert calls_of(done)[0] == ("Read", {"path": "notes.txt"}), done.err
    assert "4711" in results_of(done)[0]
    assert done.frames[-1]["turns"] == 2, done.err


def test_a_schema_holds_its_answer_by_chat_and_is_checked_here_otherwise(cli: Cli, door: Door) -> None:
    flags = ("--no-tools", "--output-format", "json", "--json-schema", json.dumps(COLOUR))
    done = ask(cli, door, "Which colour is the sky?", *flags, "--max-tokens", "40")
    if door.options.get("api") == "chat":
        assert (done.code, done.json["turns"]) == (0, 1), done.err
        assert done.json["structured_output"]["colour"] in ("red", "blue")
    else:  # these interfaces of the server pass over the schema, and such a small model over the words
        assert (done.code, done.json["turns"]) == (2, 3)
        assert "the answer holds no JSON value" in done.json["error"]


def test_a_wrong_key_and_a_prompt_that_is_too_long_are_said(cli: Cli, door: Door) -> None:
    refused = ask(cli, door, "hi", "--no-tools", key="sk-wrong")
    assert (refused.code, refused.out) == (1, "")
    assert "does not accept the key (HTTP 401)" in refused.err
    long = ask(cli, door, "word " * 4000, "--no-tools")
    assert (long.code, long.out) == (1, "")
    assert "too long" in long.err
    assert "Traceback" not in long.err


def test_an_interrupt_ends_the_run_and_the_server_takes_the_next(cli: Cli, door: Door) -> None:
    flags = ("--no-tools", "--temperature", "0")
    assert door.interrupt(cli, LONG, *flags) == CANCELLED
    # It has one slot: as long as the reply that was left went on, nobody else would be answered.
    assert ask(cli, door, "Name three colours.", "--no-tools", "--max-tokens", "8").out
