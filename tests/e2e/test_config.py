"""`caliban config`: what counts and why, and one setting changed by the real command."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest


def own(cli) -> Path:
    return cli.home / ".config" / "caliban" / "settings.toml"


def theirs(cli, name: str = "settings.toml") -> Path:
    path = cli.work / ".caliban" / name
    path.parent.mkdir(exist_ok=True)
    return path


def test_print_names_scope_file_and_line_of_each_value_and_no_secret(cli):
    cli.configure('model = "m"\n\n[env]\nDEPLOY_TOKEN = "s3cr3t-of-mine"\nCI = "1"\n')
    theirs(cli).write_text('# ours\nmax_turns = 7\n[permissions]\ndeny = ["Bash:rm *"]\n')
    theirs(cli, "settings.local.toml").write_text('[permissions]\ndeny = ["WebFetch"]\n')
    theirs(cli, "hooks.toml").write_text("disable_all_hooks = true\n")
    done = cli.run("config", "print", "--settings", '{"effort": "low"}')
    assert done.code == 0 and "s3cr3t" not in done.out + done.err
    printed = done.json
    assert printed["settings"]["permissions"]["deny"] == ["Bash:rm *", "WebFetch"]
    assert printed["settings"]["env"] == {"DEPLOY_TOKEN": "[secret]", "CI": "1"}
    assert printed["_sources"] == {
        "effort": "cli", "env": "user", "max_turns": "project", "model": "user", "permissions": "local"
    }  # fmt: skip
    origins = printed["_origins"]
    assert origins["model"] == [{"scope": "user", "file": str(own(cli)), "line": 1}]
    assert origins["env.CI"][0]["line"] == 5
    assert origins["effort"] == [{"scope": "cli", "file": None, "line": None}]
    project, local = str(theirs(cli)), str(theirs(cli, "settings.local.toml"))
    assert origins["permissions.deny"] == [
        {"scope": "project", "file": project, "line": 4},
        {"scope": "local", "file": local, "line": 2},
    ]
    assert printed["_restart_required"] == ["model"]
    (held,) = printed["_no_effect"]
    assert (held["key"], held["file"]) == ("disable_all_hooks", str(theirs(cli, "hooks.toml")))
    plain = cli.run("--setting-sources", "user", "config", "print", "--plain").out
    assert f'model = "m"  # user {own(cli)}:1; restart required\n' in plain
    assert "max_turns" not in plain


def test_get_prints_one_value_and_says_where_nobody_set_it(cli):
    cli.configure("max_turns = 7\n[permissions]\ndeny = ['Bash']\n")
    assert cli.run("config", "get", "max_turns").out == "7\n"
    got = cli.run("config", "get", "permissions", "--json").json
    assert got["value"] == {"deny": ["Bash"]}
    assert got["origins"] == [{"scope": "user", "file": str(own(cli)), "line": 3}]
    unset = cli.run("config", "get", "max_tokens")
    assert (unset.code, unset.out) == (1, "") and "its default is 8192" in unset.err
    wrong = cli.run("config", "get", "max_turn")
    assert wrong.code == 66 and "did you mean max_turns?" in wrong.err


def test_set_changes_one_line_and_unset_takes_it_away(cli):
    before = '# mine\nmodel = "a"  # the big one\n\n[env] # for all\nA = "1"\n'
    path = cli.configure(before)
    path.chmod(0o640)
    done = cli.run("config", "set", "model", "b")
    assert done.code == 0 and "restart required" in done.err
    assert path.read_text() == before.replace('"a"', '"b"')
    assert path.stat().st_mode & 0o777 == 0o640
    assert cli.run("config", "set", "permissions.deny", '["Bash:rm *"]', "--scope", "project").code == 0
    assert tomllib.loads(theirs(cli).read_text()) == {"permissions": {"deny": ["Bash:rm *"]}}
    assert cli.run("config", "unset", "env.A").code == 0
    assert path.read_text() == before.replace('"a"', '"b"').replace('A = "1"\n', "")
    assert cli.run("config", "unset", "env.A").code == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("modle", "x"), 64, "did you mean model?"),
        (("no_such_thing_at_all", "x"), 64, "caliban config list"),
        (("max_turns", "five"), 64, "`max_turns` must be an integer, got a string: 'five'"),
        (("max_turns", "-1"), 64, "must be at least 0"),
        (("effort", "lots"), 64, "must be one of low, medium"),
        (("memory", "1"), 64, "is a table of settings"),
        (("permissions.deny", '[" "]'), 78, "must be a pattern, for it forbids"),
        (("shell_environment", "strict", "--scope", "project"), 64, "only your own settings"),
        (("max_turns", "5", "--scope", "managed"), 64, "the administrator's settings are not written"),
        (("audit.path", "/tmp/x"), 78, "would have no effect"),
        (("auto_compact_threshold", "null"), 64, "TOML has no such value"),
    ],
)
def test_what_is_no_setting_or_no_value_of_it_is_refused_and_nothing_is_written(cli, words, code, said):
    done = cli.run("config", "set", *words)
    assert done.code == code and said in done.err
    assert not own(cli).exists() and not theirs(cli).exists()


def test_set_says_where_its_value_does_not_count(cli):
    theirs(cli, "settings.local.toml").write_text("max_turns = 3\n")
    done = cli.run("config", "set", "max_turns", "5")
    assert done.code == 0 and "max_turns of the scope local" in done.err
    held = cli.run("config", "set", "permissions.allow", '["Bash"]', "--scope", "project")
    assert held.code == 0 and "until this project is trusted" in held.err
    later = cli.run("config", "set", "enable_telemetry", "true")
    assert later.code == 0 and "not part of this version" in later.err


def test_set_leaves_a_broken_file_a_link_out_of_the_workspace_and_json_alone(cli, tmp_path):
    path = cli.configure("max_turns = \n")
    done = cli.run("config", "set", "max_turns", "5")
    assert done.code == 78 and f"{path}:1:" in done.err
    assert path.read_text() == "max_turns = \n"
    outside = tmp_path / "outside.toml"
    outside.write_text("# not yours\n")
    theirs(cli).symlink_to(outside)
    assert cli.run("config", "set", "max_turns", "5", "--scope", "project").code == 1
    assert outside.read_text() == "# not yours\n"
    path.unlink()
    path.with_suffix(".json").write_text("{}")
    refused = cli.run("config", "set", "max_turns", "5")
    assert refused.code == 1 and "JSON is read but not written" in refused.err and not path.exists()


def test_path_list_and_schema(cli):
    cli.configure("max_turns = 5\n")
    assert cli.run("config", "path", "--scope", "user").out == f"{own(cli)}\n"
    assert (
        f"project  {os.path.realpath(cli.work)}/.caliban/settings.toml (none yet)"
        in cli.run("config", "path").out
    )
    assert "max_turns " in cli.run("config", "list", "turns").out
    schema = json.loads(cli.run("config", "schema").out)
    assert schema["properties"]["max_turns"]["type"] == "integer"
