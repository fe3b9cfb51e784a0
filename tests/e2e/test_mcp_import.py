"""`caliban mcp import` from what other programs really write: their names, members, variables and damage."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="the places of other programs are those of Linux")


def written(cli) -> dict[str, Any]:
    """The servers in the user's settings."""
    path = cli.home / ".config" / "caliban" / "settings.toml"
    return tomllib.loads(path.read_text())["mcp_servers"] if path.exists() else {}


def place(cli, name: str, content: str | bytes) -> None:
    path = cli.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def servers(**tables: Any) -> str:
    return json.dumps({"mcpServers": tables})


@linux
def test_names_that_none_has_here_are_taken_by_one_that_is(cli):
    names = ("Sequential Thinking", "awslabs.core-mcp-server", "github.com/x/y", "my__server", "fine-1")
    place(
        cli,
        ".config/Claude/claude_desktop_config.json",
        servers(**{name: {"command": "x"} for name in (*names, "日本")}),
    )
    done = cli.run("mcp", "import", "claude-desktop")
    assert done.code == 1 and "the server '日本' is not taken" in done.err
    assert "awslabs_core-mcp-server: that is 'awslabs.core-mcp-server'" in done.err
    assert set(written(cli)) == {
        "Sequential_Thinking",
        "awslabs_core-mcp-server",
        "github_com_x_y",
        "my_server",
        "fine-1",
    }
    assert cli.run("mcp", "list").err == ""


@linux
def test_what_editors_ask_for_and_fill_in_is_a_variable_that_is_named(cli):
    place(
        cli,
        ".config/Code/User/mcp.json",
        '{// mine\n"inputs": [{"type": "promptString", "id": "perplexity-key", "password": true}],\n'
        '"servers": {"one": {"type": "stdio", "command": "${workspaceFolder}/bin/one",\n'
        '"args": ["${userHome}/notes", "${workspaceFolder:docs}",], "env": {"KEY": "${input:perplexity-key}",'
        '"B": "${env:B}"}, "envFile": "${workspaceFolder}/.env", "dev": {}},\n'
        '"two": {"command": "${config:python.path}"}}}',
    )
    done = cli.run("mcp", "import", "vscode")
    assert done.code == 1 and "the server 'two' is not taken: it cannot be filled in: command" in done.err
    assert written(cli) == {
        "one": {
            "type": "stdio",
            "command": "${CLAUDE_PROJECT_DIR}/bin/one",
            "args": ["${HOME}/notes", "${CLAUDE_PROJECT_DIR}"],
            "env": {"KEY": "${PERPLEXITY_KEY}", "B": "${B}"},
        }
    }
    for words in ("export PERPLEXITY_KEY=…", "its envFile is not read", "nothing here reads it: dev"):
        assert words in done.err


@linux
def test_members_of_codex_that_mean_one_of_ours_are_taken_and_no_other_is_left_to_be_warned_of(cli):
    place(
        cli,
        ".codex/config.toml",
        '[mcp_servers.docs]\ncommand = "npx"\nenv_vars = ["DOCS_TOKEN", { name = "OTHER" }]\n'
        'startup_timeout_ms = 20000\nenabled = false\ndefault_tools_approval_mode = "prompt"\n'
        '[mcp_servers.docs.env]\nA = "b"\n'
        '[mcp_servers.docs.tools.search]\napproval_mode = "approve"\n'
        '[mcp_servers.far]\nurl = "https://x.example/mcp"\nscopes = ["read"]\n'
        'bearer_token_env_var = "FAR"\nenv_http_headers = { "X-Key" = "FAR_KEY" }\n',
    )
    done = cli.run("mcp", "import", "codex")
    assert done.code == 0, done.err
    assert written(cli) == {
        "docs": {
            "command": "npx",
            "disabled": True,
            "start_timeout_s": 20.0,
            "env": {"DOCS_TOKEN": "${DOCS_TOKEN:-}", "OTHER": "${OTHER:-}", "A": "b"},
        },
        "far": {
            "url": "https://x.example/mcp",
            "type": "http",
            "bearer_token_env": "FAR",
            "headers": {"X-Key": "${FAR_KEY}"},
            "oauth_config": {"scopes": ["read"]},
        },
    }
    assert "docs: left out, for nothing here reads it: default_tools_approval_mode, tools" in done.err
    assert cli.run("mcp", "list").err == ""


def test_what_is_odd_elsewhere_in_a_file_costs_no_server_and_what_is_odd_in_one_costs_no_other(cli):
    text = (
        '{"history": "cut in the middle of \\ud83d", "count": 123456789012345678901234567890, "x": NaN,'
        '"projects": {' + json.dumps(str(cli.work)) + ': {"mcpServers": {"here": {"command": "h"}}}},'
        '"mcpServers": {"one": {"command": "a", "headersHelper": "h"}, "half": {"command": "\\udc00"},'
        '"number": {"command": "a", "args": [8080]}, "five": 5, "here": {"command": "far"}}}'
    )
    place(cli, ".claude.json", text)
    (cli.work / ".mcp.json").write_text("{")
    done = cli.run("mcp", "import", "claude-code")
    assert done.code == 1 and ".mcp.json: no JSON" in done.err
    assert {name: table["command"] for name, table in written(cli).items()} == {"one": "a", "here": "h"}
    for words in ("the server 'half' is not taken: ", "the server 'number' is not taken: "):
        assert words in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_that_windows_wrote_are_read(cli, encoding):
    (cli.work / "mine.json").write_bytes(servers(one={"command": "ä"}).replace("\n", "\r\n").encode(encoding))
    assert cli.run("mcp", "import", "mine.json").code == 0
    assert written(cli) == {"one": {"command": "ä"}}


def test_a_project_may_use_such_names_too_and_commands_find_them(cli):
    path = cli.work / ".mcp.json"
    path.write_text(servers(**{"awslabs.core": {"command": "x"}, "awslabs core": {"command": "y"}}))
    listed = cli.run("mcp", "list", "--trust-project", "--json")
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == ["awslabs_core"]
    assert "'awslabs core' is left out: another one is called awslabs_core here" in listed.err
    assert cli.run("mcp", "disable", "awslabs_core", "--scope", "project").code == 0
    assert json.loads(path.read_text())["mcpServers"]["awslabs.core"] == {"command": "x", "disabled": True}
    assert cli.run("mcp", "enable", "awslabs_core").code == 0
    again = cli.run("mcp", "add", "awslabs_core", "--scope", "project", "--", "z")
    assert again.code == 1 and "already" in again.err
    assert cli.run("mcp", "remove", "awslabs_core", "--scope", "project").code == 0
    assert list(json.loads(path.read_text())["mcpServers"]) == ["awslabs core"]


def test_a_name_that_a_source_does_not_have_is_answered_with_those_that_it_has(cli):
    (cli.work / "mine.json").write_text(servers(one={"command": "a"}, two={"command": "b"}))
    done = cli.run("mcp", "import", "mine.json", "zebra")
    assert done.code == 66 and "hint: there are: one, two" in done.err


def test_a_field_that_a_form_left_empty_says_nothing(cli):
    entries = {"far": {"url": "https://x.example/mcp", "command": ""}, "near": {"command": "n", "url": None}}
    (cli.work / ".mcp.json").write_text(servers(**entries, none={"command": "", "url": ""}))
    listed = cli.run("mcp", "list", "--trust-project", "--json")
    rows = {row["name"]: row["kind"] for row in map(json.loads, listed.out.splitlines())}
    assert (rows["far"], rows["near"]) == ("http", "stdio")
    assert cli.run("mcp", "import", ".mcp.json").code == 1
    assert set(written(cli)) == {"far", "near"}
