"""Settings moved between files by the real command: edited, migrated, imported, and one scope printed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire

CLAUDE = """{
  "model": "opus",
  "env": {"A": "1", "CLAUDE_CODE_X": "1"},
  "permissions": {
    "allow": ["Bash(git:*)", "Read(/etc/**)"],
    "deny": ["Read(./.env)"],
    "defaultMode": "plan"
  },
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./x.sh"}]}],
    "Stop": [{"hooks": [{"type": "mcp_tool"}]}]
  },
  "mcpServers": {"a": {"type": "http", "url": "https://a.example", "headers": {"X": "${X}"}, "odd": 1}},
  "includeCoAuthoredBy": false
}
"""
CODEX = """model = "gpt-5"
model_provider = "oss"
approval_policy = "never"
model_reasoning_effort = "minimal"

[model_providers.oss]
name = "Ours"
base_url = "http://localhost:1/v1"
env_key = "OSS_KEY"
query_params = { a = "b" }

[mcp_servers.docs]
command = "docs"
startup_timeout_sec = 20
bearer_token_env_var = "DOCS"
enabled = false

[shell_environment_policy]
inherit = "core"
set = { CI = "1" }
"""


def own(cli) -> Path:
    return cli.home / ".config" / "caliban" / "settings.toml"


def folder(cli) -> Path:
    path = cli.work / ".caliban"
    path.mkdir(exist_ok=True)
    return path


def names(path: Path) -> set[str]:
    return {item.name for item in path.iterdir() if not item.name.endswith(".lock")}


def editor(cli, text: str) -> dict[str, str]:
    """An editor that writes `text` in place of what it was given."""
    wanted = cli.home / "wanted.toml"
    wanted.write_text(text)
    script = cli.home / "editor"
    script.write_text(f'#!/bin/sh\ncat "{wanted}" > "$2"\n')
    script.chmod(0o755)
    return {"EDITOR": f"'{script}' -w"}


def test_an_edit_takes_the_place_of_the_file_once_it_is_right(cli):
    path = cli.configure("max_turns = \n")
    done = cli.run("config", "edit", env=editor(cli, "# mended\nmax_turns = 5\nmodle = 1\n"))
    assert done.code == 0 and "did you mean `model`?" in done.err
    assert path.read_text() == "# mended\nmax_turns = 5\nmodle = 1\n"
    broken = cli.run("config", "edit", env=editor(cli, "\nmax_turns = 'x'\n"))
    assert broken.code == 78 and f"{path}:2: `max_turns` must be an integer" in broken.err
    assert path.read_text().startswith("# mended")
    assert path.with_name("settings.toml.rejected").read_text() == "\nmax_turns = 'x'\n"
    assert cli.run("config", "edit", env={"EDITOR": "false"}).code == 1
    assert cli.run("config", "edit", env={"EDITOR": "no-such-editor"}).code == 1
    assert cli.run("config", "edit", env={"EDITOR": "true"}).out.endswith("nothing was changed\n")


def test_an_edit_does_not_undo_what_another_wrote_meanwhile(cli):
    path = cli.configure("max_turns = 5\n")
    script = cli.home / "editor"
    script.write_text(f'#!/bin/sh\necho "max_turns = 6" > "$1"; echo "max_turns = 7" > "{path}"\n')
    script.chmod(0o755)
    done = cli.run("config", "edit", env={"EDITOR": str(script)})
    assert done.code == 1 and "changed by somebody else" in done.err
    assert path.read_text() == "max_turns = 7\n"
    assert path.with_name("settings.toml.rejected").read_text() == "max_turns = 6\n"


def test_a_migration_says_first_and_then_moves_everything_that_counts(cli):
    here = folder(cli)
    (here / "permissions.toml").write_text('[[rule]]\ntool = "Bash:rm *"\naction = "deny"\n')
    (here / "settings.toml").write_text('# ours\nmax_turns = 3\n[permissions]\nallow = ["Read"]\n')
    (here / "mcp.toml").write_text('[mcp_servers.x]\ntransport = "stdio"\ncommand = "y"\n')
    hook = '[[hooks.Stop]]\nhandlers = [{ type = "command", command = "true" }]\n'
    (here / "hooks.toml").write_text(f"odd = 1\n{hook}")
    before = {name: (here / name).read_bytes() for name in names(here)}
    asked = cli.run("config", "migrate", "--dry-run")
    assert asked.code == 0
    assert asked.json["permissions"] == {"deny": ["Bash:rm *"]}
    assert "`odd` is not read from there" in asked.err
    assert "`permissions.allow` did not count" in asked.err
    assert {name: (here / name).read_bytes() for name in names(here)} == before
    counted = cli.run("config", "print").json["settings"]
    assert cli.run("config", "migrate").code == 0
    text = (here / "settings.toml").read_text()
    assert text.startswith("# ours\nmax_turns = 3\n") and tomllib.loads(text) == asked.json
    assert cli.run("config", "print").json["settings"] == {**counted, "permissions": {"deny": ["Bash:rm *"]}}
    kept = {name: (here / f"{name}.migrated").read_bytes() for name in before if name != "settings.toml"}
    assert kept == {name: before[name] for name in kept} and len(kept) == 3
    again = cli.run("config", "migrate")
    assert again.code == 0 and "nothing to migrate" in again.err
    assert (here / "settings.toml").read_text() == text


def test_rules_whose_order_matters_stay_ordered(cli):
    here = folder(cli)
    rules = (
        '[[rules]]\npattern = "Bash:git *"\naction = "allow"\n[[rules]]\npattern = "Bash"\naction = "deny"\n'
    )
    (here / "permissions.toml").write_text(rules)
    assert cli.run("config", "migrate").code == 0
    moved = tomllib.loads((here / "settings.toml").read_text())
    assert moved == {"permissions": tomllib.loads(rules)}


def test_settings_of_claude_are_carried_over_and_the_rest_is_named(cli):
    source = cli.home / "claude.json"
    source.write_text(CLAUDE)
    asked = cli.run("settings", "import", "--from", str(source), "--scope", "user", "--dry-run")
    assert asked.code == 0 and not own(cli).exists()
    done = cli.run("settings", "import", "--from", str(source), "--scope", "user")
    assert done.code == 0 and "settings of Claude Code written" in done.out
    assert tomllib.loads(own(cli).read_text()) == tomllib.loads(asked.out)
    assert tomllib.loads(asked.out) == {
        "env": {"A": "1"},
        "permissions": {"default_mode": "plan", "allow": ["Bash(git:*)"], "deny": ["Read(./.env)"]},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./x.sh"}]}]},
        "mcp_servers": {"a": {"type": "http", "url": "https://a.example", "headers": {"X": "${X}"}}},
    }
    for words in (
        f"{source}:2: model: 'opus' is a name that only Claude Code knows",
        f"{source}:3: env.CLAUDE_CODE_X: ",
        f"{source}:5: permissions.allow[1] Read(/etc/**): ",
        f"{source}:11: hooks.Stop: ",
        f"{source}:13: mcpServers.a.odd: ",
        f"{source}:14: includeCoAuthoredBy: ",
    ):
        assert f"not carried over: {words}" in done.err
    assert source.read_text() == CLAUDE


def test_settings_of_codex_are_carried_over_and_what_is_set_stays(cli):
    source = cli.home / "config.toml"
    source.write_text(CODEX)
    cli.configure('effort = "max"  # mine\n')
    done = cli.run("settings", "import", "--from", str(source), "--scope", "user")
    assert done.code == 0
    assert own(cli).read_text().startswith('effort = "max"  # mine\n')
    assert tomllib.loads(own(cli).read_text()) == {
        "effort": "max",
        "model": {"provider": "oss", "name": "gpt-5"},
        "provider": {
            "oss": {"kind": "openai", "base_url": "http://localhost:1/v1", "api_key_env": "OSS_KEY"}
        },
        "mcp_servers": {
            "docs": {
                "command": "docs",
                "start_timeout_s": 20,
                "bearer_token_env": "DOCS",
                "disabled": True,
            }
        },
        "shell_environment": "strict",
        "env": {"CI": "1"},
    }
    for words in (
        f"{source}:3: approval_policy: ",
        f"{source}:4: model_reasoning_effort: effort is set there already",
        f"{source}:10: model_providers.oss.query_params: ",
    ):
        assert f"not carried over: {words}" in done.err
    project = cli.run("settings", "import", "--from", str(source))
    assert "may not be said in the scope project, only" in project.err
    assert "provider" not in tomllib.loads((folder(cli) / "settings.toml").read_text())


def test_settings_of_an_older_caliban_are_joined_with_what_is_there(cli):
    cli.configure('[permissions]\ndeny = ["WebFetch"]\n')
    source = cli.home / "old.json"
    source.write_text(
        json.dumps({"max_turns": 4, "auto_compact_threshold": None, "deny": ["Bash", "WebFetch"]})
    )
    done = cli.run("settings", "import", "--from", str(source), "--scope", "user")
    assert done.code == 0 and "cannot be null" in done.err
    assert tomllib.loads(own(cli).read_text()) == {
        "max_turns": 4,
        "permissions": {"deny": ["WebFetch", "Bash"]},
    }
    # and a run goes by it
    cli.script(wire.exchange(wire.text("ok")))
    assert cli.run("-p", "hi").code == 0


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.json", b"{", 78),
        ("a.json", b"[1]", 78),
        ("a.toml", b"\xff\xfe", 78),
        ("a.json", b'{"spinnerVerbs": 1}', 1),
        ("a.json", b'{"permissions": 3, "hooks": 4, "env": 5, "mcpServers": 6, "model": 7}', 1),
        ("a.toml", b"approval_policy = 1\nmodel_providers = 2\nmcp_servers = 3\nmodel = 4\n", 1),
        ("a.toml", b"approval_policy = 1\nmodel_reasoning_effort = []\nmodel_providers = {a = 1}\n", 1),
    ],
)
def test_what_is_no_settings_file_is_refused(cli, name, data, code):
    source = cli.home / name
    source.write_bytes(data)
    done = cli.run("settings", "import", "--from", str(source), "--scope", "user")
    assert done.code == code and str(source) in done.err and "Traceback" not in done.err
    assert not own(cli).exists()


def test_one_scope_is_printed_by_itself_without_its_secrets(cli):
    cli.configure('max_turns = 5\n[provider.x.headers]\nX-Thing = "hidden"\nY = "${Y}"\n')
    (folder(cli) / "settings.toml").write_text("max_turns = 6\n")
    assert cli.run("settings", "print").json == {"max_turns": 6}
    user = cli.run("settings", "print", "--scope", "user").json
    assert user == {"max_turns": 5, "provider": {"x": {"headers": {"X-Thing": "[secret]", "Y": "${Y}"}}}}
    assert cli.run("settings", "print", "--scope", "managed").json == {}
    assert cli.run("settings", "print", "--scope", "bogus").code == 2
    assert cli.run("settings", "import", "--from", str(cli.home / "none.json")).code == 66
