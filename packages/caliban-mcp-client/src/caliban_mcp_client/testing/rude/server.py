"""The server itself: reads lines, and answers in the manner of its traits."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from caliban_mcp_client.testing.rude.manners import KIND, UNKIND, line_of
from caliban_mcp_client.testing.rude.offers import CAPABILITIES, FORM, LISTS, META, MODERN, TOOLS, Frame


class RudeServer:
    """One server: reads lines, answers them at once or later."""

    def __init__(self, words: list[str]) -> None:
        values = dict(word.split("=", 1) for word in words if "=" in word)
        self.traits: set[str] = {word for word in words if "=" not in word}
        self.pick: random.Random = random.Random(int(values.get("seed", "0")))
        self.era: str = "modern" if self.traits & {"modern", "dual"} else "legacy"
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.pending: dict[str, Callable[[Frame], None]] = {}
        self.cancelled: set[Any] = set()
        self.page: int = 0

    def run(self) -> None:
        """Serve until standard input ends, or longer."""
        self.begin()
        data = b""
        while True:
            now = time.monotonic()
            due = [work for at, work in self.later if at <= now]
            self.later = [(at, work) for at, work in self.later if at > now]
            for work in due:
                work()
            wait_s = min((at - now for at, _ in self.later), default=1.0)
            if not select.select([0], [], [], max(0.0, wait_s))[0]:
                continue
            chunk = os.read(0, 65_536)
            if not chunk:
                break
            data += chunk
            *lines, data = data.split(b"\n")
            for line in lines:
                self.take(json.loads(line))
        if "lingers" in self.traits:
            time.sleep(60)
        if "asks_leaving" in self.traits:
            self.send({"jsonrpc": "2.0", "id": "bye", "method": "ping"})

    def begin(self) -> None:
        """What happens before anything is asked."""
        traits = self.traits
        if "exit_at_once" in traits:
            sys.stderr.write("no such database: " + "x" * 70_000 + "\nlast words\n")
            sys.exit(3)
        if "lingers" in traits:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if traits & {"forks", "forks_away", "exits_and_leaves"}:
            child = subprocess.Popen(["sleep", "50"], start_new_session="forks_away" in traits)
            sys.stderr.write(f"child {child.pid}\n")
        if "stderr_flood" in traits:
            sys.stderr.write("a line of a log\n" * 100_000)
        if "stdout_flood" in traits:
            for number in range(20_000):
                self.notify("notifications/message", {"level": "info", "data": f"{number} " + "x" * 100})
        if "ping_flood" in traits:
            for number in range(5_000):
                self.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        if "speaks_http" in traits:
            os.write(1, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            sys.exit(0)
        sys.stderr.flush()

    def take(self, frame: Frame) -> None:
        """One frame of the client's."""
        method, number = frame.get("method"), frame.get("id")
        if method is None:
            work = self.pending.pop(str(number), None)
            if work is not None:
                work(frame)
        elif number is None:
            if method == "notifications/cancelled":
                self.cancelled.add(frame["params"]["requestId"])
        else:
            self.answer(number, method, frame.get("params", {}))

    def answer(self, number: Any, method: str, params: Frame) -> None:
        """A request."""
        if "hang" in self.traits:
            return
        if method == "server/discover":
            self.discover(number, params)
        elif method == "initialize":
            self.initialize(number)
        elif method == "ping":
            self.result(number, {})
        elif method == "tools/list":
            self.tools(number, params)
        elif method == "tools/call":
            self.call(number, params)
        elif method in ("prompts/list", "resources/list", "resources/templates/list"):
            self.result(number, LISTS[method])
        elif method == "prompts/get":
            text = f"Hello {params.get('arguments', {}).get('who', 'you')}"
            self.result(number, {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
        elif method == "resources/read":
            self.result(number, {"contents": [{"uri": params["uri"], "text": "what it holds"}]})
        elif method == "completion/complete":
            values = [f"{params['argument']['value']}{number}" for number in range(120)]
            self.result(number, {"completion": {"values": values, "total": 120, "hasMore": True}})
        elif method == "logging/setLevel":
            self.result(number, {})
            self.notify("notifications/message", {"level": params["level"], "data": "you asked for it"})
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            self.result(number, {})
            self.notify("notifications/resources/updated", {"uri": params["uri"]})
        elif method == "subscriptions/listen":
            meta = {f"{META}subscriptionId": number}
            granted = {"notifications": params["notifications"], "_meta": meta}
            self.notify("notifications/subscriptions/acknowledged", granted)
            self.notify("notifications/tools/list_changed", {"_meta": meta})
        else:
            self.error(number, -32601, "no such method")

    def discover(self, number: Any, params: Frame) -> None:
        """The first question of a client of today."""
        traits = self.traits
        if "exit_on_probe" in traits:
            sys.exit(1)
        if "silent_probe" in traits:
            return
        if "refused_version" in traits and not self.page:
            self.page = 1
            self.error(number, -32022, "try again", {"supported": [MODERN], "requested": MODERN})
        elif "other_versions" in traits:
            self.error(number, -32022, "no", {"supported": ["2031-01-01"], "requested": MODERN})
        elif self.era == "modern" or "late_probe" in traits:
            result = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "instructions": "Be kind."}
            delay_s = 0.6 if "late_probe" in traits else 0.0
            self.after(delay_s, lambda: self.begin_modern(number, result))
        else:
            self.error(number, -32602 if "bad_params" in traits else -32601, "no such method")

    def begin_modern(self, number: Any, result: Frame) -> None:
        """Be a modern server from now on."""
        self.era = "modern"
        self.result(number, result)

    def initialize(self, number: Any) -> None:
        """The first question of a client of before."""
        if "late_probe" in self.traits:
            return
        version = "1999-01-01" if "unknown_version" in self.traits else "2025-06-18"
        number_of_server: Any = 7 if "integer_version" in self.traits else "1.0"
        self.result(
            number,
            {
                "protocolVersion": version,
                "capabilities": CAPABILITIES,
                "serverInfo": {"name": "rude", "version": number_of_server},
                "instructions": "Be kind.",
            },
        )
        if "changes" in self.traits:
            for _ in range(5):
                self.notify("notifications/tools/list_changed", {})

    def tools(self, number: Any, params: Frame) -> None:
        """The list of tools."""
        level = params.get("_meta", {}).get(f"{META}logLevel")
        if level is not None and "logs" in self.traits:
            self.notify("notifications/message", {"level": level, "data": "you asked for it"})
        tools: list[Any] = list(TOOLS)
        more: Frame = {}
        if "broken_tools" in self.traits:
            tools = [
                7,
                {"description": "nameless"},
                {"name": 3},
                *tools,
                {"name": "bare", "inputSchema": [1]},
            ]
        if "endless_cursor" in self.traits:
            self.page += 1
            tools, more = [{"name": f"t{self.page}"}], {"nextCursor": f"c{self.page}"}
        if "same_cursor" in self.traits:
            more = {"nextCursor": "again"}
        if "pages" in self.traits:
            at = int(params.get("cursor", "0"))
            tools, more = [TOOLS[at]], {"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {}
        if "no_list" in self.traits:
            self.result(number, {"tools": "none"})
            return
        self.result(number, {"tools": tools, **more})

    def call(self, number: Any, params: Frame) -> None:
        """A call of a tool."""
        name, values = params["name"], params.get("arguments", {})
        if "exit_on_call" in self.traits:
            sys.exit(2)
        if "closes_output" in self.traits:
            os.close(1)
            time.sleep(30)
        if "url_first" in self.traits and not self.page:
            self.page = 1
            url = {"mode": "url", "message": "Open", "url": "https://example.com/open", "elicitationId": "e"}
            self.error(number, -32042, "open it first", {"elicitations": [url]})
            return
        if "changes_in_call" in self.traits:
            self.notify("notifications/tools/list_changed", {})
        if "asks_in_call" in self.traits:
            self.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
            self.send({"jsonrpc": "2.0", "id": 0, "method": "roots/list"})
        if name == "add":
            total = values["a"] + values["b"]
            text = [{"type": "text", "text": str(total)}]
            value: Any = {"sum": "many"} if "bad_output" in self.traits else {"sum": total}
            self.after(
                0.15 if "late" in self.traits else 0.0,
                lambda: self.result(number, {"content": text, "structuredContent": value}),
            )
        elif name == "slow":
            self.slow(number, params, 0)
        elif name == "ask":
            self.ask(number, params)
        elif name == "echo":
            self.result(number, {"content": [{"type": "text", "text": json.dumps(values)}]})
        else:
            self.error(number, -32602, f"no tool {name}")

    def slow(self, number: Any, params: Frame, step: int) -> None:
        """One step of a long call."""
        values = params.get("arguments", {})
        steps = values.get("steps", 1)
        if number in self.cancelled:
            return
        if step >= steps:
            self.result(number, {"content": [{"type": "text", "text": "at last"}]})
            return
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            self.notify("notifications/progress", {"progressToken": token, "progress": step, "total": steps})
        self.after(values.get("seconds", 0.1) / steps, lambda: self.slow(number, params, step + 1))

    def ask(self, number: Any, params: Frame) -> None:
        """A call that wants an answer of a person first."""
        if self.era == "modern":
            answers = params.get("inputResponses")
            if answers is None and "never_content" not in self.traits:
                wanted = {"who": {"method": "elicitation/create", "params": FORM}}
                self.send_result(
                    number, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s+/="}
                )
            elif "never_content" in self.traits:
                self.send_result(number, {"resultType": "input_required", "requestState": "again"})
            else:
                received = [(answers or {})["who"], params.get("requestState")]
                self.result(number, {"content": [{"type": "text", "text": json.dumps(received)}]})
            return
        self.pending["q1"] = lambda frame: self.result(
            number,
            {"content": [{"type": "text", "text": json.dumps(frame.get("result", frame.get("error")))}]},
        )
        self.send({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": FORM})

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        """Do something a little later, or at once."""
        if seconds <= 0:
            work()
        else:
            self.later.append((time.monotonic() + seconds, work))

    def result(self, number: Any, result: Frame) -> None:
        """Answer, in the form of the era."""
        if self.era == "modern":
            who = {"name": "rude", "version": "1.0"}
            result = {"resultType": "complete", **result, "_meta": {f"{META}serverInfo": who}}
        self.send_result(number, result)

    def send_result(self, number: Any, result: Frame) -> None:
        """Answer as it stands."""
        self.send({"jsonrpc": "2.0", "id": number, "result": result})

    def error(self, number: Any, code: int, words: str, data: Any = None) -> None:
        """Answer with an error."""
        error = {"code": code, "message": words, **({} if data is None else {"data": data})}
        frame = {"jsonrpc": "2.0", "id": number, "error": error}
        if "no_error_id" in self.traits:
            del frame["id"]
        self.send(frame)

    def notify(self, method: str, params: Frame) -> None:
        """Tell something."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, frame: Frame) -> None:
        """Write a frame, in the manner of the traits."""
        line = line_of(frame)
        for name, mangler in {**KIND, **UNKIND}.items():
            if name in self.traits and (name in KIND or line.count(b"\n") == 1):
                line = mangler(line, frame, self.pick)
        try:
            while line:
                size = self.pick.randrange(1, 400) if "half_writes" in self.traits else len(line)
                line = line[os.write(1, line[:size]) :]
        except BrokenPipeError:
            sys.exit(0)
