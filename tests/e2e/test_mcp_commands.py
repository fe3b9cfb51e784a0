"""`caliban mcp` through the real command: servers written, shown, taken over and examined."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp_kit import entry, table

from caliban_provider_anthropic.testing import wire

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
ECHO = {"tools": {"echo": {"description": "Say it again.", "schema": TEXT}}}
OWN = "# mine\nmax_turns = 5  # enough\n\n[mcp_servers.old] # an old one\ncommand = 'old'\n# the end of old\n"


def user_file(cli) -> Path:
    return cli.home / ".config" / "caliban" / "settings.toml"


def test_a_server_is_added_listed_used_disabled_and_removed_and_comments_stay(cli):
    path = cli.configure(OWN)
    words = entry(ECHO)
    added = cli.run("mcp", "add", "desk", "--env", "A=${B:-b}", "--", words["command"], *words["args"])
    assert (added.code, added.err) == (0, f"caliban: the MCP server desk is written to {path}\n")
    text = path.read_text()
    assert text.startswith(OWN) and 'A = "${B:-b}"' in text
    rows = [json.loads(line) for line in cli.run("mcp", "list", "--json").out.splitlines()]
    assert [(row["name"], row["scope"], row["state"], row["tools"]) for row in rows] == [
        ("desk", "user", "", None),
        ("old", "user", "", None),
    ]
    again = cli.run("mcp", "add", "desk", "--", "x")
    assert again.code == 1 and "already" in again.err and "--replace" in again.err
    assert cli.run("mcp", "disable", "old").code == 0
    cli.script(wire.exchange(wire.text("Done.")))
    done = cli.run("-p", "go", "--output-format", "stream-json")
    assert done.frames[0]["mcp_servers"] == [
        {"name": "desk", "status": "connected"},
        {"name": "old", "status": "disabled"},
    ]
    shown = cli.run("mcp", "get", "desk")
    assert "env: A = ${B:-b}" in shown.out and "tool: echo Say it again." in shown.out
    assert cli.run("mcp", "enable", "old").code == 0
    assert cli.run("mcp", "remove", "desk").code == 0
    assert path.read_text() == OWN


def test_a_server_of_a_project_goes_where_other_harnesses_read_it(cli):
    done = cli.run(
        "mcp", "add", "far", "https://x.example/mcp", "--scope", "project", "--header", "X-A: ${TOKEN}"
    )
    assert done.code == 0 and "caliban trust add" in done.err
    assert json.loads((cli.work / ".mcp.json").read_text()) == {
        "mcpServers": {
            "far": {"type": "http", "url": "https://x.example/mcp", "headers": {"X-A": "${TOKEN}"}}
        }
    }
    assert cli.run("mcp", "disable", "far", "--scope", "local").code == 0
    assert (
        cli.work / ".caliban" / "settings.local.toml"
    ).read_text() == "[mcp_servers.far]\ndisabled = true\n"
    assert "[disabled]" in cli.run("mcp", "list", "--trust-project").out
    assert cli.run("mcp", "remove", "far", "--scope", "project").code == 0
    assert json.loads((cli.work / ".mcp.json").read_text()) == {"mcpServers": {}}


def test_a_server_is_added_as_json_of_another_harness(cli):
    text = json.dumps({"type": "streamable-http", "url": "https://x.example/mcp", "timeout": 90000})
    assert cli.run("mcp", "add-json", "far", text).code == 0
    assert 'type = "http"' in user_file(cli).read_text()
    assert "tool_timeout_s = 90.0" in user_file(cli).read_text()


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("add", "a__b", "--", "x"), 64, "is no name for a server"),
        (("add", "../x", "--", "x"), 64, "is no name for a server"),
        (("add", "\u0455lack", "--", "x"), 64, "is no name for a server"),
        (("add", "x" * 65, "--", "x"), 64, "is no name for a server"),
        (("add", "x"), 64, "names no command and no URL"),
        (("add", "x", "https://x.example", "more"), 64, "takes no arguments"),
        (("add", "x", "https://x.example", "--env", "A=b"), 64, "--env is for"),
        (("add", "x", "--header", "A: b", "--", "x"), 64, "--header is for"),
        (("add", "x", "--env", "A", "--", "x"), 64, "--env takes NAME=VALUE"),
        (("add-json", "x", "{"), 64, "not JSON: "),
        (("add-json", "x", "[]"), 64, "must be a JSON object"),
        (("add-json", "x", "{}"), 64, "neither a command nor a url"),
        (("add-json", "x", '{"command": "x", "args": [1]}'), 78, "must be a string"),
        (("add-json", "x", "[" * 2000), 64, "nested more than 64 levels"),
        (("get", "nobody"), 66, "there is no MCP server 'nobody'"),
        (("remove", "nobody"), 66, "no file has an MCP server 'nobody'"),
        (("doctor", "nobody"), 66, "there is no MCP server"),
        (("import", "nowhere"), 66, "there is no file nowhere"),
        (("import", "codex"), 66, "there is no file"),
        (("review", "--yes"), 64, "--yes needs --digest"),
        (("login", "x"), 66, "there is no MCP server 'x'"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(cli, args, code, words):
    done = cli.run("mcp", *args)
    assert (done.code, done.out) == (code, "") and words in done.err, done.err
    assert not user_file(cli).exists()


@pytest.mark.parametrize(
    "text",
    ["mcp_servers = { x = { command = 'a' } }\n", "mcp_servers.x.command = 'a'\n"],
    ids=["inline", "dotted"],
)
def test_a_form_that_is_not_changed_is_left_as_it_is(cli, text):
    path = cli.configure(text)
    for verb in ("remove", "disable"):
        done = cli.run("mcp", verb, "x")
        assert done.code in (1, 78) and "by hand" in done.err
    assert path.read_text() == text


SOURCES = {
    "claude-code": (
        ".claude.json",
        {"mcpServers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "pkg"], "env": {"K": "v"}}}},
    ),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        {"mcpServers": {"a": {"command": "npx", "args": ["-y", "pkg"]}}},
    ),
    "codex": (
        ".codex/config.toml",
        '[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "pkg"]\nstartup_timeout_sec = 20\n',
    ),
    "vscode": (
        ".config/Code/User/mcp.json",
        '{\n// mine\n"servers": {"a": {"type": "stdio", "command": "npx", "args": ["-y", "pkg",], '
        '"env": {"K": "${env:V}"}},},\n"inputs": []}',
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the places of other programs are those of Linux here")
@pytest.mark.parametrize("source", SOURCES)
def test_servers_of_other_programs_are_taken_over(cli, source):
    name, content = SOURCES[source]
    path = cli.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    shown = cli.run("mcp", "import", source, "--dry-run")
    assert shown.code == 0 and '[mcp_servers.a]\ncommand = "npx"' in shown.out.replace('type = "stdio"\n', "")
    assert not user_file(cli).exists()
    done = cli.run("mcp", "import", source)
    assert done.code == 0, done.err
    text = user_file(cli).read_text()
    assert 'args = ["-y", "pkg"]' in text and "${env:" not in text
    again = cli.run("mcp", "import", str(path))
    assert again.code == 1 and "is not taken" in again.err
    assert user_file(cli).read_text() == text


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"mcpServers": 5}', b"\xff\xfe", b"[" * 5000, b'{"a": 1}']
)
def test_garbage_in_a_file_of_another_program_is_refused_in_words(cli, content):
    (cli.work / "x.json").write_bytes(content)
    done = cli.run("mcp", "import", "x.json")
    assert done.code in (1, 66) and "Traceback" not in done.err and done.err.startswith("caliban: ")
    assert not user_file(cli).exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not JSON"),
        (b'{"mcpServers": []}', "must be a table"),
        (b'{"servers": {}}', "there is no `mcpServers`"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[" * 5000, "deep"),
        (b'{"mcpServers": {"x": 5}}', "must be a table"),
        (b'{"mcpServers": {"x": {"command": 5}}}', "must be a string"),
        (b'{"mcpServers": {"x": {"command": "a", "command": "b"}}}', "given twice"),
        ('{"mcpServers": {"日本": {"command": "a"}}}'.encode(), "'日本' is left out"),
        (b'{"mcpServers": {"a.b": {"command": "a"}, "a b": {"command": "b"}}}', "is called a_b here"),
        (b'{"mcpServers": {"x": {"args": ["a"]}}}', "neither a command nor a url"),
        (b"// mine\n{}", "not JSON"),
    ],
)
def test_garbage_in_the_file_of_a_project_costs_nobody_the_run_and_is_said(cli, content, words):
    """b115, and what others may have written"""
    (cli.work / ".mcp.json").write_bytes(content)
    cli.script(wire.exchange(wire.text("Done.")))
    done = cli.run("-p", "go", "--trust-project")
    assert (done.code, done.out) == (0, "Done.\n"), done.err
    assert words in done.err


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf{}\r\n", b'{"mcpServers": {}}'])
def test_a_file_of_a_project_that_says_nothing_is_fine(cli, content):
    (cli.work / ".mcp.json").write_bytes(content)
    done = cli.run("mcp", "list")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    "text", ["{", "[]", "nowhere.json", '{"mcpServers": {"x": {"type": "sdk", "name": "x"}}}']
)
def test_what_is_wrong_with_given_servers_ends_the_run_before_it_begins(cli, text):
    """b092"""
    done = cli.run("-p", "go", "--mcp-config", text, "--output-format", "json")
    assert done.code in (64, 78) and done.json["is_error"] is True
    assert "--mcp-config" in done.json["error"]
    assert len(cli.server.requests) == 0


def test_the_doctor_connects_and_says_in_words_what_is_wrong(cli, tmp_path):
    noise = "Server v1 started\n\n[1,2]\n"
    odd = {
        "tools": {
            "A": {"more": {"inputSchema": {"anyOf": [{"type": "object"}]}}},
            "B": {"more": {"inputSchema": "ABSENT"}},
            "C": {"more": {"outputSchema": {"properties": 5}, "description": None, "annotations": 7}},
            "D": ECHO["tools"]["echo"],
            "hid": {"description": "a\u200bb"},
            "x" * 80: {},
        },
        "prompts": ["p"],
        "resources": {"note://1": "x"},
        "noise": noise,
    }
    cli.configure(
        table("good", odd)
        + table("bad", {"exit": 3, "said": "no licence\n"})
        + table("off", ECHO, "disabled = true\n")
        + '[mcp_servers.gone]\ncommand = "no-such-program-here"\n'
        + '[mcp_servers.web]\ntype = "http"\nurl = "http://127.0.0.1:9/mcp"\n'
    )
    done = cli.run("mcp", "doctor")
    assert done.code == 1
    text = done.out
    assert "6 tools, 1 prompt, 1 resource; legacy 2025-11-25; connected in" in text
    assert "no licence" in text and "no-such-program-here" in text
    assert "off: not used: disabled" in text and "✗ web:" in text
    assert "no reader would see" in text and f"the tool {'x' * 63}… is called mcp__good__" in text
    rows = {row["name"]: row for row in map(json.loads, cli.run("mcp", "doctor", "--json").out.splitlines())}
    assert rows["good"]["tools"] == ["A", "B", "C", "D", "hid", "x" * 80]
    assert (rows["bad"]["kind"], rows["gone"]["kind"], rows["web"]["kind"]) == (
        "exited",
        "not_found",
        "unreachable",
    )


def test_the_doctor_of_everything_names_servers_without_starting_them(cli, tmp_path):
    note = tmp_path / "pids"
    cli.configure(table("desk", {**ECHO, "note": str(note)}))
    done = cli.run("doctor", "--json")
    row = next(row for row in done.json["checks"] if row["name"] == "mcp_servers")
    assert row["state"] == "pass" and "desk" in row["hint"] and not note.exists()


def test_help_knows_the_servers(cli):
    shown = cli.run("mcp", "--help").out.rpartition("VERB")[0]
    for verb in (
        "list",
        "get",
        "add",
        "add-json",
        "remove",
        "enable",
        "disable",
        "import",
        "review",
        "doctor",
    ):
        assert f"\n  {verb} " in shown
    assert "--mcp-config" in cli.run("--help").out
