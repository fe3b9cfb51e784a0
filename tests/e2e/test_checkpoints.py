"""Checkpoints through the real command: what runs change is kept, and `caliban rewind` puts it back."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caliban_provider_anthropic.testing import wire
from caliban_sessions import SessionStore

DONE = wire.text("done")


def prompt(cli, words: str, *uses, session: str = "s", flags=()):
    """One prompt that makes each call of `uses` in a turn of its own."""
    cli.script(*(wire.exchange(use) for use in uses), wire.exchange(DONE))
    done = cli.run(
        "-p", words, "--session", session, "--allow", "Bash", "--permission-mode", "acceptEdits", *flags
    )
    assert done.code == 0, done.err
    return done


def bash(command: str):
    return wire.tool_use("Bash", {"command": command})


def write(path: str, content: str):
    return wire.tool_use("Write", {"path": path, "content": content})


def tree(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below `folder`: modes, and bytes or where links lead."""
    out: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            out[name] = (0, str(path.readlink()))
        elif path.is_dir():
            out[name] = (0, "directory")
        else:
            out[name] = (path.stat().st_mode & 0o777, path.read_bytes())
    return out


def test_edits_are_put_back_byte_for_byte_and_new_files_go(cli):
    (cli.work / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (cli.work / "a.txt").chmod(0o640)
    before = tree(cli.work)
    prompt(
        cli,
        "change",
        wire.tool_use("Read", {"path": "a.txt"}),
        wire.tool_use("Edit", {"path": "a.txt", "old_string": "two", "new_string": "2"}),
        write("sub/deep/b.txt", "new\n"),
    )
    assert (cli.work / "sub" / "deep" / "b.txt").exists()
    after = tree(cli.work)
    assert after != before
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert done.code == 0, done.err
    assert tree(cli.work) == before
    redo = cli.run("rewind", "s", "--to", "2", "--code")
    assert redo.code == 0, redo.err
    assert tree(cli.work) == after


def test_deleted_files_come_back_and_new_ones_go_step_by_step(cli):
    prompt(cli, "one", write("a.txt", "a\n"))
    first = tree(cli.work)
    prompt(cli, "two", bash("rm a.txt && mkdir -p new/deep && touch new/deep/empty"))
    prompt(cli, "three", bash("printf '\\000\\377\\r\\n' > b.bin"))
    assert sorted(tree(cli.work)) == ["b.bin", "new", "new/deep", "new/deep/empty"]
    assert cli.run("rewind", "s", "--to", "2", "--code").code == 0
    assert tree(cli.work) == first
    assert cli.run("rewind", "s", "--to", "1", "--code").code == 0
    assert tree(cli.work) == {}


def test_a_persons_later_change_keeps_everything_from_being_done(cli):
    (cli.work / "a.txt").write_text("one\n")
    prompt(cli, "edit", bash("echo two > a.txt; echo new > n.txt"))
    prompt(cli, "move", bash("mv a.txt b.txt"))
    (cli.work / "b.txt").write_text("by hand\n")
    now = tree(cli.work)
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert (done.code, tree(cli.work)) == (1, now)
    assert "CHANGED   b.txt: somebody else changed it since" in done.out
    assert "nothing was changed" in done.err and "--force" in done.err
    dry = cli.run("rewind", "s", "--to", "1", "--code", "--dry-run", "--json")
    assert (dry.code, dry.json["done"], tree(cli.work)) == (1, False, now)
    assert {Path(f["path"]).name: f["action"] for f in dry.json["files"]} == {
        "a.txt": "restore",
        "b.txt": "conflict",
        "n.txt": "delete",
    }
    forced = cli.run("rewind", "s", "--to", "1", "--code", "--force")
    assert forced.code == 0 and "overwritten although somebody else changed it since" in forced.out
    assert tree(cli.work) == {"a.txt": (0o644, b"one\n")}
    assert cli.run("rewind", "s", "--to", "3", "--code").code == 0
    assert tree(cli.work) == now


def test_both_go_back_and_the_next_prompt_is_asked_from_there(cli):
    prompt(cli, "first", write("a.txt", "1\n"))
    prompt(cli, "second", bash("echo 2 > a.txt"))
    done = cli.run("rewind", "--to", "2")
    assert done.code == 0, done.err
    assert "the conversation went back by 4 messages" in done.out
    assert (cli.work / "a.txt").read_text() == "1\n"
    prompt(cli, "third")
    texts = [
        block["text"]
        for message in cli.bodies()[-1]["messages"]
        for block in message["content"]
        if block["type"] == "text"
    ]
    assert texts == ["first", "done", "third"]
    archive = (cli.home / ".local/share/caliban/sessions/s.archive").read_text()
    assert "second" in archive  # nothing is lost


def test_the_conversation_alone_goes_back(cli):
    prompt(cli, "first", write("a.txt", "1\n"))
    done = cli.run("rewind", "s", "--to", "1", "--conversation", "--json")
    assert done.code == 0 and done.json["conversation"] == {"removed": 4, "kept": 1}
    assert (cli.work / "a.txt").exists()
    again = cli.run("rewind", "s", "--to", "1", "--conversation")
    assert again.code == 1 and "is no part of the conversation any more" in again.err
    assert cli.run("rewind", "s", "--to", "1", "--code").code == 0
    assert tree(cli.work) == {}


def test_what_a_sub_agent_changes_is_kept_too(cli):
    (cli.work / "a.txt").write_text("one\n")
    cli.script(
        wire.exchange(wire.tool_use("AgentTool", {"prompt": "do it"})),
        wire.exchange(write("made.txt", "x")),
        wire.exchange(bash("echo two > a.txt")),
        wire.exchange(wire.text("did it")),
        wire.exchange(DONE),
    )
    done = cli.run("-p", "go", "--session", "s", "--allow", "Bash", "--permission-mode", "acceptEdits")
    assert done.code == 0, done.err
    assert (cli.work / "a.txt").read_text() == "two\n" and (cli.work / "made.txt").exists()
    assert cli.run("rewind", "s", "--to", "1").code == 0
    assert tree(cli.work) == {"a.txt": (0o644, b"one\n")}


def test_commands_at_once_are_told_apart_from_nobody(cli):
    cli.script(
        wire.exchange(
            *(wire.tool_use("Bash", {"command": f"echo {n} > f{n}"}, id=f"t{n}") for n in range(4))
        ),
        wire.exchange(DONE),
    )
    done = cli.run("-p", "go", "--session", "s", "--allow", "Bash")
    assert done.code == 0 and len(tree(cli.work)) == 4
    assert cli.run("rewind", "s", "--to", "1", "--code").code == 0
    assert tree(cli.work) == {}


def test_the_list_names_prompts_with_and_without_changes(cli):
    prompt(cli, "look", bash("ls"))
    prompt(cli, "make", write("a.txt", "1"))
    prompt(cli, "talk")
    done = cli.run("rewind", "s")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()] == ["3", "2", "1"]
    assert "1 file  make" in done.out and "no files  look" in done.out
    rows = [json.loads(line) for line in cli.run("rewind", "s", "--list", "--json").out.splitlines()]
    assert [(row["prompt"], row["title"], len(row["files"])) for row in rows] == [
        (3, "talk", 0),
        (2, "make", 1),
        (1, "look", 0),
    ]


@pytest.mark.parametrize(
    ("flags", "env"),
    [(("--no-checkpoints",), {}), ((), {"CALIBAN_CHECKPOINT_DISABLED": "1"}), (("--no-save",), {})],
)
def test_nothing_is_kept_where_nobody_wants_it(cli, flags, env):
    cli.extra |= env
    cli.script(wire.exchange(write("a.txt", "1")), wire.exchange(DONE))
    done = cli.run("-p", "go", "--permission-mode", "acceptEdits", *flags)
    assert done.code == 0 and (cli.work / "a.txt").exists()
    assert not (cli.home / ".caliban").exists()


def test_a_run_that_changes_nothing_keeps_nothing(cli):
    (cli.work / "a.txt").write_text("1")
    prompt(cli, "look", wire.tool_use("Read", {"path": "a.txt"}), bash("ls; cat a.txt"))
    assert not (cli.home / ".caliban").exists()


@pytest.mark.parametrize("damaged", [1, 2, 3])
def test_a_damaged_checkpoint_leaves_the_numbers_of_prompts_as_they_are(cli, damaged):
    for name in "abc":
        prompt(cli, f"write {name}", write(f"{name}.txt", "1"))
    before = [json.loads(line) for line in cli.run("rewind", "s", "--json").out.splitlines()]
    (path,) = cli.home.rglob(f"prompt-{damaged:03}/manifest.json")
    path.write_text("{")
    done = cli.run("rewind", "s", "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    for name in ("prompt", "title", "message_id"):
        assert [row[name] for row in rows] == [row[name] for row in before]
    assert [row["prompt"] for row in rows if row["kind"] == "damaged"] == [damaged]
    assert str(path) in done.err
    prompt(cli, "write d", write("d.txt", "1"))
    assert path.read_text() == "{"
    listed = cli.run("rewind", "s")
    assert [line[3] for line in listed.out.splitlines() if line[3:4].isdigit()] == [*"4321"]
    assert f"write {'abc'[damaged - 1]}" in listed.out and "files unknown" in listed.out
    back = cli.run("rewind", "s", "--to", str(damaged), "--conversation")
    assert back.code == 0, back.err
    shown = cli.run("sessions", "show", "s")
    assert f"write {'abc'[damaged - 1]}" not in shown.out
    assert damaged == 1 or f"write {'abc'[damaged - 2]}" in shown.out


def test_the_root_may_lie_elsewhere_and_bounds_are_kept(cli, tmp_path):
    cli.extra |= {
        "CALIBAN_CHECKPOINT_ROOT": str(tmp_path / "kept"),
        "CALIBAN_CHECKPOINT_MAX_FILE_BYTES": "3",
    }
    (cli.work / "a.txt").write_text("long enough")
    prompt(cli, "go", bash("echo 2 > a.txt"), write("b.txt", "2"))
    assert list((tmp_path / "kept").glob("*/checkpoints/s/prompt-001/manifest.json"))
    done = cli.run("rewind", "s", "--to", "1", "--code")
    assert done.code == 1 and "NOT KEPT  a.txt: it was not kept" in done.out
    forced = cli.run("rewind", "s", "--to", "1", "--code", "--force")
    assert forced.code == 1 and not (cli.work / "b.txt").exists()


@pytest.mark.parametrize("name", ["CALIBAN_CHECKPOINT_MAX_BYTES", "CALIBAN_CHECKPOINT_MAX_FILE_BYTES"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1e3", "9" * 30])
def test_a_bound_that_is_no_number_is_refused(cli, name, value):
    done = cli.run("-p", "hi", env={name: value})
    assert done.code == 64 and name in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("s", "--to", "9"), 66, "has no prompt 9"),
        (("none", "--to", "1"), 66, "there is no session 'none'"),
        (("s", "--to", "0"), 64, "at least 1"),
        (("s", "--to", "x"), 64, "whole number"),
        (("s", "--code"), 64, "--code needs --to"),
        (("s", "--to", "1", "--list"), 64, "exclude each other"),
        (("s", "--to", "1", "--code", "--conversation"), 64, "exclude each other"),
        (("../s", "--to", "1"), 66, "../s"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(cli, arguments, code, words):
    prompt(cli, "go")
    done = cli.run("rewind", *arguments)
    assert words in done.err, done
    assert done.code == code


def test_a_session_at_work_and_one_of_another_directory_are_refused(cli, tmp_path):
    prompt(cli, "go", write("a.txt", "1"))
    with SessionStore(cli.home / ".local/share/caliban/sessions").open("s"):
        done = cli.run("rewind", "s", "--to", "1")
        assert done.code != 0 and "in use" in done.err
    assert (cli.work / "a.txt").exists()
    (tmp_path / "other").mkdir()
    done = cli.run("rewind", "s", "--to", "1", "--workspace", str(tmp_path / "other"))
    assert done.code == 64 and f"--workspace {cli.work}" in done.err


def test_what_commands_change_in_a_home_is_not_kept_and_that_is_said(cli):
    prompt(cli, "go", bash("touch made"), flags=("--workspace", str(cli.home)))
    done = cli.run("rewind", "s", "--to", "1", "--code", "--workspace", str(cli.home))
    assert "what commands changed is not kept: the workspace holds your home" in done.err
    assert (cli.home / "made").exists()


def test_a_run_that_is_killed_in_a_command_is_told_of(cli):
    cli.script(wire.exchange(bash("touch made; touch ready; kill -9 $PPID; sleep 60")), wire.exchange(DONE))
    process = cli.start("-p", "go", "--session", "s", "--allow", "Bash")
    process.communicate(timeout=HANG_S)
    assert process.returncode != 0
    done = cli.run("rewind", "s", "--list")
    assert done.code == 0 and "killed in the midst of a command" in done.out


def texts_asked(cli, number: int = -1) -> list[str]:
    body = cli.bodies()[number]
    leading = body.get("system") or []
    return [
        *(block["text"] for block in leading),
        *(b["text"] for m in body["messages"] for b in m["content"] if b["type"] == "text"),
    ]


@pytest.mark.parametrize("side", ["from", "up-to"])
def test_one_side_of_a_prompt_becomes_a_summary_and_the_files_stay(cli, side):
    prompt(cli, "first", write("a.txt", "1"))
    prompt(cli, "second", write("b.txt", "2"))
    cli.script(wire.exchange(wire.text("SHORT")))
    done = cli.run("rewind", "s", "--to", "2", "--summarize", side)
    assert done.code == 0, done.err
    assert "is a summary now" in done.out
    assert sorted(tree(cli.work)) == ["a.txt", "b.txt"]
    prompt(cli, "third")
    asked = texts_asked(cli)
    assert any("SHORT" in text for text in asked)
    assert ("first" in asked, "second" in asked) == ((True, False) if side == "from" else (False, True))
    assert cli.run("rewind", "s", "--to", "1", "--code").code == 0
    assert tree(cli.work) == {}


def test_a_summary_that_fails_or_has_nothing_to_say_changes_nothing(cli):
    prompt(cli, "first")
    before = (cli.home / ".local/share/caliban/sessions/s.json").read_bytes()
    done = cli.run("rewind", "s", "--to", "1", "--summarize", "up-to")
    assert done.code == 1 and "nothing was summarised" in done.err
    cli.script(wire.exchange(wire.text("")))
    done = cli.run("rewind", "s", "--to", "1", "--summarize", "from")
    assert done.code == 1 and "nothing was summarised" in done.err
    messages = json.loads((cli.home / ".local/share/caliban/sessions/s.json").read_bytes())["messages"]
    assert messages == json.loads(before)["messages"]
    for flags in (("--code",), ("--force",), ("--dry-run",)):
        assert cli.run("rewind", "s", "--to", "1", "--summarize", "from", *flags).code == 64
    assert cli.run("rewind", "s", "--to", "1", "--model", "x").code == 64


CONTENTS = st.sampled_from(["", "x\n", "two\r\nlines\r\n", "\ufeffmark\n"])
NAMES = st.sampled_from(["a.txt", "d/b.txt"])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, CONTENTS),
        st.tuples(st.just("bash"), NAMES, CONTENTS),
        st.tuples(st.just("rm"), NAMES, st.just("")),
    ),
    min_size=1,
    max_size=3,
)


@settings(
    max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(prompts=st.lists(ACTIONS, min_size=1, max_size=3), back=st.integers(0, 9), number=st.uuids())
def test_whole_conversations_are_gone_back_from_byte_for_byte(cli, prompts, back, number):
    name = number.hex
    work = cli.work / name
    (work / "d").mkdir(parents=True)
    (work / "a.txt").write_bytes(b"first\n")
    (work / "d" / "keep").write_bytes(b"")
    states, flags = [], ("--workspace", str(work))
    for actions in prompts:
        states.append(tree(work))
        uses = []
        for place, (kind, path, content) in enumerate(actions):
            if kind == "write":
                uses.append(wire.tool_use("Read", {"path": path}, id=f"r{place}"))
                uses.append(wire.tool_use("Write", {"path": path, "content": content}, id=f"t{place}"))
                continue
            command = f"rm -f {path}" if kind == "rm" else f"printf %s {shlex.quote(content)} > {path}"
            uses.append(wire.tool_use("Bash", {"command": command}, id=f"t{place}"))
        prompt(cli, "go", *uses, session=name, flags=flags)
    states.append(tree(work))
    to = 1 + back % len(prompts)
    numbers = [json.loads(line) for line in cli.run("rewind", name, "--json", *flags).out.splitlines()]
    assert [row["prompt"] for row in numbers] == list(range(len(prompts), 0, -1))
    done = cli.run("rewind", name, "--to", str(to), *flags)
    assert done.code == 0, (done.out, done.err)
    assert tree(work) == states[to - 1]
