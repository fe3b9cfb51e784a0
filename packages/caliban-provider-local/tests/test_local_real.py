"""The provider with the packaged weights: a real model answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.tool import ToolSpec
from caliban_provider.errors import ContextTooLong, InvalidRequest
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import TextDelta
from caliban_provider.testing.contract import (
    Check,
    assembled,
    assert_order,
    collect,
    contract_checks,
)
from caliban_provider_local.model import LocalModel
from caliban_provider_local.options import LocalOptions
from caliban_provider_local.provider import LocalProvider
from caliban_provider_local.runtime import OnChunk, Runtime, load_runtime
from caliban_provider_local.weights import packaged_weights

pytestmark = [pytest.mark.anyio, pytest.mark.local_model]

LIGHT = ToolSpec(
    name="Light",
    description="Switch the light.",
    input_schema={
        "type": "object",
        "properties": {"state": {"enum": ["on", "off"]}},
        "required": ["state"],
        "additionalProperties": False,
    },
)
EMOJI = "🎉🚀ж日本🧪"


class Counting:
    """The real runtime, with its chunks counted and its replies held short."""

    def __init__(self, runtime: Runtime, *, most_tokens: int = 1 << 30) -> None:
        self.chunks = 0
        self._runtime = runtime
        self._most_tokens = most_tokens

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        def counted(chunk: Mapping[str, Any]) -> bool:
            self.chunks += 1
            return on_chunk(chunk)

        self._runtime.chat({**body, "max_tokens": min(body["max_tokens"], self._most_tokens)}, counted)


class Loader:
    """Loads the real runtime and keeps hold of the counter around it."""

    def __init__(self, *, most_tokens: int = 1 << 30) -> None:
        self.counting: Counting | None = None
        self._most_tokens = most_tokens

    def __call__(self, model: LocalModel, options: LocalOptions) -> Counting:
        self.counting = Counting(load_runtime(model, options), most_tokens=self._most_tokens)
        return self.counting


def make(load: Loader, **extra: str) -> LocalProvider:
    return LocalProvider(ProviderOptions(extra={"threads": "1", "seed": "1", **extra}), load=load)


@pytest.fixture(scope="module")
def loader() -> Loader:
    return Loader()


@pytest.fixture(scope="module")
def provider(loader: Loader) -> Iterator[LocalProvider]:
    provider = make(loader)
    yield provider
    anyio.run(provider.aclose)
    assert not any(thread.name.startswith("caliban-local") for thread in threading.enumerate())


def ask(prompt: str, **members: Any) -> CompletionRequest:
    return CompletionRequest(model="smollm2", messages=(user(prompt),), **{"max_tokens": 16, **members})


async def test_a_real_answer_streams(provider: LocalProvider) -> None:
    events = await collect(provider, ask("Name three colours."))
    assert_order(events)
    assert sum(isinstance(event, TextDelta) for event in events) > 3
    reply = assembled(events)
    assert reply.message("local", "").text.strip()
    assert reply.stop_reason in ("end_turn", "max_tokens")
    assert reply.usage.input_tokens > 10 and 3 < reply.usage.output_tokens <= 16
    assert reply.model == "smollm2"


async def test_the_same_seed_gives_the_same_answer_and_the_prompt_is_kept(provider: LocalProvider) -> None:
    replies = [assembled(await collect(provider, ask("Name a fruit.", max_tokens=6))) for _ in range(2)]
    assert replies[0].message("local", "").text == replies[1].message("local", "").text
    assert replies[1].usage.cache_read_tokens > 10


async def test_leaving_early_stops_the_model(provider: LocalProvider, loader: Loader) -> None:
    await collect(provider, ask("Hi", max_tokens=1))
    assert loader.counting is not None
    before = loader.counting.chunks
    async with provider.stream(ask("Count from one to a hundred.", max_tokens=2000)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    made = loader.counting.chunks - before
    assert made < 200
    await collect(provider, ask("Hi", max_tokens=1))
    assert loader.counting.chunks - before - made < 12


async def test_a_schema_holds(provider: LocalProvider) -> None:
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "blue"]}, "sure": {"type": "boolean"}},
        "required": ["colour", "sure"],
        "additionalProperties": False,
    }
    reply = assembled(await collect(provider, ask("A colour?", response_schema=schema, max_tokens=64)))
    value = json.loads(reply.message("local", "").text)
    assert value["colour"] in ("red", "blue") and isinstance(value["sure"], bool) and len(value) == 2


@pytest.mark.parametrize("choice", ["Light", "any"])
async def test_a_wanted_call_is_made(provider: LocalProvider, choice: str) -> None:
    request = ask("Switch the light on.", tools=(LIGHT,), tool_choice=choice, max_tokens=64)
    reply = assembled(await collect(provider, request))
    (call,) = reply.message("local", "").content
    assert isinstance(call, ToolUseBlock) and call.id
    assert call.name == "Light" and call.input["state"] in ("on", "off") and call.raw_input is None
    assert reply.stop_reason == "tool_use"


async def test_tools_with_references_of_their_own_are_understood(provider: LocalProvider) -> None:
    leaf = {"$ref": "#/$defs/Leaf"}
    schema = {
        "type": "object",
        "properties": {"leaf": leaf},
        "required": ["leaf"],
        "$defs": {"Leaf": {"enum": ["green"]}},
    }
    tree = ToolSpec(name="Tree", description="Grow.", input_schema=schema)
    request = ask("Grow a tree.", tools=(LIGHT, tree), tool_choice="Tree", max_tokens=80)
    (call,) = assembled(await collect(provider, request)).message("local", "").tool_uses
    assert call.input == {"leaf": "green"}


@pytest.mark.parametrize("max_tokens", [1, 3, 5, 24])
async def test_no_character_is_ever_broken(provider: LocalProvider, max_tokens: int) -> None:
    request = ask("Celebrate! 🎉", extra={"grammar": f'root ::= "{EMOJI}"'}, max_tokens=max_tokens)
    text = assembled(await collect(provider, request)).message("local", "").text
    assert EMOJI.startswith(text)
    assert max_tokens < 24 or text == EMOJI


async def test_half_characters_in_a_prompt_do_no_harm(provider: LocalProvider) -> None:
    assert_order(await collect(provider, ask("A \ud83d and a \0.", max_tokens=2)))


async def test_a_prompt_that_does_not_fit_is_refused_with_the_numbers(provider: LocalProvider) -> None:
    with pytest.raises(ContextTooLong, match=r"the prompt has \d{4} tokens, .* window holds 4096"):
        await collect(provider, ask("word " * 5000))


async def test_a_schema_that_is_none_is_refused(provider: LocalProvider) -> None:
    with pytest.raises(InvalidRequest, match="refused the request"):
        await collect(provider, ask("Hi", response_schema={"type": "frob"}))


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_history_of_tools_is_understood_by_a_template_with_tools(tmp_path: Path) -> None:
    template = tmp_path / "tools.jinja"
    template.write_text(
        "{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}"
        'Call as <tool_call>\n{"name": NAME, "arguments": {}}\n</tool_call><|im_end|>\n{% endif %}'
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
        "{% for call in m.tool_calls or [] %}\n<tool_call>\n"
        '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n'
        "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    provider = make(Loader(most_tokens=4), tools="on", chat_template_file=str(template))
    assert provider.capabilities("smollm2").tools
    call = ToolUseBlock(id="c1", name="Light", input={"state": "on"})
    result = ToolResultBlock(tool_use_id="c1", content=(TextBlock(text="It is on."),))
    messages = (
        user("Switch the light on."),
        Message(role="assistant", content=(call,)),
        Message(role="user", content=(result,)),
    )
    request = CompletionRequest(model="smollm2", messages=messages, tools=(LIGHT,), max_tokens=4)
    events = await collect(provider, request)
    assert_order(events)
    assert assembled(events).usage.input_tokens > 100
    await provider.aclose()


CHECKS = contract_checks(lambda: make(Loader(most_tokens=8)), model="smollm2")


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if "history" in check.name or "early" in check.name], ids=str
)
def test_keeps_the_contract(check: Check) -> None:
    check.run("trio")


SILENT = """
import json, os, sys
from pathlib import Path
import anyio
from caliban_common.message import user
from caliban_provider.errors import ProviderError
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider_local.factory import FACTORY

report, broken = sys.argv[1:]
told = []

def listening():
    if not os.path.exists("/proc/self/net/tcp"):
        return 0
    fds = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    mine = {os.readlink(fd) for fd in fds if os.path.lexists(fd)}
    tables = [open(f"/proc/self/net/{name}").readlines()[1:] for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table]
    return sum(line[3] == "0A" and f"socket:[{line[9]}]" in mine for line in lines)

async def main():
    provider = FACTORY.create(ProviderOptions(extra={"threads": "1"}))
    for model, prompt in (("smollm2", "Hi"), ("smollm2", "word " * 5000), (broken, "Hi"), ("smollm2", "Hi")):
        request = CompletionRequest(model=model, messages=(user(prompt),), max_tokens=2)
        try:
            async with provider.stream(request) as events:
                told.append(len([event async for event in events]) > 3)
        except ProviderError as error:
            told.append(type(error).__name__)
    told.append(listening())
    if os.name == "posix":
        told.append(os.listdir(os.environ["TMPDIR"]))

anyio.run(main)
Path(report).write_text(json.dumps(told))
"""


def test_nothing_is_written_no_port_is_opened_and_leaving_without_closing_is_clean(tmp_path: Path) -> None:
    weights = packaged_weights()
    assert weights is not None
    # The name is longer than a socket's path may be: the listener must still not become a port.
    broken, report, scratch = tmp_path / "broken.gguf", tmp_path / "report", tmp_path / ("tmp" * 40)
    scratch.mkdir()
    with weights.open("rb") as whole:
        broken.write_bytes(whole.read(8 << 20))
    done = subprocess.run(
        [sys.executable, "-c", SILENT, str(report), str(broken)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_S,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    facts = json.loads(report.read_text())
    assert facts[:4] == [True, "ContextTooLong", "LoadFailed", True]
    if os.name == "posix":
        assert facts[4:] == [0, []]
