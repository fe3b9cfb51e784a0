"""Servers at an address, for tests: both eras, both ways over HTTP, and what goes wrong there."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from msgspec import Struct

from caliban_mcp_client.testing.rude.offers import CAPABILITIES, FORM, LISTS, MODERN, TOOLS

Frame = dict[str, Any]
_STREAM: Final = "text/event-stream"
_HANG_S: Final = 20.0


class SeenRequest(Struct, frozen=True, kw_only=True):
    """One request that has come: header names in lower case; `frame` is its body, if it has one."""

    verb: str
    path: str
    headers: dict[str, str]
    frame: Frame

    @property
    def method(self) -> str:
        return str(self.frame.get("method", ""))


class WebServer:
    """What a server has seen, and how it behaves.

    Traits: `modern`, `sse` (answers as streams), `session`, `old` (two addresses), and the faults that tests
    name. `left` counts down what happens a number of times only.
    """

    def __init__(self, traits: frozenset[str], left: int) -> None:
        self.traits: frozenset[str] = traits
        self.left: int = left
        self.url: str = ""
        self.seen: list[SeenRequest] = []
        self.sessions: int = 0
        self.expired: set[str] = set()
        self.news: queue.Queue[str | None] = queue.Queue()
        self.away: str = ""
        self.kept: list[str] = []
        self.waiting: dict[str, queue.Queue[Frame]] = {}

    def methods(self) -> list[str]:
        """The methods of all messages, in order; other verbs than POST by their name."""
        return [seen.method or seen.verb for seen in self.seen]

    def of(self, method: str) -> list[SeenRequest]:
        """The messages with that method."""
        return [seen for seen in self.seen if seen.method == method]

    def spend(self) -> bool:
        """Whether a fault that happens a number of times happens now."""
        self.left -= 1
        return self.left >= 0

    def answered(self, frame: Frame) -> Frame:
        """The answer to one request, as `result` or `error`."""
        method, params = frame["method"], frame.get("params", {})
        if method == "server/discover":
            if "modern" not in self.traits:
                return {"error": {"code": -32601, "message": "no such method"}}
            return {"result": {"supportedVersions": [MODERN], "capabilities": dict(CAPABILITIES)}}
        if method == "initialize" and "no_initialize" in self.traits:
            return {"error": {"code": -32601, "message": "no such method"}}
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            return {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": dict(CAPABILITIES),
                    "serverInfo": info,
                }
            }
        if method == "tools/list":
            return {"result": {"tools": self.tools()}}
        if method in LISTS:
            return {"result": LISTS[method]}
        if method == "tools/call":
            return self.called(params)
        if method == "resources/read":
            return {"result": {"contents": [{"uri": params["uri"], "text": "what it holds"}]}}
        if method in ("ping", "resources/subscribe"):
            return {"result": {}}
        return {"error": {"code": -32601, "message": "no such method"}}

    def tools(self) -> list[Frame]:
        """The list of tools; with `headers` some have arguments that headers repeat."""
        if "headers" not in self.traits:
            return [dict(tool) for tool in TOOLS]
        good = {"type": "object", "properties": {"where": {"type": "string", "x-mcp-header": "Where"}}}
        bad = {"type": "object", "properties": {"x": {"type": "object", "x-mcp-header": "X"}}}
        return [{"name": "go", "inputSchema": good}, {"name": "bad", "inputSchema": bad}]

    def called(self, params: Frame) -> Frame:
        """The answer to a call."""
        if "header_mismatch" in self.traits and self.spend():
            return {"error": {"code": -32020, "message": "headers"}}
        if params["name"] == "ask" and "modern" in self.traits and "inputResponses" not in params:
            wanted = {"who": {"method": "elicitation/create", "params": dict(FORM)}}
            return {
                "result": {"resultType": "input_required", "inputRequests": wanted, "requestState": "é+/="}
            }
        received = {"params": params}
        return {"result": {"content": [{"type": "text", "text": json.dumps(received)}]}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: WebServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """A stream: of what comes unasked, of what is left of an answer, or of all answers."""
        self.noted()
        web = self.web
        if "old" in web.traits and self.path == "/mcp":
            place = "http://127.0.0.2:9/away" if "endpoint_away" in web.traits else "/post?at=1"
            self.stream(f"event: endpoint\ndata: {place}\n\n")
            self.follow()
        elif "last-event-id" in {name.lower() for name in self.headers} and "resume" in web.traits:
            web.news.put(None)
            self.stream("")
            for text in web.kept:
                self.wfile.write(text.encode())
        elif "news" in web.traits:
            self.stream(": hello\n\n")
            self.follow()
        else:
            codes = [int(trait[4:]) for trait in web.traits if trait.startswith("get_")]
            self.reply(codes[0] if codes else 405, b"no session" if codes else b"")

    def do_DELETE(self) -> None:
        """The end of a session."""
        self.noted()
        self.reply(200, b"")

    def do_POST(self) -> None:
        """One message."""
        frame = self.noted()
        web = self.web
        if "method" not in frame:
            for waiting in web.waiting.values():
                waiting.put(frame)
            self.reply(202, b"")
        elif "old" in web.traits and self.path == "/mcp":
            self.reply(404, b"<h1>no</h1>", "text/html")
        elif "old" in web.traits:
            self.old(frame)
        elif not self.is_faulty(frame):
            if "id" not in frame:
                self.reply(202, b"")
            else:
                self.answer(frame)

    def noted(self) -> Frame:
        """Note a request."""
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        frame: Frame = json.loads(body) if body else {}
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.web.seen.append(SeenRequest(verb=self.command, path=self.path, headers=headers, frame=frame))
        return frame

    def is_faulty(self, frame: Frame) -> bool:
        """Whether a fault has answered already."""
        web, traits, method = self.web, self.web.traits, frame["method"]
        if "login" in traits and self.headers.get("authorization") != "Bearer new":
            self.reply(401, b"", extra=("www-authenticate", 'Bearer resource_metadata="x"'))
        elif "moved" in traits and self.path == "/mcp":
            self.reply(307, b"", extra=("location", "/mcp/"))
        elif "moved_away" in traits:
            self.reply(307, b"", extra=("location", web.away))
        elif "probe_404" in traits and method == "server/discover":
            self.reply(404, b"not here")
        elif "outage" in traits and web.spend():
            self.reply(503, b"later")
        elif "accepted" in traits and method == "tools/call":
            self.reply(202, b"")
        elif "html" in traits and method == "tools/call":
            self.reply(200, b"<html>", "text/html")
        elif "other_id" in traits and method == "tools/call":
            self.reply(200, json.dumps({"jsonrpc": "2.0", "id": 9999, "result": {}}).encode())
        elif method != "initialize" and self.is_expired():
            status = 400 if "expires_400" in traits else 404
            self.reply(status, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}')
        else:
            return False
        return True

    def is_expired(self) -> bool:
        """Whether the session of a request is over."""
        web, session = self.web, self.headers.get("mcp-session-id")
        if "session" not in web.traits or session is None:
            return False
        if self.web.seen[-1].method in ("tools/list", "tools/call") and web.spend():
            web.expired.add(session)
        return session in web.expired

    def answer(self, frame: Frame) -> None:
        """Answer a request in the form that the traits say."""
        web, traits = self.web, self.web.traits
        if frame["method"] == "subscriptions/listen":
            self.stream(_event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
            self.follow()
            return
        body = {"jsonrpc": "2.0", "id": frame["id"], **web.answered(frame)}
        if "bare_error" in traits and frame["method"] == "tools/call":
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "bare"}}
        extra = None
        if frame["method"] == "initialize" and "session" in traits:
            web.sessions += 1
            extra = ("mcp-session-id", f"s{web.sessions}")
        is_call = frame["method"] == "tools/call"
        if is_call and traits & {"resume", "cut"} and web.spend():
            self.cut(body)
        elif is_call and "asks" in traits:
            self.asking(body)
        elif "sse" in traits:
            self.stream(": comment\r\n\r\nid: 1\ndata:\n\n" + _event(body), extra)
        else:
            status = 404 if body.get("error", {}).get("code") == -32601 else 200
            self.reply(status, json.dumps(body).encode(), extra=extra)

    def cut(self, body: Frame) -> None:
        """End a stream before its answer, which comes by another where it can be resumed."""
        self.web.kept = ["id: 8\n" + _event(body)]
        begun = "id: 7\nretry: 20\ndata:\n\n" if "resume" in self.web.traits else ": soon\n\n"
        self.stream(begun)

    def asking(self, body: Frame) -> None:
        """Ask a person by the stream of a call, and answer with what was said."""
        waiting = self.web.waiting["asked"] = queue.Queue()
        self.stream(_event({"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": dict(FORM)}))
        answer = waiting.get(timeout=_HANG_S)
        text = {"type": "text", "text": json.dumps(answer.get("result"))}
        self.wfile.write(_event({**body, "result": {"content": [text]}}).encode())

    def old(self, frame: Frame) -> None:
        """Answer by the one stream that is open."""
        self.reply(202, b"")
        if "id" in frame:
            self.web.news.put(_event({"jsonrpc": "2.0", "id": frame["id"], **self.web.answered(frame)}))

    def follow(self) -> None:
        """Send what is put into the queue of news, until it is closed."""
        while (text := self.web.news.get()) is not None:
            self.wfile.write(text.encode())
            self.wfile.flush()

    def stream(self, text: str, extra: tuple[str, str] | None = None) -> None:
        """Begin a stream of events, ended with the connection."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", f"{_STREAM}; charset=utf-8")
        self.send_header("connection", "close")
        if extra is not None:
            self.send_header(*extra)
        self.end_headers()
        self.wfile.write(text.encode())
        self.wfile.flush()

    def reply(
        self,
        status: int,
        body: bytes,
        kind: str = "application/json",
        *,
        extra: tuple[str, str] | None = None,
    ) -> None:
        """Answer whole."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if extra is not None:
            self.send_header(*extra)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(*traits: str, left: int = 0) -> Iterator[WebServer]:
    """A server on this machine, for the length of a block."""
    web = WebServer(frozenset(traits), left)
    handler = type("Handler", (_Handler,), {"web": web})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    web.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        for _ in range(8):
            web.news.put(None)
        server.shutdown()
        server.server_close()
        thread.join(_HANG_S)


def _event(frame: Frame) -> str:
    return f"event: message\ndata: {json.dumps(frame)}\n\n"
