"""The sandbox through the real command: what it says, and who may open it."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from command_kit import opened
from hang_guard import wait_until
from sandbox_kit import ANY, ON, bash, needs_bwrap, place_outside_tmp, sandboxed_cli

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator


@needs_bwrap
def test_writes_end_at_the_workspace_and_the_words_say_who_did_it():
    with sandboxed_cli() as cli:
        done, (inside, outside) = bash(cli, "echo x > here && cat here", f"echo x > {cli.home}/there")
        assert "\nx\n" in inside and (cli.work / "here").read_text() == "x\n"
        assert "Read-only file system" in outside
        assert "→ This command ran in a sandbox: it may write in the workspace" in outside
        assert "sandbox.filesystem.allow_write" in outside and "--no-sandbox" not in outside
        assert not (cli.home / "there").exists()
        (denial,) = [frame for frame in done.frames if frame.get("subtype") == "sandbox_denied"]
        assert "the sandbox refused something" in denial["message"]


@needs_bwrap
def test_a_person_sees_on_standard_error_what_was_refused_and_what_opens_it():
    with sandboxed_cli() as cli:
        cli.script(
            wire.exchange(wire.tool_use("Bash", {"command": f"echo x > {cli.home}/there"})),
            wire.exchange(wire.text("done")),
        )
        done = cli.run("-p", "go", *ANY)
        assert "the sandbox refused something that a command needed" in done.err
        assert "sandbox.filesystem.allow_write in your settings opens it" in done.err


@needs_bwrap
def test_what_a_person_opens_is_open():
    settings = (
        f"{ON}[sandbox.filesystem]\nallow_write = ['${{HOME}}/open', '${{WORKSPACE}}/.envrc']\n"
        "deny_write = ['${WORKSPACE}/kept']\n"
    )
    with sandboxed_cli(settings) as cli:
        (cli.home / "open").mkdir()
        (cli.work / ".envrc").write_text("old\n")
        bash(cli, "echo x > ~/open/a; echo new > .envrc; echo x > kept; mkdir -p kept/a")
        assert (cli.home / "open" / "a").read_text() == "x\n"
        assert (cli.work / ".envrc").read_text() == "new\n"
        assert not (cli.work / "kept").exists()


@needs_bwrap
def test_searches_and_background_shells_run_in_it():
    with sandboxed_cli(f"{ON}[sandbox.filesystem]\ndeny_read = ['secret']\n") as cli:
        (cli.work / "secret").mkdir()
        (cli.work / "secret" / "a.txt").write_text("CANARY needle\n")
        (cli.work / "b.txt").write_text("needle\n")
        cli.script(
            wire.exchange(wire.tool_use("Grep", {"pattern": "needle"})),
            wire.exchange(
                wire.tool_use(
                    "Bash",
                    {"command": "cat secret/a.txt; echo x > ~/there; echo over > end", "background": True},
                )
            ),
            wire.exchange(
                wire.tool_use("Bash", {"command": "until [ -s end ]; do sleep 0.05; done; cat end"})
            ),
            wire.exchange(wire.text("done")),
        )
        done = cli.run("-p", "go", *ANY)
        assert done.code == 0, done.err
        sent = json.dumps(cli.bodies()[-1]["messages"])
        assert "b.txt:1:needle" in sent, sent[:1500]
        assert "over" in sent and "CANARY" not in sent
        assert not (cli.home / "there").exists()


@needs_bwrap
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('filesystem.deny_read = ["**/.env"]', "wildcards are not possible here"),
        ('filesystem.allow_write = [""]', "is no path"),
        ('filesystem.allow_write = ["/"]', "is the whole disk"),
        ('filesystem.allow_write = ["${NOPE}/x"]', "${NOPE} is not known here"),
        ('filesystem.deny_read = ["${WORKSPACE}"]', "is a place that the sandbox hides"),
        ('allow_unsandboxed_commands = ["*"]', "would let every command out"),
        ('allow_unsandboxed_commands = ["[ab]"]', "allow_unsandboxed_commands"),
        ('bwrap_path = "/nowhere/bwrap"', "/nowhere/bwrap is no program"),
        ("enabled = 1", "sandbox.enabled"),
    ],
)
def test_settings_that_mean_nothing_end_the_start(text, words):
    place, _, value = text.partition(" = ")
    table = f"[sandbox.filesystem]\n{place.partition('.')[2]} = {value}\n" if "." in place else f"{text}\n"
    on = ON.replace("enabled = true\n", "") if place == "enabled" else ON
    with sandboxed_cli(f"{on}{table}") as cli:
        done = cli.run("-p", "hi")
        assert done.code == 78 and words in done.err
        assert cli.server.requests == ()


@needs_bwrap
def test_flags_turn_it_on_and_off():
    with sandboxed_cli("") as cli:
        assert "\n1\n" in bash(cli, "grep -c ^Seccomp:.2 /proc/self/status", flags=(*ANY, "--sandbox"))[1][0]
        assert "\n0\n" in bash(cli, "grep -c ^Seccomp:.2 /proc/self/status")[1][0]
        cli.configure(ON)
        assert (
            "\n0\n" in bash(cli, "grep -c ^Seccomp:.2 /proc/self/status", flags=(*ANY, "--no-sandbox"))[1][0]
        )


@needs_bwrap
def test_doctor_says_which_one_and_that_it_was_tried():
    with sandboxed_cli() as cli:
        rows = json.loads(cli.run("doctor", "--json").out)["checks"]
        (row,) = [row for row in rows if row["name"] == "sandbox"]
        assert row["state"] == "pass" and "bubblewrap" in row["hint"] and "tried and holds" in row["hint"]


def test_without_one_there_is_one_loud_warning_and_commands_run():
    with place_outside_tmp() as folder, opened(folder, StrictValidator()) as cli:
        cli.configure('[sandbox]\nenabled = true\nbwrap_path = "/nowhere/bwrap"\n')
        done, texts = bash(cli, "echo ran", "echo ran")
        assert all("\nran\n" in text for text in texts)
        assert (done.err + done.out).count("WITHOUT A SANDBOX") == 1


@needs_bwrap
def test_git_works_in_it_and_its_hooks_stay():
    assert shutil.which("git")
    with sandboxed_cli() as cli:
        subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=cli.work, check=True)
        _, (text,) = bash(
            cli,
            "echo a > a; git add -A; git -c user.name=a -c user.email=a@b commit -qm x; git switch -qc b; "
            "git log --oneline | wc -l; git status --short; echo x > .git/hooks/pre-commit",
        )
        assert "\n1\n" in text and ".git/hooks/pre-commit: " in text
        assert not (cli.work / ".git" / "hooks" / "pre-commit").exists()


@needs_bwrap
def test_what_a_killed_run_left_in_the_place_of_tmp_goes_with_the_next():
    with sandboxed_cli() as cli:
        place = cli.home / "scratch"
        place.mkdir()
        cli.extra |= {"TMPDIR": str(place)}
        command = "echo x > /tmp/left; echo x > ready; sleep 600"
        cli.script(wire.exchange(wire.tool_use("Bash", {"command": command})))
        process = cli.start("-p", "go", *ANY)
        wait_until((cli.work / "ready").exists)
        process.kill()
        process.communicate()
        (left,) = place.glob("caliban-tmp-*")
        assert (left / "left").read_text() == "x\n"
        bash(cli, "ls /tmp")
        assert [*place.glob("caliban-tmp-*")] == []
