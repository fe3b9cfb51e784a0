"""The real command against a LiteLLM proxy, behind which strict servers play the vendors.

Four interfaces lead through it to the same interface of a vendor, four more to another one, which the proxy
has to translate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command_kit import Cli
from msgspec.structs import replace
from server_kit import CANCELLED, COLOUR, STREAM, Door, calls_of, program, results_of, serving

from caliban_provider.testing.exchange import Exchange, Hang, Request
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as messages
from caliban_provider_anthropic.testing.strict import StrictValidator as StrictMessages
from caliban_provider_google.testing import wire as gemini
from caliban_provider_google.testing.strict import StrictValidator as StrictGemini
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.strict_chat import StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses

pytestmark = [pytest.mark.servers]

KEY = "sk-proxy"
BEHIND = "sk-behind"
"""The key that the proxy has for the vendors."""

MODELS = {
    "chat": ("hosted_vllm/some-model", "/v1"),
    "responses": ("openai/gpt-5.5", "/v1"),
    "messages": ("anthropic/claude-sonnet-4-6", ""),
    "gemini": ("gemini/gemini-3-flash-preview", "/v1beta"),
}
"""What the proxy calls a vendor's interface -> the model there, and the path of the address."""


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """How a vendor writes, and where its requests go."""

    wire: ModuleType
    call: Callable[..., Any]
    path: str
    schema: Sequence[str]
    first_call: Mapping[str, str] = field(default_factory=dict)

    def reply(self, text: str = "", *calls: Mapping[str, Any]) -> Exchange:
        """A reply of text in pieces, and of calls of Read."""
        parts = [self.wire.text(text, piece_chars=4)] if text else []
        made = [
            self.call("Read", input, **(self.first_call if not n else {})) for n, input in enumerate(calls)
        ]
        return self.wire.exchange(*parts, *made)

    def stalling(self) -> Exchange:
        """A reply that says something, and then nothing more."""
        return self.wire.broken(self.wire.text("some ", "words "), after=5, end=Hang())

    def colours(self, body: Mapping[str, Any]) -> object:
        """What the schema of a request lets the answer be; `None` where it holds none."""
        value: Any = body
        for member in (*self.schema, "properties", "colour", "enum"):
            value = value.get(member) if isinstance(value, dict) else None
        return value


VENDORS = {
    "chat": Vendor(
        wire=chat,
        call=chat.call,
        path="/v1/chat/completions",
        schema=("response_format", "json_schema", "schema"),
    ),
    "responses": Vendor(
        wire=responses,
        call=responses.call,
        path="/v1/responses",
        schema=("text", "format", "schema"),
    ),
    "messages": Vendor(
        wire=messages,
        call=messages.tool_use,
        path="/v1/messages",
        schema=("output_config", "format", "schema"),
    ),
    "gemini": Vendor(
        wire=gemini,
        call=gemini.call,
        path="/models/gemini-3-flash-preview:streamGenerateContent",
        schema=("generationConfig", "responseJsonSchema"),
        first_call={"signature": "c2lnbmF0dXJl"},
    ),
}
CHECKS = {
    "chat": StrictChat(key=BEHIND),
    "responses": StrictResponses(key=BEHIND),
    "messages": StrictMessages(key=BEHIND),
    "gemini": StrictGemini(key=BEHIND),
}


def vendor_of(request: Request) -> str:
    """Whose request it is."""
    path = request.path.partition("?")[0]
    return next((name for name, vendor in VENDORS.items() if path.endswith(vendor.path)), "chat")


def checked(request: Request) -> tuple[int, bytes] | None:
    """What the vendor refuses; not of what the proxy translates for Gemini and writes in its way."""
    if b'"system_instruction"' in request.body:
        return None
    return CHECKS[vendor_of(request)](spelled(request))


def spelled(request: Request) -> Request:
    """A request for Gemini without what the proxy adds, and with the reference's name for the schema."""
    if vendor_of(request) != "gemini":
        return request
    body = {name: value for name, value in request.json.items() if name != "model" and value is not None}
    config = body.get("generationConfig", {})
    if "response_json_schema" in config:
        config["responseJsonSchema"] = config.pop("response_json_schema")
    return replace(request, body=json.dumps(body).encode())


@dataclass
class Behind:
    """The vendors: what each test has them say, and what they were asked."""

    server: LoopbackServer
    script: list[Exchange]
    first: int = field(default=0)

    @property
    def requests(self) -> Sequence[Request]:
        """What this test asked for."""
        asked = self.server.requests[self.first :]
        return [spelled(request) for request in asked if request.method == "POST"]

    def says(self, *replies: Exchange) -> None:
        """Answer the next requests so, and forget those before."""
        self.script[:] = replies
        self.first = len(self.server.requests)


@pytest.fixture(scope="module")
def behind() -> Iterator[Behind]:
    script: list[Exchange] = []

    def answer(request: Request) -> Exchange:
        return script.pop(0) if request.method == "POST" and script else chat.exchange(chat.text("unasked"))

    with LoopbackServer(answer, validator=checked) as server:
        yield Behind(server=server, script=script)


@pytest.fixture(scope="module")
def url(behind: Behind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    proxy = program("litellm", "bin/litellm")
    folder: Path = tmp_path_factory.mktemp("litellm")
    rows = [
        {
            "model_name": name,
            "litellm_params": {"model": model, "api_base": f"{behind.server.url}{path}", "api_key": BEHIND},
        }
        for name, (model, path) in MODELS.items()
    ]
    config = {
        "model_list": rows,
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"num_retries": 0, "telemetry": False},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    command = [proxy, "--config", "config.yaml", "--host", "127.0.0.1", "--port", "0"]
    with serving(command, folder, LITELLM_LOCAL_MODEL_COST_MAP="True") as address:
        yield address


@dataclass(frozen=True, kw_only=True)
class Way:
    """From an interface of the proxy to a vendor."""

    door: Door
    vendor: Vendor
    shows_schema: bool
    confuses_calls: bool


STRAIGHT = [(name, name) for name in VENDORS]
CROSSED = [("chat", "gemini"), ("messages", "chat"), ("responses", "messages"), ("gemini", "chat")]
LOSES_SCHEMA = [("messages", "messages"), ("messages", "chat"), ("responses", "messages")]
"""Here the proxy drops what Messages says of the answer, or says it to Messages by a name that is no more."""


@pytest.fixture(params=[*STRAIGHT, *CROSSED], ids="-to-".join)
def way(url: str, request: pytest.FixtureRequest) -> Way:
    front, vendor = request.param
    match front:
        case "chat" | "responses" as api:
            door = Door(kind="openai", url=f"{url}/v1", model=vendor, key=KEY, options={"api": api})
        case "messages":
            door = Door(kind="anthropic", url=url, model=vendor, key=KEY)
        case _:
            door = Door(kind="google", url=url, model=vendor, key=KEY)
    return Way(
        door=door,
        vendor=VENDORS[vendor],
        shows_schema=request.param not in LOSES_SCHEMA,
        # It names calls of Gemini's interface after their tool: two of one tool get the same id.
        confuses_calls=request.param == ("gemini", "chat"),
    )


def test_text_streams_through_it(cli: Cli, way: Way, behind: Behind) -> None:
    behind.says(way.vendor.reply("Hello there, whoever you are."))
    done = way.door.ask(cli, "Greet me", *STREAM)
    assert done.code == 0, done.err
    deltas = [frame["delta"] for frame in done.of("text")]
    assert "".join(deltas) == done.frames[-1]["result"] == "Hello there, whoever you are."
    assert len(deltas) > 3
    assert done.frames[-1]["usage"]["output_tokens"] > 0


def test_a_call_runs_a_tool_and_the_vendor_is_told_the_result(cli: Cli, way: Way, behind: Behind) -> None:
    behind.says(way.vendor.reply("I look.", {"path": "notes.txt"}), way.vendor.reply("It is 4711."))
    done = way.door.ask(cli, "What do the notes say?", *STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "It is 4711."), done.err
    assert calls_of(done) == [("Read", {"path": "notes.txt"})]
    assert "4711" in results_of(done)[0]
    assert b"4711" in behind.requests[-1].body


def test_calls_run_side_by_side(cli: Cli, way: Way, behind: Behind) -> None:
    behind.says(way.vendor.reply("", {"path": "notes.txt"}, {"path": "more.txt"}), way.vendor.reply("Both."))
    done = way.door.ask(cli, "Read both", *STREAM)
    assert calls_of(done) == [("Read", {"path": "notes.txt"}), ("Read", {"path": "more.txt"})]
    body = behind.requests[-1].body
    assert (b"4711" in body, b"4712" in body, len(behind.requests)) == (True, True, 2)
    if way.confuses_calls:
        assert (done.code, "ids of calls must be unique" in done.frames[-1]["error"]) == (1, True)
    else:
        assert (done.code, done.frames[-1]["result"]) == (0, "Both."), done.err


def test_an_answer_fits_a_schema_whether_the_vendor_is_shown_it_or_not(
    cli: Cli, way: Way, behind: Behind
) -> None:
    behind.says(way.vendor.reply('{"colour": "red"}'))
    flags = ("--no-tools", "--output-format", "json", "--json-schema", json.dumps(COLOUR))
    done = way.door.ask(cli, "Which colour?", *flags)
    assert (done.code, done.json["structured_output"]) == (0, {"colour": "red"}), done.err
    shown = way.vendor.colours(behind.requests[-1].json)
    assert shown == (["red", "blue"] if way.shows_schema else None)


def test_a_wrong_key_is_said(cli: Cli, way: Way, behind: Behind) -> None:
    behind.says()
    done = way.door.ask(cli, "Greet me", key="sk-wrong")
    assert (done.code, done.out) == (1, "")
    assert "does not accept the key" in done.err
    assert behind.requests == []


def test_an_interrupt_ends_the_run_and_leaves_nothing(cli: Cli, way: Way, behind: Behind) -> None:
    behind.says(way.vendor.stalling())
    assert way.door.interrupt(cli, "Go on and on") == CANCELLED
    assert len(behind.requests) == 1
