"""From the wire's lines to stream events: a state machine that holds one reply.

Every line is an object with a piece of the message; the last one is `done` and has the counts. Calls come
whole. An error may come instead of any line.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from caliban_common.stop import StopReason
from caliban_common.usage import Usage
from caliban_provider.classify import error_for_type
from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.json_fields import count, member, objects, parse, string
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_ollama.models import FAMILY, FOREIGN, LINE
from caliban_provider_ollama.names import made_id

_Kind: TypeAlias = Literal["text", "thinking"]
_NO_HEAD = b"\0"
_MARKS: Mapping[_Kind, bytes] = MappingProxyType(
    {
        "text": b'","message":{"role":"assistant","content":"',
        "thinking": b'","message":{"role":"assistant","content":"","thinking":"',
    }
)
_MEMBERS: Mapping[_Kind, frozenset[str]] = MappingProxyType(
    {"text": frozenset({"role", "content"}), "thinking": frozenset({"role", "content", "thinking"})}
)
_ENDS = ('},"done":false}', '},"done":false}\r')
_BUSY = ("server busy", "pending requests", "overloaded")


class Decoder:
    """Takes the lines of one reply; `stopped` says that the last one came, after which all is skipped.

    `prompt_tokens` is what the server counted, told with the last line. `model` is the one asked for.
    `secrets` never show in an error. `salt`, of digits, makes ids unique where replies tell no time. Raises
    `BadResponse` for what is not of the format, `StreamInterrupted`, and the errors that the server sends.
    """

    def __init__(self, *, model: str = "", secrets: Collection[str] = (), salt: str = "") -> None:
        self.stopped: bool = False
        self.prompt_tokens: int = 0
        self._model = model
        self._secrets = secrets
        self._salt = salt
        self._started = False
        self._created_at = ""
        self._next = 0
        self._calls = 0
        self._open: _Kind | None = None
        self._head = _NO_HEAD
        self._mark = b""
        self._piece: type[TextDelta] | type[ThinkingDelta] = TextDelta

    def feed(self, line: bytes) -> list[StreamEvent]:
        """The stream events that `line` means, usually one."""
        # Most lines differ from the one before in time and text only, and need not be read as JSON.
        if line.startswith(self._head):
            at = line.find(b'"', len(self._head))
            if line.startswith(self._mark, at):
                try:
                    piece = line[at + len(self._mark) :].decode()
                    text, end = scanstring(piece, 0)
                    if piece[end:] in _ENDS and text:
                        return [self._piece(self._next, text)]
                except ValueError:
                    pass
        if self.stopped:
            return []
        return self._take(parse(line, what=LINE, hint=FOREIGN), line)

    def finish(self, fault: BadResponse | None = None) -> list[StreamEvent]:
        """Say that the stream has ended. Raises `StreamInterrupted` when the reply has not.

        What began with no line of a reply was none, which `fault` says.
        """
        if self.stopped:
            return []
        if fault is not None and not self._started:
            raise fault
        raise StreamInterrupted(
            "the stream ended before the reply did", hint="the server may have been stopped: ask again"
        )

    def _learn(self, line: bytes, kind: _Kind) -> None:
        """Look out for lines like this one, if the server writes them in the usual form."""
        head, name, rest = line.partition(b'"created_at":"')
        if rest.startswith(_MARKS[kind], rest.find(b'"')):
            self._head, self._mark = head + name, _MARKS[kind]
            self._piece = TextDelta if kind == "text" else ThinkingDelta

    def _take(self, data: dict[str, Any], line: bytes) -> list[StreamEvent]:
        if "error" in data:
            raise stream_error(data, secrets=self._secrets)
        done = data.get("done") is True
        if not done and "message" not in data:
            return []
        out: list[StreamEvent] = [] if self._started else [self._start(data)]
        message = member(data, "message")
        out += self._grow("thinking", string(message, "thinking"))
        out += self._grow("text", string(message, "content"))
        calls = objects(message, "tool_calls")
        for call in calls:
            out += self._call(call)
        if done:
            return [*out, *self._close(), *self._end(data)]
        if self._open and not calls and message.keys() == _MEMBERS[self._open]:
            self._learn(line, self._open)
        return out

    def _start(self, data: dict[str, Any]) -> MessageStart:
        self._started = True
        self._created_at = string(data, "created_at")
        answered_as = string(data, "model")
        same = not answered_as or answered_as.removesuffix(":latest") == self._model.removesuffix(":latest")
        return MessageStart(model=self._model if same else answered_as)

    def _grow(self, kind: _Kind, text: str) -> list[StreamEvent]:
        if not text:
            return []
        out: list[StreamEvent] = []
        if self._open != kind:
            out = [*self._close(), BlockStart(self._next, kind)]
            self._open = kind
        out.append(TextDelta(self._next, text) if kind == "text" else ThinkingDelta(self._next, text))
        return out

    def _call(self, call: dict[str, Any]) -> list[StreamEvent]:
        function = member(call, "function")
        name = string(function, "name")
        if not name:
            return []
        out = self._close()
        index = self._next
        self._next += 1
        id = string(call, "id") or made_id(self._created_at or self._salt, self._calls)
        self._calls += 1
        out.append(BlockStart(index, "tool_use", id=id, name=name))
        if arguments := function.get("arguments"):
            out.append(InputDelta(index, _text_of(arguments)))
        return [*out, BlockStop(index)]

    def _close(self) -> list[StreamEvent]:
        self._head = _NO_HEAD
        if self._open is None:
            return []
        self._open = None
        self._next += 1
        return [BlockStop(self._next - 1)]

    def _end(self, data: dict[str, Any]) -> list[StreamEvent]:
        self.stopped = True
        self.prompt_tokens = count(data, "prompt_eval_count")
        usage = Usage(input_tokens=self.prompt_tokens, output_tokens=count(data, "eval_count"))
        stop, detail = self._reason(string(data, "done_reason"))
        return [MessageDelta(stop, usage, detail), MessageStop()]

    def _reason(self, done_reason: str) -> tuple[StopReason, str | None]:
        match done_reason:
            case "stop" | "":
                return ("tool_use" if self._calls else "end_turn"), None
            case "length":
                return "max_tokens", None
            case "load":
                return "other", "the server loaded the model and wrote nothing"
            case _:
                return "other", f"the server ended the reply: {done_reason[:80]}"


def stream_error(data: dict[str, Any], *, secrets: Collection[str] = ()) -> ProviderError:
    """The error in a line of the wire, which is a sentence and no more."""
    report = data.get("error")
    message = report if isinstance(report, str) else string(member(data, "error"), "message")
    busy = any(word in message.lower() for word in _BUSY)
    kind = "overloaded" if busy else "api_error"
    message = message or "the server reported an error without saying which"
    return error_for_type(kind, message, provider=FAMILY, secrets=secrets)


def _text_of(arguments: object) -> str:
    """Arguments as JSON text; a server that writes them as text is taken at its word."""
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        return '"nested too deeply"'  # no object: none at all would be a call without arguments
