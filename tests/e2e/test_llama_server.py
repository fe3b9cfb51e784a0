"""The real command against a server that nobody here wrote: llama.cpp's own, with the packaged weights."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from caliban_provider.errors import ModelUnavailable
from caliban_provider_local.errors import LoadFailed
from caliban_provider_local.testing.server import llama_server

pytestmark = [pytest.mark.local_model, pytest.mark.slow]

KEY = "sk-loopback"
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
            yield f"{address}/v1"
    except (ModelUnavailable, LoadFailed) as error:
        pytest.skip(error.message)


def run(cli, url: str, prompt: str, *flags: str, key: str = KEY):
    flags = ("--provider", "openai", "--base-url", url, "--model", "smollm2", "--temperature", "0", *flags)
    return cli.run("-p", prompt, *flags, env={"OPENAI_API_KEY": key})


def test_its_text_streams(cli, url):
    flags = ("--output-format", "stream-json", "--include-partial-messages", "--max-tokens", "24")
    done = run(cli, url, "Name three colours.", "--no-tools", *flags)
    assert done.code in (0, 1), done.err  # 1: the reply may hit its limit
    deltas = [frame["delta"] for frame in done.of("text")]
    assert len(deltas) > 3
    assert 0 < done.frames[-1]["usage"]["output_tokens"] <= 24 * 4
    assert "estimated" not in done.frames[-1]["usage"]


def test_its_call_runs_a_tool_and_it_is_shown_the_result(cli, url):
    (cli.work / "notes.txt").write_text("The door code is 4711.\n")
    flags = ("--no-system", "--output-format", "stream-json", "--max-turns", "2", "--max-tokens", "40")
    done = run(cli, url, "Read the file notes.txt.", *flags)
    (call, *_), (result, *_) = done.of("tool_use"), done.of("tool_result")
    assert (call["name"], call["input"]) == ("Read", {"path": "notes.txt"})
    assert not result["is_error"]
    assert "4711" in json.dumps(result["content"])
    assert done.frames[-1]["turns"] == 2, done.err


def test_a_schema_holds_its_answer(cli, url):
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}},
        "required": ["colour"],
        "additionalProperties": False,
    }
    flags = ("--no-tools", "--output-format", "json", "--json-schema", json.dumps(schema))
    done = run(cli, url, "Which colour is the sky?", *flags, "--max-tokens", "40")
    assert done.code == 0, done.err
    assert done.json["structured_output"]["colour"] in ("red", "blue")
    assert done.json["turns"] == 1


def test_a_wrong_key_and_a_prompt_that_is_too_long_are_said(cli, url):
    refused = run(cli, url, "hi", "--no-tools", key="sk-wrong")
    assert refused.code == 1
    assert "401" in refused.err
    long = run(cli, url, "word " * 4000, "--no-tools")
    assert long.code == 1
    assert "Traceback" not in long.err
