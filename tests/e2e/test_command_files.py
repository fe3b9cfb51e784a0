"""Prompts that are kept in files and called by `/name`, by the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire

OK = wire.text("ok")


def command(root: Path, name: str, text: str) -> Path:
    path = root / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def own(cli) -> Path:
    return cli.home / ".config" / "caliban" / "commands"


def theirs(cli) -> Path:
    return cli.work / ".claude" / "commands"


def sent(cli, prompt: str, *args: str, stdin: bytes | None = None) -> tuple[str, str]:
    """What the model was asked, and what the run said."""
    cli.script(wire.exchange(OK))
    done = cli.run("-p", prompt, *args, stdin=stdin)
    assert done.code == 0, done.err
    content = cli.bodies()[-1]["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content), done.err


@pytest.mark.parametrize(
    ("body", "prompt", "expected"),
    [
        ("Fix $ARGUMENTS now.", "/fix issue 42", "Fix issue 42 now."),
        ("Fix $1 for $2.$3", "/fix 'a b' you", "Fix a b for you."),
        ("Fix it.", "/fix issue 42", "Fix it.\n\nissue 42"),
        ("Fix it.", "/fix", "Fix it."),
        ("Fix it.", "  /fix  ", "Fix it."),
        ("$ARGUMENTS[1] $ARGUMENTS[0] $10 $x", "/fix a b", "b a $10 $x"),
        ("A: $1", "/fix $ARGUMENTS", "A: $ARGUMENTS"),
        ("A: $ARGUMENTS", "/fix !`touch made`", "A: !`touch made`"),
        ("A: $ARGUMENTS", "/fix it's open", "A: it's open"),
        ("---\ndescription: d\nargument-hint: [file] [words]\n---\nB: $1", "/fix x\ny", "B: x"),
        ("\ufeff---\r\ndescription: a: b\r\n---\r\nB: $1", "/fix x", "B: x"),
    ],
)
def test_a_prompt_calls_a_file_by_its_name(cli, body, prompt, expected):
    command(own(cli), "fix", body)
    assert sent(cli, prompt)[0] == expected
    assert not (cli.work / "made").exists()


@pytest.mark.parametrize("prompt", ["say /fix", "/", "/../fix", "//fix", "/fix/x", "/etc", "/tmp is full"])
def test_what_is_no_call_stays_text(cli, prompt):
    command(own(cli), "fix", "Fix it.")
    assert sent(cli, prompt)[0] == prompt.strip()


@pytest.mark.parametrize("prompt", ["/fixi", "/FIXE x", "/fix-1"])
def test_a_call_of_nothing_that_is_known_is_refused_with_what_is_near(cli, prompt):
    command(own(cli), "fix", "Fix it.")
    done = cli.run("-p", prompt)
    assert (done.code, len(cli.server.requests)) == (64, 0)
    assert f"there is no command {prompt.split()[0]}" in done.err and "did you mean /fix?" in done.err
    assert sent(cli, prompt, "--no-commands")[0] == prompt
    assert sent(cli, "/FIX")[0] == "Fix it."


def test_flags_and_pipes_leave_it_text(cli):
    command(own(cli), "fix", "Fix it.")
    assert sent(cli, "/fix", "--no-commands")[0] == "/fix"
    assert sent(cli, "/fix", "--bare")[0] == "/fix"
    assert sent(cli, "-", stdin=b"/fix")[0] == "/fix"
    assert sent(cli, "/fix", stdin=b"piped")[0] == "Fix it.\n\npiped"


def test_folders_are_namespaces_and_the_nearest_scope_counts(cli):
    command(own(cli) / "git", "push", "Mine.")
    command(own(cli), "fix", "Mine.")
    command(theirs(cli), "fix", "Theirs.")
    command(theirs(cli), "plain", "Plain @notes.txt.")
    (cli.work / "notes.txt").write_text("the notes")
    assert sent(cli, "/git:push")[0] == "Mine."
    assert sent(cli, "/fix")[0] == "Mine."  # nobody trusts the project
    assert sent(cli, "/fix", "--trust-project")[0] == "Theirs."
    assert sent(cli, "/plain")[0].startswith("Plain @notes.txt.\n")
    assert "the notes" in sent(cli, "/plain")[0]
    assert "nothing in it needs trust" in cli.run("trust", "show").out


def test_a_file_that_looks_like_a_secret_is_not_attached_for_a_project_nobody_trusts(cli):
    command(theirs(cli), "leak", "Read @.env.")
    (cli.work / ".env").write_text("TOKEN=very-secret")
    for args in ((), ("--expand-files",)):
        text, err = sent(cli, "/leak", *args)
        assert "very-secret" not in text and "@.env is not attached" in err


def test_the_output_of_a_line_stands_in_its_place_and_is_not_read_again(cli):
    (cli.work / "evil.txt").write_text("@notes.txt $1 !`touch made`")
    (cli.work / "notes.txt").write_text("the notes")
    command(own(cli), "look", "See:\n!`cat evil.txt`\nDone $1.")
    text, _ = sent(cli, "/look x")
    assert text.startswith("See:\n") and text.endswith("\nDone x.")
    assert "@notes.txt $1 !`touch made`" in text and "the notes" not in text
    assert not (cli.work / "made").exists()


def test_a_line_is_judged_as_a_call_of_bash(cli):
    command(own(cli), "make", "!`touch made`")
    done = cli.run("-p", "/make")
    assert (done.code, (cli.work / "made").exists(), len(cli.server.requests)) == (1, False, 0)
    assert "/make: 'touch made' is not run: " in done.err
    sent(cli, "/make", "--allow", "Bash:touch *")
    assert (cli.work / "made").exists()
    for args in (("--deny", "Bash"), ("--permission-mode", "plan"), ("--no-tools",)):
        (cli.work / "made").unlink(missing_ok=True)
        assert cli.run("-p", "/make", "--allow", "Bash:touch *", *args).code == 1
        assert not (cli.work / "made").exists()
    rows = [json.loads(line) for line in cli.run("perms", "audit", "--json").out.splitlines()]
    assert [row["action"] for row in rows if "touch made" in row["input_excerpt"]][:2] == ["deny", "allow"]


@pytest.mark.parametrize(
    "said", ["x; touch made", "$(touch made)", "`touch made`", "x\ntouch made", "'a' > made"]
)
def test_nothing_that_was_said_becomes_part_of_a_line(cli, said):
    command(own(cli), "show", "!`echo $ARGUMENTS`")
    done = cli.run("-p", f"/show {said}", "--allow", "Bash")
    assert (done.code != 0, len(cli.server.requests)) == (True, 0), done.err
    assert "is not put into a line of the shell" in done.err
    assert not (cli.work / "made").exists()
    assert "plain words" in sent(cli, "/show plain words")[0]


def test_the_tools_of_a_command_narrow_its_lines_and_grant_nothing(cli):
    head = "---\nallowed-tools: Bash(echo:*), Bash(touch:*)\n---\n"
    command(own(cli), "one", head + "!`echo one`")
    command(own(cli), "two", head + "!`touch made`")
    command(own(cli), "three", head + "!`ls`")
    assert "one" in sent(cli, "/one")[0]
    assert cli.run("-p", "/two").code == 1  # no rule allows it
    done = cli.run("-p", "/three", "--allow", "Bash")
    assert (done.code, "it is none of its allowed-tools" in done.err) == (1, True)
    assert not (cli.work / "made").exists()


def test_a_command_of_a_project_that_steers_waits_for_trust(cli):
    command(theirs(cli), "go", "!`echo from-the-project`")
    command(theirs(cli), "dear", "---\nmodel: claude-opus-4-6\n---\nHi.")
    for name in ("/go", "/dear"):
        done = cli.run("-p", name)
        assert (done.code, len(cli.server.requests)) == (78, 0)
        assert "its project is not trusted" in done.err
    shown = cli.run("trust", "show").out
    assert "slash .claude/commands/go.md" in shown and "from-the-project" in shown
    digest = cli.run("trust", "show", "--json").json["digest"]
    assert cli.run("trust", "add", "--yes", "--digest", digest[:12]).code == 0
    assert "from-the-project" in sent(cli, "/go")[0]
    sent(cli, "/dear")
    assert cli.bodies()[-1]["model"] == "claude-opus-4-6"
    command(theirs(cli), "go", "!`echo changed`")
    assert cli.run("-p", "/go").code == 78


def test_the_tools_of_a_projects_command_let_nothing_run(cli):
    command(theirs(cli), "x", "---\nallowed-tools: Bash\n---\nRun touch made.")
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"})), wire.exchange(OK))
    done = cli.run("-p", "/x", "--trust-project")
    assert done.code == 0, done.err
    assert not (cli.work / "made").exists()


def test_a_flag_says_more_than_the_model_of_a_command(cli):
    command(own(cli), "a", "---\nmodel: claude-opus-4-6\n---\nHi.")
    sent(cli, "/a")
    assert cli.bodies()[-1]["model"] == "claude-opus-4-6"
    sent(cli, "/a", "--model", "claude-haiku-4-5")
    assert cli.bodies()[-1]["model"] == "claude-haiku-4-5"
    command(own(cli), "b", "---\nmodel: sonnet\n---\nHi.")
    assert "is a name that is not known here" in sent(cli, "/b")[1]


def test_a_built_in_command_keeps_its_name_and_the_file_is_told(cli):
    command(own(cli), "cost", "Cost it.")
    done = cli.run("-p", "/cost")
    assert (done.code, len(cli.server.requests)) == (0, 0)
    assert "cost.md) is left out: a built-in command has its name" in done.err
    assert "/cost" in cli.run("skills").out and "[shadowed]" in cli.run("skills").out


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"---\ndescription: [a, {b: c}]\n---\nx", ":2: `description` must be text"),
        (b"---\nallowed-tools: [Read, 'rm -rf']\n---\nx", ":2: `allowed-tools` must be names of tools"),
        (b"---\nallowed-tools: Bash(unclosed\n---\nx", ":2: `allowed-tools` must be names of tools"),
        (b"---\na: b\n", ":1: the front matter has no end"),
        (b"---\nmodel: m\n---\n\n", ":1: expected a prompt"),
        (b"", ":1: expected a prompt"),
    ],
)
def test_a_file_that_is_none_is_named_when_it_is_called(cli, data, words):
    command(own(cli), "bad", "").write_bytes(data)
    done = cli.run("-p", "/bad")
    assert (done.code, f"{own(cli)}/bad.md{words}" in done.err) == (78, True), done.err
    assert "Fix" in sent(cli, "Fix it")[0]


@pytest.mark.parametrize(
    "data",
    [
        b"---\na: &a [x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n---\nHi.",
        b"---\n\tdescription: tabs\n---\nHi.",
        b"---\ndescription: \xff\xfe latin \xe9\n---\nHi.",
        b"---\ndescription: a\x00b\n---\nHi.",
        "---\ndescription: \u202eevil\u2066\n---\nHi.".encode(),
        b"---\n!!python/object/apply:os.system ['touch made']\n---\nHi.",
    ],
)
def test_garbage_is_refused_or_harmless(cli, data):
    command(own(cli), "bad", "").write_bytes(data)
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "/bad")
    assert done.code in (0, 78)
    if done.code == 0:
        assert "Hi." in json.dumps(cli.bodies()[-1]["messages"])
    else:
        assert f"{own(cli)}/bad.md:" in done.err
    assert not (cli.work / "made").exists()
    listed = cli.run("skills")
    assert listed.code == 0 and "\u202e" not in listed.out and "\x00" not in listed.out


def test_links_and_odd_names_are_left_out_and_listed(cli):
    command(own(cli), "good", "---\ndescription: words\n---\nHi.")
    (own(cli) / "link.md").symlink_to("/etc/passwd")
    command(own(cli), "a b", "Hi.")
    done = cli.run("skills")
    assert "user     /good" in done.out
    assert "link.md: it is a link to outside of" in done.err
    assert "a b.md: its name must be letters, digits, - and _" in done.err
    done = cli.run("-p", "/link")
    assert (done.code, "there is no command /link" in done.err) == (64, True)
    shown = cli.run("skills", "show", "/good")
    assert "words" in shown.out and "Hi." in shown.out
    assert cli.run("skills", "show", "/god").code == 66
