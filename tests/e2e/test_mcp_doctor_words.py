"""What `caliban mcp doctor` says of each fault that real servers have: why, by whoever has told it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PYTHON = [sys.executable, "-S", "-E", "-c"]


def examined(cli, entry, *, code: int = 1) -> list[str]:
    """The lines of the doctor on one server."""
    config = json.dumps({"mcpServers": {"one": {"start_timeout_s": 60, **entry}}})
    done = cli.run("mcp", "doctor", "--mcp-config", config)
    assert done.code == code and "Traceback" not in done.err, done.err
    return done.out.splitlines()


def program(text: str) -> dict[str, object]:
    return {"command": PYTHON[0], "args": [*PYTHON[1:], text]}


PROGRAMS = {
    "usage": (
        program("import sys; print('Usage: notes DIR'); sys.exit(2)"),
        ("ended before it answered (exit code 2)", "Usage: notes DIR"),
    ),
    "question": (program("input('Enter your API key: ')"), ("(exit code 0)", "Enter your API key:")),
    "silence": (program(""), ("(exit code 0)", "start it by hand to see more: ")),
    "module": (
        program("import sys; sys.exit('no module named notes')"),
        ("(exit code 1)", "it said: no module named notes"),
    ),
    "signal": (program("import os; os.kill(os.getpid(), 11)"), ("ended by SIGSEGV",)),
    "web": (
        {
            **program("import time; print('listening on http://localhost:3000', flush=True); time.sleep(99)"),
            "start_timeout_s": 2,
        },
        ("not ready in 2 s", "start_timeout_s", "listening on http://localhost:3000"),
    ),
    "line": ({"command": "npx -y notes"}, ("there is no program npx -y notes", "stands in args")),
    "home": ({"command": "~/bin/notes"}, ("there is no program", "${HOME}")),
    "place": ({**program(""), "cwd": "~/x"}, ("there is no directory", "${HOME}")),
    "folder": ({"command": "/"}, ("/ is a directory, and no program",)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_is_no_server_is_told_by_what_it_said(cli, name):
    entry, words = PROGRAMS[name]
    lines = examined(cli, entry)
    assert all(any(word in line for line in lines) for word in words), lines


@pytest.mark.skipif(sys.platform == "win32", reason="first lines are those of Unix")
def test_a_file_that_cannot_be_run_is_not_called_missing(cli):
    script = cli.work / "notes.sh"
    script.write_bytes(b"#!/bin/sh\r\nexec cat\r\n")
    plain = cli.work / "plain"
    plain.write_text("notes")
    plain.chmod(0o644)
    script.chmod(0o755)
    lines = examined(cli, {"command": "./notes.sh"})
    assert "is there, and what its first line names" in lines[0] and "CRLF" in lines[1]
    lines = examined(cli, {"command": "./plain"})
    assert "permission denied" in lines[0] and "chmod +x" in lines[1]


def test_what_a_program_said_is_shown_where_it_ends_behind_the_handshake(cli, tmp_path):
    text = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame["method"] == "tools/list":
        sys.exit("the licence has run out")
    if "id" in frame:
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        known = {"result": result} if frame["method"] == "initialize" else {"error": {"code": -32601}}
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **known}), flush=True)
"""
    path = tmp_path / "server.py"
    path.write_text(text)
    lines = examined(cli, {"command": PYTHON[0], "args": ["-S", "-E", str(path)]})
    assert lines[0].endswith("one: tools/list: the server has ended")
    assert "    it said: the licence has run out" in lines


HTML = "<!doctype html><html><head><title>Sign in &amp; go</title></head></html>"
ADDRESSES = {
    "page": (200, "text/html", HTML, ("a web page 'Sign in & go'", "hint: look at the path")),
    "denied": (403, "application/json", '{"message": "MCP is off for you"}', ("status 403: MCP is off",)),
    "expired": (401, "text/plain", "token expired", ("wants a login", "caliban mcp login one")),
    "nested": (400, "application/json", '{"error": {"message": "no such tenant"}}', ("no such tenant",)),
    "host": (421, "text/plain", "Invalid Host header", ("status 421: Invalid Host header",)),
    "often": (429, "application/json", '{"detail": "slow down"}', ("slow down", "try again later")),
    "down": (502, "text/html", "<h1>Bad Gateway</h1>", ("a web page 'Bad Gateway'", "try again later")),
    "nothing": (200, "application/json", "", ("the server answered with nothing",)),
    "ok": (200, "application/json", "OK", ("what is no answer: OK",)),
    "moved": (301, "", "/mcp/", ("/mcp/ with status 301, which is not followed", "as its url")),
    "login": (302, "", "https://login.example.com/", ("login.example.com/ with status 302",)),
    "plain": (307, "", "http://other.example/mcp/", ("http://other.example/mcp/ with status 307",)),
    "missing": (
        404,
        "application/json",
        '{"detail": "Not Found"}',
        ("nothing at this address speaks the protocol", "status 404: Not Found", "many end in /mcp"),
    ),
}


class _Handler(BaseHTTPRequestHandler):
    """Answers as the path says; a GET is never a stream."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.path.strip("/")
        status, kind, body, _ = ADDRESSES.get(name, (200, "text/plain", "", ()))
        if name == "gateway":
            body = self._spoken(request)
            status = 202 if body == "" else 200
        self._answer(status, kind, body)

    def do_GET(self) -> None:
        self._answer(405, "", "")

    def _spoken(self, request) -> str:
        if "id" not in request:
            return ""
        known = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "note", "inputSchema": {"type": "object"}}]},
        }
        result = known.get(request["method"])
        outcome = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        return json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome})

    def _answer(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        data = b"" if 300 <= status < 400 else body.encode()
        if 300 <= status < 400:
            self.send_header("Location", body)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_no_server_is_told_by_what_it_said(cli, address, name):
    lines = examined(cli, {"type": "http", "url": f"{address}/{name}"})
    words = ADDRESSES[name][3]
    assert all(any(word in line for line in lines) for word in words), lines


def test_a_gateway_that_calls_every_answer_text_is_a_server_all_the_same(cli, address):
    lines = examined(cli, {"type": "http", "url": f"{address}/gateway"}, code=0)
    assert "1 tool" in lines[0] and any("another type than application/json" in line for line in lines)


def test_a_helper_that_fails_is_asked_once_and_told_by_what_it_said(cli, address, tmp_path):
    helper = tmp_path / "helper.py"
    note = tmp_path / "note"
    helper.write_text(
        f"import sys\nfrom pathlib import Path\nwith Path({str(note)!r}).open('a') as file:\n"
        "    file.write('x')\nsys.exit('the token ghp_0123456789abcdefghijklmn has expired')\n"
    )
    line = f"{Path(sys.executable).as_posix()} -S -E {helper.as_posix()}"
    lines = examined(cli, {"type": "http", "url": f"{address}/gateway", "headers_helper": line})
    assert lines[0].endswith("one: headers_helper has ended with exit code 1: the token [secret] has expired")
    assert note.read_text() == "x"


def test_a_variable_as_a_shell_has_it_is_named(cli, address):
    headers = {"Authorization": "Bearer $NOTES_TOKEN", "X-Key": "${KEY:-k}"}
    lines = examined(cli, {"type": "http", "url": f"{address}/expired", "headers": headers})
    assert "    $NOTES_TOKEN in its headers is not filled in: write ${NOTES_TOKEN}" in lines
    assert not any("$KEY" in line for line in lines)
