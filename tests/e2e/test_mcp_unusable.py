"""Servers that no run could use are refused where they are written: by `mcp add`, `add-json` and `import`."""

from __future__ import annotations

import json
import sys

import pytest

from caliban_provider_anthropic.testing import wire


def written(cli) -> bool:
    return (cli.home / ".config" / "caliban" / "settings.toml").exists()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"command": "x", "command": "y"}', "the key 'command' is given twice"),
        ('{"command": "x", "env": {"A": "b", "A": "c"}}', "the key 'A' is given twice"),
        ('{"command": "x", "startup_timeout_sec": 1e999}', "'startup_timeout_sec' must be a number"),
        ('{"command": "x", "startup_timeout_sec": NaN}', "NaN is not a number"),
        (r'{"command": "\ud800"}', "half of a character"),
        (r'{"command": "x", "args": ["a\u0000b"]}', "NUL"),
        ('{"command": "x", "url": "https://x.example"}', "both"),
        ('{"type": "http", "command": "x"}', "is of the type http and has no url"),
        ('{"type": "stdio", "url": "https://x.example"}', "has no command"),
        (r'{"url": "https://x.example", "headers": {"A": "b\r\nC: d"}}', "does not allow"),
    ],
)
def test_json_that_means_no_server_is_refused(cli, text: str, word: str):
    done = cli.run("mcp", "add-json", "far", text)
    assert (done.code, done.out) == (64, "") and word in done.err
    assert not written(cli)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--env", "A=1", "--env", "A=2", "--", "x"), "--env names A twice"),
        (("https://x.example", "--header", "A: 1", "--header", "a: 2"), "--header names a twice"),
        (("--env", "A", "--", "x"), "--env takes NAME=VALUE"),
    ],
)
def test_a_name_is_given_once_and_with_a_value(cli, words, told):
    done = cli.run("mcp", "add", "far", *words)
    assert (done.code, done.out) == (64, "") and told in done.err
    assert not written(cli)


def test_words_that_mean_no_server_are_refused(cli):
    header = ("mcp", "add", "far", "https://x.example", "--header", "X-A: b\nX-B: c")
    for words in (header, ("mcp", "add", "far", "--", ""), ("mcp", "add", "far", "--", "\udcff")):
        done = cli.run(*words)
        assert done.code == 64 and "the server 'far' has" in done.err, words
    assert not written(cli)


def test_one_that_cannot_be_used_costs_no_other_of_an_import(cli):
    servers = {"good": {"command": "x"}, "bad": {"command": "x", "args": ["${A"]}}
    (cli.work / "other.json").write_text(json.dumps({"mcpServers": servers}))
    done = cli.run("mcp", "import", str(cli.work / "other.json"))
    assert done.code == 1 and "the server 'bad' is not taken" in done.err and "not closed" in done.err
    assert "mcp_servers.good" in (cli.home / ".config" / "caliban" / "settings.toml").read_text()


def test_what_a_server_says_of_a_password_in_its_entry_is_not_shown(cli):
    program = "import os, sys; sys.exit('dying with ' + os.environ['MY_PASSWORD'])"
    env = {"MY_PASSWORD": "hunter2-hunter2"}
    cli.run(
        "mcp", "add-json", "far", json.dumps({"command": sys.executable, "args": ["-c", program], "env": env})
    )
    for words in ((), ("--json",)):
        done = cli.run("mcp", "doctor", "far", *words)
        assert done.code == 1 and "dying with" in done.out + done.err
        assert "hunter2" not in done.out + done.err


def test_what_looks_like_a_secret_in_an_entry_is_not_listed(cli):
    words = (
        "prog",
        "--password",
        "hunter2hunter2",
        "--api-key=abcdef123456",
        "--token",
        "${TOKEN}",
        "--level",
        "9",
    )
    assert cli.run("mcp", "add", "one", "--", *words).code == 0
    assert cli.run("mcp", "add", "two", "https://x.example/mcp?api_key=abcdef123456&x=1").code == 0
    for command in (("list",), ("list", "--json"), ("get", "one"), ("get", "two"), ("get", "one", "--json")):
        shown = cli.run("mcp", *command).out
        assert "hunter2" not in shown and "abcdef" not in shown
    one = cli.run("mcp", "get", "one").out
    assert "prog --password [secret] --api-key=[secret] --token ${TOKEN} --level 9" in one
    assert "https://x.example/mcp?api_key=[secret]&x=1" in cli.run("mcp", "get", "two").out


DEEP_SERVER = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    deep = '{"a":' * LEVELS + "1" + "}" * LEVELS
    tool = {"name": "t", "description": "x", "inputSchema": {"type": "object"}}
    info = {"name": "d", "version": "1"}
    begun = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    known = {"initialize": begun, "tools/list": {"tools": [tool]}}
    if asked.get("method") == "tools/call":
        result = '{"content":[{"type":"text","text":"hi"}],"structuredContent":' + deep + "}"
    elif asked.get("method") in known:
        result = json.dumps(known[asked["method"]])
    elif "id" in asked:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print('{"jsonrpc":"2.0","id":' + json.dumps(asked["id"]) + ',"result":' + result + "}", flush=True)
"""


@pytest.mark.parametrize("levels", [150, 300, 700, 3000])
def test_an_answer_that_is_nested_without_end_ends_no_run(cli, levels):
    (cli.work / "server.py").write_text(DEEP_SERVER.replace("LEVELS", str(levels)))
    assert cli.run("mcp", "add", "d", "--", sys.executable, "server.py").code == 0
    cli.script(wire.exchange(wire.tool_use("mcp__d__t", {})), wire.exchange(wire.text("done")))
    done = cli.run("-p", "go", "--allow", "mcp__d__t")
    assert (done.code, done.out) == (0, "done\n"), done.err
    (result,) = cli.bodies()[-1]["messages"][-1]["content"]
    assert bool(result.get("is_error")) == (levels > 200), result
    assert "not found" not in str(result["content"])


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            ("mcp.example.com/mcp",),
            "mcp.example.com/mcp is taken for a program; an address begins with https://",
        ),
        (("--", "no-such-program", "-y"), "there is no program no-such-program on the PATH yet"),
        (("--", "npx -y notes"), "its arguments stand in words of their own"),
        (("--", "${NOTES}"), ""),
        (("--", sys.executable), ""),
    ],
)
def test_what_is_probably_not_meant_so_is_noted_and_written(cli, words, note):
    done = cli.run("mcp", "add", "x", *words)
    assert done.code == 0 and "is written to" in done.err
    assert [line for line in done.err.splitlines() if "note: " in line and note not in line] == []
    assert (note in done.err) and bool(note) == ("note: " in done.err)


def test_the_short_flags_of_other_programs_are_taken_and_a_lost_mark_is_named(cli):
    add = ("mcp", "add")
    assert cli.run(*add, "one", "-s", "user", "-e", "A=b", "--", sys.executable, "-e", "c").code == 0
    assert cli.run(*add, "-t", "sse", "two", "https://x.example/sse", "-H", "X-A: b").code == 0
    shown = cli.run("mcp", "get", "one", "--json").json
    assert (shown["env"], shown["target"]) == ({"A": "b"}, f"{sys.executable} -e c")
    shown = cli.run("mcp", "get", "two", "--json").json
    assert (shown["kind"], shown["headers"]) == ("sse", {"X-A": "b"})
    done = cli.run(*add, "three", "npx", "-y", "notes")
    assert done.code == 64 and "flags of a command of yours stand behind --" in done.err
    done = cli.run("mcp", "get", "zebra")
    assert done.code == 66 and "hint: caliban mcp list" in done.err
