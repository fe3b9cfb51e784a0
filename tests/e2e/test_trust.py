"""What a project supplies counts with a person's consent to exactly that, by the real command."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire

OK = wire.text("ok")
ALLOWS = '[permissions]\nallow = ["Bash:touch *"]\n'
AGENT = "---\nname: reviewer\ndescription: reads diffs\n---\nYou review.\n"
WAITS = "until this project is trusted: caliban trust add, or --trust-project for one run"


def write(folder: Path, text: str = ALLOWS, name: str = "settings.toml") -> Path:
    path = folder / ".caliban" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def surface(cli, *args: str) -> dict:
    done = cli.run("trust", "show", "--json", *args)
    assert done.code == 0, done.err
    return done.json


def trust(cli, *args: str) -> str:
    """Consent to what is there; the digest of it."""
    digest = surface(cli, *args)["digest"]
    done = cli.run("trust", "add", *args, "--yes", "--digest", digest[:12])
    assert done.code == 0, done.err
    return digest


def touches(cli, *flags: str, env=None) -> tuple[bool, str]:
    """Whether the project's rule let a command run, and what was said."""
    made = cli.work / "made"
    made.unlink(missing_ok=True)
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"})), wire.exchange(OK))
    done = cli.run("-p", "go", *flags, env=env)
    assert done.code == 0, done.err
    return made.exists(), done.err


def rows(cli) -> list[tuple[str, str]]:
    done = cli.run("trust", "list", "--json")
    assert done.code == 0, done.err
    return [(row["root"], row["state"]) for row in map(json.loads, done.out.splitlines())]


def store(cli) -> Path:
    return cli.home / ".local" / "share" / "caliban" / "trust" / "projects.json"


def test_a_project_counts_from_the_consent_to_it_until_it_changes_or_is_revoked(cli):
    """Nothing is asked again meanwhile: row s917 of the attacks, which is about peace."""
    path = write(cli.work)
    ran, err = touches(cli)
    assert (ran, err.count(f"`permissions.allow`: no effect {WAITS}")) == (False, 1)
    trust(cli)
    ran, err = touches(cli)
    assert (ran, "no effect" in err) == (True, False)
    ran, err = touches(cli)
    assert (ran, "trust" in err) == (True, False)
    path.write_text(ALLOWS.replace('*"]', '*", "Bash:rm *"]'))
    ran, err = touches(cli)
    assert not ran
    assert "has changed since it was trusted" in err
    assert "changed rules permissions.allow; nothing of it counts: caliban trust add shows" in err
    assert rows(cli) == [(str(cli.work), "changed")]
    path.write_text(ALLOWS)
    assert touches(cli)[0]  # what was trusted is there again
    assert cli.run("trust", "revoke").out == f"trusted no more: {cli.work}\n"
    assert not touches(cli)[0]
    assert (rows(cli), cli.run("trust", "revoke").code) == ([], 1)


def test_what_grants_nothing_needs_no_consent(cli):
    write(cli.work, 'output_style = "x"\n[permissions]\ndeny = ["WebFetch"]\n')
    assert "nothing in it needs trust" in cli.run("trust", "add").out
    assert surface(cli)["digest"] is None
    assert not store(cli).exists()


def test_only_comments_and_blanks_are_no_part_of_what_settings_say(cli):
    path = write(cli.work)
    trust(cli)
    path.write_text("# said\n\n" + ALLOWS.replace("=", " = "))
    assert touches(cli)[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.toml", ALLOWS + 'model = "other"\n'.replace("model", "ask")),
        ("settings.local.toml", '[permissions]\ndeny = ["Bash:rm *"]\n'),
        ("mcp.toml", '[mcp_servers.x]\ncommand = "sh"\n'),
        ("agents/a.md", AGENT),
        ("../caliban.toml", "# nothing\n"),
        ("../.claude/agents/b.md", AGENT),
    ],
)
def test_an_item_more_or_less_anywhere_asks_again(cli, name, text):
    path = write(cli.work, AGENT, "agents/old.md")
    write(cli.work)
    before = trust(cli)
    more = write(cli.work, text.replace('ask = "other"', 'ask = ["Bash:x *"]'), name)
    after = surface(cli)
    assert (after["state"], after["digest"] != before) == ("changed", True)
    assert not touches(cli)[0]
    more.unlink() if name != "settings.toml" else write(cli.work)
    assert touches(cli)[0]
    path.unlink()
    assert not touches(cli)[0]


def test_a_rule_that_narrowed_an_allowed_one_is_missed(cli):
    rule = '[[permissions.rules]]\npattern = "{}"\naction = "{}"\n'
    narrow, wide = rule.format("Bash:touch m*", "ask"), rule.format("Bash:touch *", "allow")
    path = write(cli.work, narrow + wide)
    trust(cli)
    assert not touches(cli)[0]
    path.write_text(wide + narrow)
    assert not touches(cli)[0]  # the order is part of what was trusted
    path.write_text(wide)
    assert not touches(cli)[0]
    trust(cli)
    assert touches(cli)[0]


def test_a_program_that_a_command_names_is_part_of_what_is_trusted(cli):
    helper = cli.work / "tools" / "key.sh"
    helper.parent.mkdir()
    helper.write_text("#!/bin/sh\necho sk-from-the-helper-0001\n")
    helper.chmod(0o755)
    write(cli.work, 'api_key_helper = "./tools/key.sh"\n')
    trust(cli)
    cli.script(wire.exchange(OK))
    assert cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""}).code == 0
    assert cli.server.requests[-1].headers["x-api-key"] == "sk-from-the-helper-0001"
    helper.write_text(f"#!/bin/sh\ntouch {cli.home}/PWNED\n")
    done = cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""})
    assert (done.code, (cli.home / "PWNED").exists()) == (78, False)
    assert "changed program tools/key.sh" in done.err


def test_agents_and_routes_of_a_project_count_with_it(cli):
    write(cli.work, AGENT, "agents/reviewer.md")
    routes = '[[router.route]]\npurpose = "main_loop"\nprovider = "anthropic"\nmodel = "claude-haiku-4-5"\n'
    (cli.work / "caliban.toml").write_text(routes)
    cli.script(wire.exchange(OK), wire.exchange(OK))
    wary = cli.run("-p", "hi")
    assert f"caliban.toml is not used {WAITS}" in wary.err
    assert f"the agents in {cli.work}/.caliban/agents are not used {WAITS}" in wary.err
    trust(cli)
    assert cli.run("-p", "hi").err.count("caliban trust") == 0
    first, second = cli.bodies()
    assert (first["model"], second["model"]) == ("claude-sonnet-4-6", "claude-haiku-4-5")
    assert "reviewer" in json.dumps(second["tools"])
    assert "reviewer" not in json.dumps(first["tools"])


# Who asks, and what counts as yes.


def test_nothing_is_trusted_without_a_person_or_a_digest(cli):
    write(cli.work)
    digest = surface(cli)["digest"]
    refused = cli.run("trust", "add", stdin=b"y\n")
    assert (refused.code, "no terminal" in refused.err, digest[:12] in refused.err) == (1, True, True)
    bad = [
        (("--yes",), 64),
        (("--digest", digest), 64),
        (("--yes", "--digest", digest[:11]), 64),
        (("--yes", "--digest", digest[:12].upper() + "Z"), 64),
        (("--yes", "--digest", "x" * 64), 64),
        (("--yes", "--digest", ""), 64),
        (("--yes", "--digest", digest + "0"), 64),
        (("--yes", "--digest", "0" * 12), 1),
    ]
    assert [cli.run("trust", "add", *flags).code for flags, _ in bad] == [code for _, code in bad]
    assert not store(cli).exists()
    assert cli.run("trust", "add", "--yes", "--digest", digest).code == 0


def test_a_script_consents_to_what_was_looked_at_or_to_nothing(cli):
    path = write(cli.work)
    digest = surface(cli)["digest"]
    path.write_text(ALLOWS.replace("touch", "rm"))
    done = cli.run("trust", "add", "--yes", "--digest", digest)
    assert (done.code, "it is not what was looked at" in done.err) == (1, True)
    assert rows(cli) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("typed", "code"),
    [("\n", 1), ("n\n", 1), ("no\n", 1), ("\x04", 1), ("Yy\n", 1), ("sure\n", 1), ("y\n", 0), ("YES\n", 0)],
)
def test_a_person_is_shown_everything_and_has_to_say_yes(cli, typed, code):
    write(
        cli.work,
        'api_key_helper = "./steal.sh"\n[permissions]\nallow = ["Bash:*"]\n[mcp_servers.x]\ncommand = "sh"\n'
        'args = ["-c", "touch it"]\nenv = { API_TOKEN = "CANARY-1" }\n'
        'headers = { Authorization = "Bearer CANARY-2" }\n[env]\nCI = "\\u001b]52;c;x\\u0007\\u202e"\n',
    )
    shown, ended = on_terminal(cli, typed, "trust", "add")
    assert ended == code
    for words in (
        "./steal.sh",
        "RUNS ANY CODE",
        '"sh"',
        '"touch it"',
        "mcp_servers.x.env.API_TOKEN",
        "env.CI",
    ):
        assert words in shown
    assert "CANARY" not in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert bool(rows(cli)) is (code == 0)
    kept = store(cli).read_text() if store(cli).exists() else ""
    assert "CANARY" not in kept


def test_trust_is_not_asked_for_when_its_words_go_elsewhere(cli):
    write(cli.work)
    _, code = on_terminal(cli, "y\n", "trust", "add", unseen=True)
    assert (code, rows(cli)) == (1, [])


def on_terminal(cli, typed: str, *args: str, unseen: bool = False) -> tuple[str, int]:
    """What a person sees who types that, and how it ends."""
    ours, theirs = os.openpty()
    out = os.open(os.devnull, os.O_WRONLY) if unseen else theirs
    process = cli.begin(*args, stdin=theirs, stdout=out, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed.encode())
    chunks: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 1 << 16):
                chunks.append(chunk)
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    code = process.wait(HANG_S)
    reader.join(HANG_S)
    os.close(ours)
    return b"".join(chunks).decode().replace("\r\n", "\n"), code


# Where consent does not come from.


def test_consent_does_not_flow_to_folders_below_or_above(cli):
    write(cli.work)
    trust(cli)
    inner = cli.work / "inner"
    write(inner)
    assert surface(cli, str(inner))["state"] == "untrusted"
    outer = cli.work.parent
    write(outer)
    assert surface(cli, str(outer))["state"] == "untrusted"


def test_a_copy_and_a_renamed_folder_have_no_consent_and_a_link_to_it_has(cli):
    write(cli.work)
    digest = trust(cli)
    copy, link, moved = (cli.work.parent / name for name in ("copy", "link", "moved"))
    shutil.copytree(cli.work, copy)
    link.symlink_to(cli.work)
    assert (surface(cli, str(copy))["state"], surface(cli, str(copy))["digest"]) == ("untrusted", digest)
    assert surface(cli, str(link))["state"] == "trusted"
    cli.work.rename(moved)
    copy.rename(cli.work)  # another folder at the path that was trusted
    shown = surface(cli)
    assert (shown["state"], shown["digest"]) == ("changed", digest)
    ran, err = touches(cli)
    assert (ran, "is another folder than the one that was trusted" in err) == (False, True)
    assert surface(cli, str(moved))["state"] == "untrusted"
    assert rows(cli) == [(str(cli.work), "gone")]


def test_a_path_in_other_letters_is_another_path(cli):
    write(cli.work)
    trust(cli)
    other = cli.work.with_name(cli.work.name.upper())
    if not other.exists():
        shutil.copytree(cli.work, other)
    assert surface(cli, str(other))["state"] == "untrusted"


def test_a_linked_worktree_is_another_root(cli):
    write(cli.work)
    trust(cli)
    tree = cli.work.parent / "tree"
    (cli.work / ".git" / "worktrees" / "tree").mkdir(parents=True)
    write(tree)
    (tree / ".git").write_text(f"gitdir: {cli.work}/.git/worktrees/tree\n")
    assert surface(cli, str(tree))["state"] == "untrusted"


@pytest.mark.parametrize("name", ["CALIBAN_TRUST_PROJECT", "CALIBAN_TRUST", "TRUST_PROJECT"])
def test_no_variable_of_the_environment_trusts(cli, name):
    write(cli.work)
    assert not touches(cli, env={name: "1"})[0]


def test_no_setting_of_the_project_trusts_it_and_no_session_does(cli):
    write(cli.work, "trust_project = true\ntrusted = true\n" + ALLOWS)
    assert not touches(cli, "--session", "s")[0]
    assert touches(cli, "--trust-project", "--resume", "s")[0]
    assert not touches(cli, "--resume", "s")[0]  # the flag was for one run


def test_a_home_and_a_root_are_trusted_for_one_run_only(cli):
    write(cli.home)
    inner = cli.run("trust", "add", str(cli.home))
    assert (inner.code, "is your home" in inner.err, "--trust-project" in inner.err) == (1, True, True)
    assert cli.run("trust", "add", "/").code == 1
    assert cli.run("trust", "add", str(cli.home.parent)).code == 1
    assert not store(cli).exists()


def test_a_consent_for_a_home_that_somebody_wrote_down_does_not_count(cli):
    write(cli.work)
    trust(cli)
    write(cli.home)
    status = cli.home.stat()
    text = store(cli).read_text().replace(f'"{cli.work}"', f'"{cli.home}"')
    text = text.replace(f'"{cli.work.stat().st_ino}"', f'"{status.st_ino}"')
    store(cli).write_text(text)
    assert rows(cli) == [(str(cli.home), "current")]
    assert surface(cli, str(cli.home))["state"] == "untrusted"


def test_a_workspace_that_brings_the_file_of_consents_along_is_not_trusted(cli):
    write(cli.work)
    trust(cli)
    shutil.copytree(store(cli).parent, cli.work / "data" / "caliban" / "trust")
    (cli.work / "data" / "caliban" / "trust").chmod(0o700)
    ran, err = touches(cli, env={"XDG_DATA_HOME": str(cli.work / "data")})
    assert (ran, "lies in the workspace" in err) == (False, True)


@pytest.mark.parametrize("harm", ["damage", "mode", "link"])
def test_consents_that_cannot_be_believed_trust_nothing_and_are_named(cli, harm):
    write(cli.work)
    trust(cli)
    if harm == "damage":
        store(cli).write_text("{")
    elif harm == "mode":
        store(cli).chmod(0o666)
    else:
        real = store(cli).rename(store(cli).with_name("x.json"))
        store(cli).symlink_to(real)
    ran, err = touches(cli)
    assert (ran, err.count(f"{store(cli)} ")) == (False, 1)
    assert "no project is trusted" in err
    assert touches(cli, "--trust-project")[0]
    for command in (("trust",), ("trust", "add", "--yes", "--digest", "0" * 12), ("trust", "revoke")):
        assert cli.run(*command).code == 78
    assert cli.run("trust", "revoke", "--all").code == (0 if harm == "damage" else 78)


# Which files are looked at, and when.


def test_flags_that_leave_settings_out_change_no_digest(cli):
    write(cli.work)
    write(cli.work, 'model = "local-model"\n', "settings.local.toml")
    write(cli.work, AGENT, "agents/a.md")
    trust(cli)
    ran, err = touches(cli, "--setting-sources", "project")
    assert (ran, "trust" in err) == (True, False)
    cli.configure("max_turns = 2\n")
    assert touches(cli, "--setting-sources", "user,project", "--settings", '{"max_turns": 3}')[0]


def test_a_broken_file_that_is_left_out_trusts_nothing(cli):
    write(cli.work)
    trust(cli)
    write(cli.work, "not toml", "settings.local.toml")
    ran, err = touches(cli, "--setting-sources", "project")
    assert (ran, "nothing of this project counts" in err) == (False, True)
    assert rows(cli) == [(str(cli.work), "unreadable")]


def test_a_change_within_a_run_widens_nothing_there_and_asks_again_after_it(cli):
    write(cli.work)
    trust(cli)
    wider = ALLOWS.replace("touch", "mkdir")
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": f"printf '{wider}' > .caliban/settings.toml"})),
        wire.exchange(wire.tool_use("Bash", {"command": "mkdir inner"})),
        wire.exchange(wire.tool_use("Bash", {"command": "touch made"})),
        wire.exchange(OK),
    )
    # Rules of a person that allow the change itself: what it says still needs consent.
    done = cli.run("-p", "go", "--allow", "Bash:printf *", "--allow", "Write:*")
    assert done.code == 0
    assert ((cli.work / "inner").exists(), (cli.work / "made").exists()) == (False, True)
    write(cli.work, wider)
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "mkdir inner"})), wire.exchange(OK))
    assert "has changed since it was trusted" in cli.run("-p", "go").err
    assert not (cli.work / "inner").exists()


def test_bare_runs_look_at_no_project(cli):
    write(cli.work, "not toml")
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "hi", "--bare")
    assert (done.code, "trust" in done.err) == (0, False)


def test_what_cannot_be_read_of_a_project_is_named_and_left_out(cli):
    folder = write(cli.work, AGENT, "agents/a.md").parent
    (folder / "b.md").symlink_to("/etc/passwd")
    (folder / "c.md").write_bytes(b"x" * 300_000)
    os.mkfifo(folder / "d.md")
    (cli.work / "caliban.toml").write_bytes(b"#" * (1 << 21))
    shown = surface(cli)
    assert [item["place"] for item in shown["items"]] == [".caliban/agents/a.md"]
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "hi")
    assert done.code == 0
    for name in ("b.md", "c.md", "d.md", "caliban.toml"):
        assert done.err.count(f"{name} is left out") + done.err.count(f"{name} are left out") == 1


# What the commands tell.


def test_the_list_tells_what_became_of_each_project(cli):
    expected = {"a": "current", "b": "changed", "c": "gone"}
    for name in expected:
        write(cli.work / name)
        trust(cli, str(cli.work / name))
    write(cli.work / "b", ALLOWS.replace("touch", "rm"))
    shutil.rmtree(cli.work / "c")
    assert rows(cli) == [(str(cli.work / name), state) for name, state in expected.items()]
    plain = cli.run("trust").out
    assert plain == cli.run("trust", "list").out
    assert [line.split()[0] for line in plain.splitlines()] == ["current", "changed", "gone"]
    assert cli.run("trust", "revoke", "c").code == 0
    assert cli.run("trust", "revoke", "--all").out == "2 projects trusted no more\n"
    assert cli.run("trust").out == "(no project is trusted)\n"


def test_the_difference_since_the_consent_is_shown(cli):
    path = write(cli.work)
    write(cli.work, AGENT, "agents/a.md")
    trust(cli)
    path.write_text(ALLOWS.replace('*"]', '*", "Bash:*"]'))
    write(cli.work, AGENT.replace("You review.", "You obey."), "agents/a.md")
    shown = cli.run("trust", "show").out
    assert "changed: agent .caliban/agents/a.md\n" in shown
    assert "      -You review.\n      +You obey.\n" in shown
    assert "      +    RUNS ANY CODE: it allows every command\n" in shown


def test_the_doctor_has_a_row(cli):
    def row() -> dict:
        checks = cli.run("doctor", "--json").json["checks"]
        return next(check for check in checks if check["name"] == "trust")

    assert (row()["state"], row()["hint"]) == ("pass", "nothing in it needs trust")
    path = write(cli.work)
    assert (row()["state"], "caliban trust show" in row()["hint"]) == ("warn", True)
    trust(cli)
    assert (row()["state"], row()["hint"].startswith("trusted since 20")) == ("pass", True)
    path.write_text(ALLOWS.replace("touch", "rm"))
    assert (row()["state"], "has changed" in row()["hint"]) == ("warn", True)


def test_commands_that_judge_go_by_the_same_consent(cli):
    write(cli.work)
    call = ("perms", "test", "Bash", '{"command": "touch x"}')
    assert cli.run(*call).code == 2
    trust(cli)
    assert cli.run(*call).code == 0
    listed = cli.run("perms", "list", "--effective", "--json").out
    assert '"pattern": "Bash:touch *"' in listed


def test_a_rule_that_is_added_to_a_trusted_project_says_that_it_has_to_be_trusted(cli):
    write(cli.work)
    trust(cli)
    done = cli.run("perms", "add", "Bash:make *", "allow")
    assert (done.code, "caliban trust add" in done.err) == (0, True)
    assert rows(cli) == [(str(cli.work), "changed")]


@pytest.mark.parametrize(
    "args",
    [
        ("trust", "show", "nowhere"),
        ("trust", "add", "nowhere"),
        ("trust", "obey"),
        ("trust", "show", "a", "b"),
        ("trust", "revoke", "--all", "."),
        ("trust", "list", "--yes"),
    ],
)
def test_what_makes_no_sense_is_refused(cli, args):
    done = cli.run(*args)
    assert (done.code, done.out, "Traceback" in done.err) == (64, "", False)


def test_a_recording_trusts_no_project_for_whoever_plays_it(cli):
    write(cli.work)
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"})), wire.exchange(OK))
    assert cli.run("-p", "go", "--trust-project", "--record", "run.jsonl").code == 0
    again = cli.run("replay", "run.jsonl", "--strict")
    assert "which a recording cannot say for you" in again.err
    assert f"no effect {WAITS}" in again.err
    flag = cli.run("replay", "run.jsonl", "--strict", "--trust-project")
    assert (flag.code, "no effect" in flag.err) == (0, False)
    trust(cli)
    assert "no effect" not in cli.run("replay", "run.jsonl", "--strict").err


def test_commands_that_nobody_can_look_through_are_never_trusted(cli):
    words = ", ".join(f'"w{number}"' for number in range(1100))
    path = write(cli.work, 'api_key_helper = { command = "true", args = ["w"] }\n' + ALLOWS)
    trust(cli)
    path.write_text(path.read_text().replace('"w"', words))
    ran, err = touches(cli)
    assert (ran, "more than 1,000 words" in err) == (False, True)
    assert cli.run("trust", "show").code == 78


def test_agents_beyond_a_number_are_named(cli):
    for number in range(66):
        write(cli.work, AGENT.replace("reviewer", f"a{number}"), f"agents/a{number:02}.md")
    cli.script(wire.exchange(OK))
    assert f"2 more agents in {cli.work}/.caliban/agents are left out" in cli.run("-p", "hi").err
    assert len(surface(cli)["items"]) == 64
