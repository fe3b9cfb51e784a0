"""Reports about hooks, settings, skills, memory, checkpoints and sessions, each met by the real command."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from caliban_provider_anthropic.testing import wire
from caliban_sessions import SessionStore

DONE = wire.exchange(wire.text("done"))
EDITS = ("--permission-mode", "acceptEdits", "--allow", "Bash")
BYPASS = ("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def config(cli, name: str, content: str | bytes) -> Path:
    return put(cli.home / ".config" / "caliban" / name, content)


def bash(command: str, id: str = "t1"):
    return wire.tool_use("Bash", {"command": command}, id=id)


def write(path: str, content: str):
    return wire.exchange(wire.tool_use("Write", {"path": path, "content": content}))


def prompt(cli, *answers: Any, session: str = "s", flags: tuple[str, ...] = EDITS):
    cli.script(*answers, DONE)
    done = cli.run("-p", "go", "--session", session, *flags)
    assert done.code == 0, done.err
    return done


def system(cli) -> str:
    """The system prompt of one more run, and what it told a person."""
    cli.script(DONE)
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    return json.dumps(cli.bodies()[-1]["system"]), done.err


def sessions(cli) -> SessionStore:
    return SessionStore(cli.home / ".local/share/caliban/sessions")


OBJECTIONS = {
    "exit code": "echo no-because >&2; exit 2",
    "JSON": """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
      "permissionDecisionReason": "no-because"}}'""",
    "both": """echo '{"permissionDecision": "deny", "permissionDecisionReason": "no-because"}'; exit 2""",
    "without a name": """echo '{"hookSpecificOutput": {"permissionDecision": "deny",
      "permissionDecisionReason": "no-because"}}'""",
}


@pytest.mark.parametrize("answer", OBJECTIONS.values(), ids=OBJECTIONS)
def test_b110_what_a_hook_denies_never_runs_and_the_calls_beside_it_do(cli, answer):
    hook = put(cli.work.parent / "hook.sh", f"#!/bin/bash\ngrep -q 'two\\|look' || exit 0\n{answer}\n")
    hook.chmod(0o755)
    hooks = {"PreToolUse": [{"matcher": "Bash|Task", "hooks": [{"command": str(hook)}]}]}
    config(cli, "settings.json", json.dumps({"hooks": hooks}))
    agent = wire.tool_use("Agent", {"description": "look", "prompt": "look"}, id="agent")
    uses = [bash(f"touch {name}", name) for name in ("one", "two", "three")]
    cli.script(wire.exchange(*uses, agent), DONE)
    assert cli.run("-p", "go", *BYPASS).code == 0
    assert sorted(path.name for path in cli.work.iterdir()) == ["one", "three"]
    assert len(cli.bodies()) == 2  # no request of a sub-agent
    results = [json.dumps(block) for block in cli.bodies()[1]["messages"][-1]["content"]]
    assert ["no-because" in result for result in results] == [False, True, False, True]


def test_b113_one_bad_rule_is_named_and_the_others_hold(cli):
    rules = {"allow": ["Bash(mkdir *)", "Bash((", "", 5, "Read(**)"], "deny": ["Read(./.env)"]}
    config(cli, "settings.json", json.dumps({"permissions": rules, "env": {"A": "1"}}))
    put(cli.work / ".env", "CANARY=1")
    read = wire.tool_use("Read", {"path": ".env"}, id="t2")
    cli.script(wire.exchange(bash("mkdir made"), read), DONE)
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    assert (cli.work / "made").is_dir()
    assert "CANARY" not in json.dumps(cli.bodies()[-1])
    for words in ("permissions.allow[2]", "permissions.allow[3]", "'Bash((' cannot be read"):
        assert words in done.err
    assert "permissions.allow" in cli.run("doctor").out


RULES = b'{"permissions": {"allow": ["Bash"], "deny": ["Bash(touch:*)"]}}'
B115 = {
    "mark": (b"\xef\xbb\xbf" + RULES, 0, ""),
    "line ends": (RULES.replace(b" ", b"\r\n"), 0, ""),
    "UTF-16": (RULES.decode().encode("utf-16"), 78, "settings.json:1: not UTF-8"),
    "comment": (b'{\n"max_turns": 1 // x\n}', 78, "settings.json:2:"),
    "comma": (b'{\n"max_turns": 1,}', 78, "settings.json:2:"),
}


@pytest.mark.parametrize(("content", "code", "words"), B115.values(), ids=B115)
def test_b115_settings_are_read_whatever_they_begin_with_or_are_an_error_with_its_line(
    cli, content, code, words
):
    config(cli, "settings.json", content)
    cli.script(wire.exchange(bash("touch made")), DONE)
    done = cli.run("-p", "go")
    assert (done.code, words in done.err) == (code, True), done.err
    assert not (cli.work / "made").exists()


def test_b115_empty_files_and_marks_elsewhere(cli):
    config(cli, "settings.json", b"")
    config(cli, "agents/x.md", b"\xef\xbb\xbf---\r\nname: x\r\ndescription: Y-MARK\r\n---\r\nbody")
    cli.script(DONE)
    assert cli.run("-p", "go").code == 0
    assert "Y-MARK" in json.dumps(cli.bodies()[-1]["tools"])
    (cli.home / ".config/caliban/settings.json").unlink()
    config(cli, "settings.toml", b"\xef\xbb\xbf[permissions]\r\nallow = ['Bash']\r\n")
    cli.script(wire.exchange(bash("touch made")), DONE)
    assert cli.run("-p", "go").code == 0
    assert (cli.work / "made").exists()


def test_b116_a_rule_for_a_hard_command_is_kept_and_matches_and_nothing_else_is_lost(cli):
    command = """grep -E "a\\|\\"b\\"" f && echo 'x\\ty'"""
    real = put(cli.work / "real.toml", '# mine\nunknown_of_mine = "kept"\n[permissions]\nallow = ["Read"]\n')
    link = cli.home / ".config" / "caliban" / "settings.toml"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    added = [
        cli.start("perms", "add", f"Bash({text})", "allow", "--scope", "user") for text in (command, "b")
    ]
    for process in added:
        process.communicate()
    outcomes = [process.returncode for process in added]
    assert outcomes == [0, 0]
    assert link.is_symlink()
    text = real.read_text()
    assert "# mine" in text and 'unknown_of_mine = "kept"' in text
    listed = cli.run("perms", "list").out
    assert "Read" in listed and "Bash(b)" in listed
    put(cli.work / "f", 'a|"b"\n')
    cli.script(wire.exchange(bash(command)), DONE)
    assert cli.run("-p", "go").code == 0
    assert "Exit code" in json.dumps(cli.bodies()[-1])


def test_b117_no_front_matter_costs_a_skill_its_words_or_its_restriction(cli):
    heads = {
        "colon": "description: Use for marketing work: writing\nallowed-tools: Read",
        "hash": "description: one # two\nallowed-tools: [Read, Grep]",
        "at": "description: @x\nallowed-tools: Read, Grep",
        "star": "description: *x\nallowed-tools: Read",
        "tab": "description:\tx\nallowed-tools:\tRead",
    }
    for name, head in heads.items():
        config(cli, f"skills/{name}/SKILL.md", f"---\nname: {name}\n{head}\n---\nbody\n---\nmore\n")
    config(cli, "skills/nameless/SKILL.md", "---\ndescription: x\nallowed-tools: Read\n---\nbody\n")
    done = cli.run("skills")
    assert "Use for marketing work: writing" in done.out
    assert "nameless" not in done.out and "nameless/SKILL.md:1: `name` is missing" in done.err
    for name in heads:
        shown = cli.run("skills", "show", name).out
        assert f" {name} " in done.out
        assert "more" in shown
        assert "Tools meant for it, and no others: Read" in shown, name


def test_b118_front_matter_is_seen_whatever_its_bytes(cli):
    files = {
        "one": b"\xef\xbb\xbf---\r\nname: one\r\ndescription: y\r\n--- \r\nbody",
        "two": b"---\nname: two\ndescription: y\n---",
        "three": b"---\nname: three\ndescription: y\n---\nbody \xe9 end",
    }
    for name, content in files.items():
        config(cli, f"skills/{name}/SKILL.md", content)
    done = cli.run("skills")
    assert all(f"user     {name} " in done.out for name in files), done.out + done.err
    assert "body \ufffd end" in cli.run("skills", "show", "three").out
    assert "description" not in cli.run("skills", "show", "one").out


def test_b122_an_import_is_one_whatever_mark_follows_it(cli):
    text = "see @w.md: details, @a.md, @b.md. (@c.md) **@d.md** @e.md; @none.md\n"
    put(cli.work / "CLAUDE.md", f"{text}\n@./gone.md\n")
    for name in "wabcde":
        put(cli.work / f"{name}.md", f"MARK-{name}")
    prompt, err = system(cli)
    assert [name for name in "wabcde" if f"MARK-{name}" not in prompt] == []
    assert "gone.md" in cli.run("context").out + cli.run("memory").out + err


def test_b123_names_with_blanks_and_other_marks_are_imported_and_no_bytes_are_told(cli):
    lines = ('@"docs/My Notes/x.md"', "@docs/My\\ Notes/y.md", "@~/g.md", "@./ü.md", "@docs/", "@bin.png")
    put(cli.work / "CLAUDE.md", "\n\n".join(lines))
    for path in ("docs/My Notes/x.md", "docs/My Notes/y.md", "ü.md"):
        put(cli.work / path, f"MARK-{Path(path).stem}")
    put(cli.home / "g.md", "MARK-g")
    put(cli.work / "bin.png", b"\x89PNG\0\0CANARY")
    prompt, err = system(cli)
    assert all(mark in prompt for mark in ("MARK-x", "MARK-y", "MARK-\\u00fc"))
    assert "MARK-g" not in prompt and "g.md" in err
    assert "CANARY" not in prompt
    listed = cli.run("memory").out
    assert "bin.png" in listed and "docs/" in listed


@pytest.mark.parametrize("is_repository", [True, False])
def test_b124_each_import_is_beside_the_file_that_says_it_outer_to_inner(cli, is_repository):
    outer, repository = cli.work / "w", cli.work / "w" / "repo"
    place = repository / "sub"
    for folder, mark in ((outer, "OUTER"), (repository, "MIDDLE"), (place, "INNER")):
        put(folder / "CLAUDE.md", "@A.md\n")
        put(folder / "A.md", f"MARK-{mark}")
    if is_repository:
        (repository / ".git").mkdir()
    cli.script(DONE)
    assert cli.run("-p", "go", "--workspace", str(place)).code == 0
    prompt = json.dumps(cli.bodies()[-1]["system"])
    order = [prompt.find(f"MARK-{mark}") for mark in ("OUTER", "MIDDLE", "INNER")]
    assert order[1:] == sorted(order[1:]) and order[1] > 0
    assert (0 < order[0] < order[1]) is not is_repository  # the walk ends at the root of a repository
    assert [prompt.count(f"MARK-{mark}") for mark in ("MIDDLE", "INNER")] == [1, 1]


def test_b125_links_cycles_and_chains_end_and_nothing_from_outside_is_read(cli):
    put(cli.home / "shared" / "x.md", "CANARY-x")
    (cli.work / "link").symlink_to(cli.home / "shared")
    (cli.work / "loop.md").symlink_to("loop.md")
    put(cli.work / "a.md", "MARK-a\n\n@b.md\n")
    put(cli.work / "b.md", "MARK-b\n\n@a.md\n\n@b.md\n")
    (cli.work / "again.md").symlink_to("a.md")
    for depth in range(1, 9):
        put(cli.work / f"d{depth}.md", f"DEPTH-{depth}\n\n@d{depth + 1}.md\n")
    real = put(
        cli.work / "real.md", "@a.md\n\n@again.md\n\n@link/x.md\n\n@loop.md\n\n@/etc/passwd\n\n@d1.md\n"
    )
    (cli.work / "CLAUDE.md").symlink_to(real)
    prompt, err = system(cli)
    assert "CANARY" not in prompt and "root:" not in prompt
    assert (prompt.count("MARK-a"), prompt.count("MARK-b")) == (1, 1)
    assert [depth for depth in range(1, 9) if f"DEPTH-{depth}" in prompt] == [1, 2, 3, 4, 5]
    assert err.count("nobody has approved") == 2
    assert "5 files deep" in err


def test_b126_what_a_command_deleted_comes_back_and_what_was_made_goes(cli):
    bits = bytes(range(256))
    prompt(cli, write("a.txt", "one\n"))
    prompt(cli, wire.exchange(bash("rm a.txt")))
    make = "import pathlib; pathlib.Path('d').mkdir(); pathlib.Path('d/b.bin').write_bytes(bytes(range(256)))"
    prompt(cli, wire.exchange(bash(f'python3 -c "{make}"')))
    assert (cli.work / "d" / "b.bin").read_bytes() == bits
    assert cli.run("rewind", "s", "--to", "2").code == 0
    assert [path.name for path in cli.work.iterdir()] == ["a.txt"]
    assert (cli.work / "a.txt").read_text() == "one\n"
    assert cli.run("rewind", "s", "--to", "1").code == 0
    assert list(cli.work.iterdir()) == []


def test_b129_a_file_that_was_moved_away_stays_away_and_a_persons_edit_is_not_written_over(cli):
    put(cli.work / "a.txt", "old\n")
    read = wire.exchange(wire.tool_use("Read", {"path": "a.txt"}))
    edit = wire.exchange(wire.tool_use("Edit", {"path": "a.txt", "old_string": "old", "new_string": "new"}))
    prompt(cli, read, edit)
    prompt(cli, wire.exchange(bash("mv a.txt b.txt")))
    for _ in range(2):
        prompt(cli, wire.exchange(bash("true")))
    assert [path.name for path in cli.work.iterdir()] == ["b.txt"]
    (cli.work / "b.txt").write_text("by hand\n")
    done = cli.run("rewind", "s", "--to", "1")
    assert done.code == 1
    assert "b.txt" in done.out + done.err
    assert {path.name: path.read_text() for path in cli.work.iterdir()} == {"b.txt": "by hand\n"}


def test_b131_what_is_kept_grows_by_what_changes_and_leftovers_go(cli):
    put(cli.work / "big.bin", b"\x01\x02" * (3 << 20))
    put(cli.work / "node_modules" / "m.js", "x" * 500_000)
    put(cli.work / ".gitignore", "node_modules\n")
    put(cli.work / "small.txt", "0\n")
    shutil.copytree(cli.work / "node_modules", cli.work / "sub" / "node_modules")
    for number in range(3):
        prompt(cli, wire.exchange(bash(f"echo {number} > small.txt")))
    kept = cli.home / ".caliban"
    size = sum(path.stat().st_size for path in kept.rglob("*") if path.is_file())
    assert size < 200_000
    (folder,) = kept.rglob("prompt-003")
    left = put(folder / ".manifest.json.1.abcd.tmp", "x" * 1000)
    prompt(cli, write("new.txt", "x"))
    assert not left.exists()


def transcript(messages: int) -> list[bytes]:
    lines = []
    for number in range(1, messages + 1):
        role = "user" if number % 2 else "assistant"
        parent = None if number == 1 else f"u{number - 1}"
        message: dict[str, Any] = {"role": role, "content": f"text {number} of {messages}"}
        if role == "assistant":
            message |= {"id": f"msg{number}", "type": "message", "model": "m", "usage": {}}
            message["content"] = [{"type": "text", "text": message["content"]}]
        head = {"parentUuid": parent, "isSidechain": False, "type": role, "uuid": f"u{number}"}
        tail = {"timestamp": "2026-11-27T10:00:00.000Z", "cwd": "/p", "sessionId": "s", "version": "1"}
        lines.append(json.dumps({**head, "message": message, **tail}).encode())
    return lines


def test_b132_damaged_lines_cost_themselves_alone(cli):
    lines = transcript(40)
    lines[19] = lines[19][: len(lines[19]) // 2]
    lines[29:31] = [lines[29] + lines[30]]
    lines[33] = b"\0" * 10 + lines[33]
    lines[36:36] = [b"", b"   ", b'{"type": "user", "message": {"content": "' + b"x" * 2_000_000 + b'"']
    path = put(cli.work / "t.jsonl", b"\n".join(lines) + b"\n")
    before = path.read_bytes()
    done = cli.run("sessions", "import", "t.jsonl", "--name", "t")
    assert done.code == 0, done.err
    texts = [message.text for message in sessions(cli).load("t").messages if message.role != "system"]
    assert texts[-1] == "text 40 of 40"
    assert len(texts) >= 36
    assert "20" in done.err and "left out" in done.err
    assert path.read_bytes() == before


def test_b132_a_journal_with_damaged_lines_goes_on_with_the_others(cli):
    prompt(cli, flags=())
    folder = sessions(cli).directory
    with sessions(cli).open("s") as session:
        path = folder / "s.journal"
        from caliban_common.message import user

        for number in range(6):
            session.append(user(f"line {number}"))
        lines = path.read_bytes().splitlines(keepends=True)
    lines[-5] = lines[-5][:20] + b"\n"
    lines[-3] = b"\0" * 10 + lines[-3]
    lines[-2:-1] = [b"\n", lines[-2]]
    data = json.loads((folder / "s.json").read_text())
    data["messages"] = data["messages"][:3]
    data["journal_seq"] = 0
    (folder / "s.json").write_text(json.dumps(data))
    path.write_bytes(b"".join(lines))
    cli.script(DONE)
    done = cli.run("-p", "more", "-r", "s")
    assert done.code == 0, done.err
    assert "damaged in line" in done.err
    sent = json.dumps(cli.bodies()[-1]["messages"])
    assert [number for number in range(6) if f"line {number}" in sent] == [0, 2, 3, 4, 5]
    assert [path.name for path in folder.glob("s.damaged-*")]


@pytest.mark.parametrize("parents", [(None, "u1", "gone"), ("u3", "u1", "u2"), (None, "u1", "u2")])
def test_b133_parents_that_lead_nowhere_hide_nothing(cli, parents):
    lines = [json.loads(line) for line in transcript(3)]
    for line, parent in zip(lines, parents, strict=True):
        line["parentUuid"] = parent
    if parents[2] == "u2" and parents[1] == "u1":
        lines[1]["uuid"] = lines[0]["uuid"]
    put(cli.work / "t.jsonl", "\n".join(map(json.dumps, lines)))
    done = cli.run("sessions", "import", "t.jsonl", "--name", "t")
    assert done.code == 0, done.err
    texts = [message.text for message in sessions(cli).load("t").messages if message.role != "system"]
    assert texts == [f"text {number} of 3" for number in (1, 2, 3)]


def test_b134_each_message_is_in_the_file_of_its_own_session(cli):
    for session, words in (("a", "first-a"), ("b", "first-b"), ("b", "two-b"), ("a", "three-a")):
        cli.script(DONE)
        assert cli.run("-p", words, "--session", session).code == 0
    cli.script(DONE)
    assert cli.run("-p", "four-c", "-r", "a", "--fork-session", "--session", "c").code == 0
    files = {path.stem: path.read_text() for path in sessions(cli).directory.glob("?.json")}
    held = {
        words: sorted(name for name, text in files.items() if words in text)
        for words in ("first-a", "two-b", "three-a", "four-c")
    }
    assert held == {"first-a": ["a", "c"], "two-b": ["b"], "three-a": ["a", "c"], "four-c": ["c"]}
    assert all(json.loads(text)["name"] == name for name, text in files.items())


def test_b135_two_processes_on_one_session_and_many_on_their_own(cli):
    prompt(cli, flags=())
    with sessions(cli).open("s"):
        held = cli.run("-p", "again", "-r", "s")
        assert held.code != 0 and "--fork-session" in held.err
        going = cli.run("-p", "again", "--continue")
        assert going.code != 0 and "in use" in going.err
    cli.script(*[wire.exchange(wire.text("x" * 200_000))] * 6)
    processes = [cli.start("-p", "hi", "--session", f"n{number}") for number in range(6)]
    threads = [threading.Thread(target=process.communicate) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in processes] == [0] * 6
    for number in range(6):
        state = sessions(cli).load(f"n{number}")
        assert (len(state.messages[-1].text), state.warnings) == (200_000, ())
