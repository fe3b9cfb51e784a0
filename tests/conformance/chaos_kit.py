"""Bad weather on five real wires: servers that answer or fail, as a seed has it, and keep their books."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from hang_guard import HANG_S
from msgspec import Struct
from msgspec.structs import replace

from caliban_common.usage import Usage
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.testing.exchange import Close, Exchange, Hang, Pause, Request, Reset, Send, Step, answer
from caliban_provider_anthropic.factory import AnthropicFactory
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_anthropic.testing.strict import StrictValidator as StrictAnthropic
from caliban_provider_google.factory import GoogleFactory
from caliban_provider_google.testing import wire as google
from caliban_provider_google.testing.strict import StrictValidator as StrictGoogle
from caliban_provider_ollama.factory import OllamaFactory
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_ollama.testing.strict import StrictValidator as StrictOllama
from caliban_provider_openai.factory import OpenAIFactory
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.strict_chat import COMPATIBLE, StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses

ANSWER = "All is well that ends."
SILENT_S = 0.1
"""How long an adapter waits here for the first or the next word."""

MAX_CALLS = 4
"""After so many tool calls the model answers."""

OUTPUT_TOKENS = 40
"""What each whole reply bills for its output."""

Validator: TypeAlias = Callable[[Request], tuple[int, bytes] | None]


class Plan(Struct, frozen=True, kw_only=True):
    """What the model says in one reply; `number` is in its prompt tokens, so that a bill names its reply."""

    number: int
    calls: tuple[str, ...]
    stop: str | None = None

    @property
    def usage(self) -> Usage:
        return Usage(input_tokens=self.number, output_tokens=OUTPUT_TOKENS)


def _anthropic(plan: Plan) -> list[bytes]:
    blocks = [anthropic.thinking("hm", "m", signature=f"S{plan.number}")]
    blocks += [anthropic.tool_use("Count", {"n": 1}, id=id) for id in plan.calls]
    blocks += [] if plan.calls else [anthropic.text(ANSWER, piece_chars=6)]
    return anthropic.reply(*blocks, usage=plan.usage, stop_reason=plan.stop)


def _chat(plan: Plan) -> list[bytes]:
    parts = [chat.thinking("hm", "m")]
    parts += [chat.call("Count", {"n": 1}, id=id) for id in plan.calls]
    parts += [] if plan.calls else [chat.text(ANSWER, piece_chars=6)]
    return chat.reply(*parts, usage=plan.usage, finish=plan.stop)


def _responses(plan: Plan) -> list[bytes]:
    items = [responses.reasoning("hmm", encrypted=f"E{plan.number}")]
    items += [responses.call("Count", {"n": 1}, call_id=id) for id in plan.calls]
    items += [] if plan.calls else [responses.text(ANSWER, piece_chars=6)]
    ending = responses.Ending(status="incomplete", reason=plan.stop) if plan.stop else responses.COMPLETED
    return responses.reply(*items, usage=plan.usage, ending=ending)


def _google(plan: Plan) -> list[bytes]:
    items = [google.thinking("hm", "m")]
    items += [google.call("Count", {"n": 1}, id=id, signature="U2ln") for id in plan.calls]
    items += [] if plan.calls else [google.text(ANSWER, piece_chars=6)]
    return google.reply(*items, usage=plan.usage, finish=plan.stop or "STOP")


def _ollama(plan: Plan) -> list[bytes]:
    items = [ollama.thinking("hm", "m")]
    items += [ollama.call("Count", {"n": 1}, id=id) for id in plan.calls]
    items += [] if plan.calls else [ollama.text(ANSWER, piece_chars=6)]
    return ollama.reply(*items, usage=plan.usage, done_reason=plan.stop or "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One adapter, and the other side of it: how its vendor writes, complains and refuses."""

    model: str
    make: Callable[[ProviderOptions], Provider]
    reply: Callable[[Plan], list[bytes]]
    error: Callable[[int, str], bytes]
    error_event: bytes
    validator: Validator
    content_type: str = "text/event-stream"
    extra: Mapping[str, str] = field(default_factory=dict)


def _openai_error(status: int, kind: str) -> bytes:
    return json.dumps({"error": {"message": kind, "type": kind, "param": None, "code": kind}}).encode()


WIRES: Mapping[str, Wire] = {
    "anthropic": Wire(
        model="claude-sonnet-4-6",
        make=AnthropicFactory().create,
        reply=_anthropic,
        error=lambda status, kind: anthropic.error_body(kind, kind),
        error_event=anthropic.error_event("overloaded_error"),
        validator=StrictAnthropic(),
    ),
    "chat": Wire(
        model="some-model",
        make=OpenAIFactory(environ={}).create,
        reply=_chat,
        error=_openai_error,
        error_event=chat.error_event("server_error"),
        validator=StrictChat(COMPATIBLE),
    ),
    "responses": Wire(
        model="gpt-5.5",
        make=OpenAIFactory(environ={}).create,
        reply=_responses,
        error=_openai_error,
        error_event=responses.error_event("server_error"),
        validator=StrictResponses(),
        extra={"api": "responses"},
    ),
    "google": Wire(
        model="gemini-3.8-flash",
        make=GoogleFactory(environ={}).create,
        reply=_google,
        error=lambda status, kind: json.dumps(google.error(status, "UNAVAILABLE", kind)).encode(),
        error_event=google.event(google.error(503, "UNAVAILABLE")),
        validator=StrictGoogle(),
    ),
    "ollama": Wire(
        model="llama3.1",
        make=OllamaFactory(environ={}).create,
        reply=_ollama,
        error=lambda status, kind: json.dumps({"error": kind}).encode(),
        error_event=ollama.error_line("out of memory"),
        validator=StrictOllama(),
        content_type=ollama.CONTENT_TYPE,
    ),
}

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    503: "api_error",
    529: "overloaded_error",
}
FAULTS = (
    *("status",) * 6,
    *("reset before the head", "closed before the head", "silent before the head"),
    *("cut in an event", "cut between events", "ended early", "silent between events"),
    *("slow first byte", "slow later", "garbage", "html", "other content type"),
    *("error event", "nothing", "unknown stop", "torn", "reset later"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a server wrote for one request; `is_whole` where it wrote all of a reply, and so bills it."""

    number: int
    provider: str
    fault: str
    is_whole: bool


class Weather:
    """What one provider's server does in one scenario: request by request, by its seed."""

    def __init__(self, name: str, wire: Wire, *, seed: float, severity: float, first_number: int) -> None:
        self.name = name
        self.wire = wire
        self.bills: list[Bill] = []
        self.refusals: list[str] = []
        self._random = Random(seed)
        self._severity = severity
        self._number = first_number
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Exchange:
        """The answer to `request`, whose path is the wire's own."""
        with self._lock:
            if request.path in ("/api/show", "/api/tags"):
                return self._about_models()
            refusal = self.wire.validator(request)
            if refusal is not None:
                self.refusals.append(f"{request.path}: {refusal[1].decode()}: {request.body.decode()}")
                return answer(refusal[0], refusal[1], content_type="application/json")
            return self._reply(request)

    def _about_models(self) -> Exchange:
        if self._random.random() < self._severity / 4:
            return self._random.choice([ollama.failure(500, "busy"), answer(200, "<html>"), _raw(Reset())])
        return ollama.shown("completion", "tools", "thinking")

    def _reply(self, request: Request) -> Exchange:
        random = self._random
        self._number += 1
        asked = request.body.count(b'"one more"')
        calls: tuple[str, ...] = ()
        if asked < MAX_CALLS and random.random() < 0.6:
            calls = tuple(f"call_{self._number}_{place}" for place in range(random.choice([1, 1, 2])))
        plan = Plan(number=self._number, calls=calls)
        fault = random.choice(FAULTS) if random.random() < self._severity else ""
        exchange, is_whole = self._faulty(fault, plan) if fault else (self._sent(self.wire.reply(plan)), True)
        self.bills.append(Bill(number=plan.number, provider=self.name, fault=fault, is_whole=is_whole))
        return exchange

    def _faulty(self, fault: str, plan: Plan) -> tuple[Exchange, bool]:
        random = self._random
        events = self.wire.reply(plan)
        place = random.randrange(len(events))
        before, event = events[:place], events[place]
        half = event[: random.randrange(len(event))]
        match fault:
            case "status":
                return self._status(), False
            case "reset before the head":
                return _raw(Reset()), False
            case "closed before the head":
                return _raw(Close()), False
            case "silent before the head":
                return _raw(Hang()), False
            case "cut in an event":
                return self._sent([*before, half], Close()), False
            case "cut between events":
                return self._sent(before, Close()), False
            case "reset later":
                return self._sent(before, Reset()), False
            case "ended early":
                return self._sent(before), False
            case "torn":
                return self._sent([*before, half]), False
            case "silent between events":
                return self._sent(before, Hang()), False
            case "slow first byte":
                return self._sent(events, first=Pause(random.choice([0.004, 0.015]))), True
            case "slow later":
                head, tail = self._sent(before).steps, self._sent(events[place:]).steps
                return replace(self._sent([]), steps=(*head, Pause(0.01), *tail)), True
            case "garbage":
                junk = random.choice([random.randbytes(40) + b"\n\n", b"data: {oops\n\n", b"{]\n", b"\0\n\n"])
                return self._sent([*before, junk, *events[place + 1 :]]), False
            case "html":
                return answer(200, b"<html><body>Sign in</body></html>", content_type="text/html"), False
            case "other content type":
                kind = random.choice(["application/json", "text/plain", "application/octet-stream"])
                return replace(self._sent(events), headers={"content-type": kind}), True
            case "error event":
                return self._sent([*before, self.wire.error_event]), False
            case "nothing":
                return self._sent([]), False
            case _:
                return self._sent(self.wire.reply(replace(plan, stop="strange"))), True

    def _status(self) -> Exchange:
        status = self._random.choice([*_KINDS, 429, 529])
        headers: dict[str, str] = {"content_type": "application/json"}
        header = self._random.choice([None, None, ("retry_after_ms", "2"), ("retry_after", "86400")])
        if status in (429, 503) and header is not None:
            headers[header[0]] = header[1]
        return answer(status, self.wire.error(status, _KINDS[status]), **headers)

    def _sent(
        self, events: Sequence[bytes], end: Step | None = None, *, first: Step | None = None
    ) -> Exchange:
        steps: list[Step] = [] if first is None else [first]
        steps += [Send(event) for event in events if event]
        steps += [] if end is None else [end]
        return Exchange(headers={"content-type": self.wire.content_type}, steps=tuple(steps))


class Sky:
    """Every server of every scenario behind one address: the first part of a path names the weather."""

    def __init__(self) -> None:
        self._known: dict[str, Weather] = {}

    def add(self, key: str, weather: Weather) -> None:
        """From now on `/key/…` is answered by `weather`."""
        self._known[key] = weather

    def __call__(self, request: Request) -> Exchange:
        """The answer to `request`."""
        _, key, path = request.path.split("/", 2)
        return self._known[key].answer(replace(request, path=f"/{path}"))


def adapter(wire: Wire, base_url: str) -> Provider:
    """The real adapter, in a hurry."""
    limits: dict[str, Any] = {"connect_s": HANG_S, "first_byte_s": SILENT_S, "idle_s": SILENT_S}
    return wire.make(ProviderOptions(api_key="k", base_url=base_url, extra=wire.extra, **limits))


def _raw(step: Step) -> Exchange:
    return Exchange(raw=True, steps=(step,))
