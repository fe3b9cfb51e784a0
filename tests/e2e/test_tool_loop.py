"""The tool loop through the real command: tools, rules, parallel calls, hostile files and commands."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from command_kit import needs_procfs
from hang_guard import HANG_S, wait_until

from caliban_provider.testing.exchange import Exchange, Pause, Send
from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
DONE = wire.text("done")


def results(cli, turn: int = 1) -> list[str]:
    """The texts of the tool results in the request of a turn."""
    content = cli.bodies()[turn]["messages"][-1]["content"]
    out = []
    for block in content:
        if block["type"] == "tool_result":
            inner = block["content"]
            out.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return out


def call(cli, *uses, flags=()):
    cli.script(wire.exchange(*uses), wire.exchange(DONE))
    return cli.run("-p", "go", *STREAM, *flags)


def test_read_edit_write_change_the_workspace(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "a.py"})),
        wire.exchange(wire.tool_use("Edit", {"path": "a.py", "old_string": "1", "new_string": "2"})),
        wire.exchange(wire.tool_use("Write", {"path": "sub/b.py", "content": "y = 1\n"})),
        wire.exchange(DONE),
    )
    done = cli.run("-p", "go", "--permission-mode", "acceptEdits")
    assert (done.code, done.out) == (0, "done\n")
    assert (cli.work / "a.py").read_text() == "x = 2\n"
    assert (cli.work / "sub" / "b.py").read_text() == "y = 1\n"
    assert "[Edit a.py]" in done.err


def test_quiet_keeps_standard_error_free_of_tools(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.py"})), wire.exchange(DONE))
    assert cli.run("-p", "go", "--quiet").err == ""


def test_parallel_calls_are_answered_in_order_in_one_message(cli):
    commands = [f"until [ -e go{n} ]; do sleep 0.02; done" for n in range(3)]
    uses = [wire.tool_use("Bash", {"command": line}, id=f"t{n}") for n, line in enumerate(commands)]
    cli.script(wire.exchange(*uses), wire.exchange(DONE))
    process = cli.start("-p", "go", *STREAM, "--allow", "Bash")
    assert process.stdout is not None
    for n in (2, 1, 0):
        (cli.work / f"go{n}").touch()
        while (frame := json.loads(process.stdout.readline()))["type"] != "tool_result":
            pass
        assert frame["tool_use_id"] == f"t{n}"
    process.communicate(timeout=HANG_S)
    assert process.returncode == 0
    ids = [b["tool_use_id"] for b in cli.bodies()[1]["messages"][-1]["content"] if b["type"] == "tool_result"]
    assert ids == ["t0", "t1", "t2"]


def test_without_rules_a_shell_command_is_denied_with_the_way_on(cli):
    done = call(cli, wire.tool_use("Bash", {"command": "touch made"}, id="t1"))
    assert not (cli.work / "made").exists()
    (text,) = results(cli)
    assert text.startswith("Tool call denied:")
    assert "--allow" in text
    (denial,) = done.frames[-1]["permission_denials"]
    assert (denial["tool_name"], denial["tool_use_id"]) == ("Bash", "t1")


def test_a_denied_edit_names_accept_edits(cli):
    call(cli, wire.tool_use("Write", {"path": "x", "content": "y"}))
    assert "--permission-mode acceptEdits" in results(cli)[0]
    assert not (cli.work / "x").exists()


def test_b001_an_allow_covers_every_command_of_the_line(cli):
    command = "cd . && python3 -c \"open('pwn','w')\""
    done = call(cli, wire.tool_use("Bash", {"command": command}), flags=("--allow", "Bash(cd:*)"))
    assert not (cli.work / "pwn").exists()
    assert done.frames[-1]["permission_denials"]


def test_b006_the_denial_names_the_construct(cli):
    command = 'curl -H "X: $MY_TOKEN" http://127.0.0.1:1/'
    flags = ("--permission-mode", "dontAsk", "--allow", "Bash(curl *)", "--deny", "Bash(wget *)")
    call(cli, wire.tool_use("Bash", {"command": command}), flags=flags)
    text = results(cli)[0]
    assert "Exit code" in text or "MY_TOKEN" in text


@pytest.mark.parametrize(
    ("flags", "runs"),
    [
        ((), False),
        (("--allow", "Bash:touch *"), True),
        (("--allow", "Bash(touch *)"), True),
        (("--auto-allow",), True),
        (("--no-permissions",), True),
        (("--permission-mode", "dontAsk"), True),
        (("--permission-mode", "acceptEdits"), False),
        (("--permission-mode", "plan"), False),
        (("--permission-mode", "plan", "--allow", "Bash"), False),
        (("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions"), True),
        (("--allow", "Bash:touch *", "--deny", "Bash:~touch *"), False),
        (("--auto-allow", "--deny", "Bash"), False),
        (("--allow", "Bash:git *"), False),
    ],
)
def test_flags_decide_what_runs(cli, flags, runs):
    call(cli, wire.tool_use("Bash", {"command": "touch made"}), flags=flags)
    assert (cli.work / "made").exists() is runs


def test_a22_plan_mode_reads_and_does_not_write(cli):
    (cli.work / "f").write_text("text")
    uses = [wire.tool_use("Read", {"path": "f"}), wire.tool_use("Write", {"path": "g", "content": "x"})]
    call(cli, *uses, flags=("--permission-mode", "plan"))
    read, write = results(cli)
    assert "text" in read
    assert "plan mode" in write and "with ExitPlanMode" in write
    assert not (cli.work / "g").exists()


def test_no_tools_offers_none(cli):
    cli.script(wire.exchange(DONE))
    done = cli.run("-p", "go", "--no-tools", *STREAM)
    assert done.frames[0]["tools"] == []
    assert "tools" not in cli.bodies()[0]


def test_a_user_deny_holds_against_a_project_allow(cli):
    user = cli.home / ".config" / "caliban"
    user.mkdir(parents=True)
    (user / "settings.toml").write_text('[permissions]\ndeny = ["Bash:touch *"]\n')
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text('[permissions]\nallow = ["Bash:*"]\n')
    call(cli, wire.tool_use("Bash", {"command": "touch made"}), flags=("--trust-project",))
    assert not (cli.work / "made").exists()


def test_an_untrusted_project_grants_nothing(cli):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text('[permissions]\nallow = ["Bash:*"]\n')
    call(cli, wire.tool_use("Bash", {"command": "touch made"}))
    assert not (cli.work / "made").exists()


def test_paths_outside_the_workspace_are_refused_unless_told_otherwise(cli):
    (cli.home / "secret").write_text("CANARY")
    uses = [
        wire.tool_use("Read", {"path": str(cli.home / "secret")}),
        wire.tool_use("Read", {"path": "../home/secret"}),
    ]
    call(cli, *uses)
    assert not any("CANARY" in text for text in results(cli))
    cli.script(wire.exchange(uses[0]), wire.exchange(DONE))
    cli.run("-p", "go", "--no-restrict-paths")
    assert "CANARY" in results(cli, turn=3)[0]


def test_b086_no_blank_block_is_ever_sent(cli):
    (cli.work / "empty").write_text("")
    uses = [wire.tool_use("Bash", {"command": "true"}), wire.tool_use("Read", {"path": "empty"})]
    done = call(cli, *uses, flags=("--allow", "Bash:true"))
    assert done.code == 0
    assert cli.server.refused == ()
    assert all(text.strip() for text in results(cli))


def test_b087_a_call_without_input_is_answered_at_once(cli):
    done = call(cli, wire.tool_use("Bash", None), flags=("--allow", "Bash"))
    assert done.code == 0
    assert "command" in results(cli)[0]


def test_b040_binary_output_is_text(cli):
    (cli.work / "real.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)
    call(cli, wire.tool_use("Bash", {"command": "cat real.png"}), flags=("--allow", "Bash:cat *"))
    assert cli.server.refused == ()
    assert "\x00" not in results(cli)[0]


def test_b051_a_timeout_ends_the_whole_tree(cli):
    one, two = (f"sleep 3{os.getpid()}.{n}" for n in (1, 2))
    use = wire.tool_use("Bash", {"command": f"{one} & bash -c '{two}; true'", "timeout_seconds": 1})
    call(cli, use, flags=("--allow", "Bash"))
    assert "timed out" in results(cli)[0]
    wait_until(lambda: no_process(one) and no_process(two))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_b053_a_signal_leaves_no_child(cli, number):
    marker = f"3{os.getpid()}.{number:02d}"
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": f"sleep {marker}", "timeout_seconds": 600})))
    process = cli.start("-p", "go", *STREAM, "--allow", "Bash", "--session", "s")
    wait_until(lambda: not no_process(f"sleep {marker}"))
    process.send_signal(number)
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 124
    assert json.loads(out.splitlines()[-1])["subtype"] == "cancelled"
    wait_until(lambda: no_process(f"sleep {marker}"))
    cli.script(wire.exchange(wire.text("resumed")))
    assert cli.run("-p", "on", "-r", "s").out == "resumed\n"


def test_b097_a_nested_run_does_not_wait_for_standard_input(cli):
    command = f"{sys.executable} -m caliban -p inner --provider echo-missing; echo after"
    call(cli, wire.tool_use("Bash", {"command": command}), flags=("--allow", "Bash"))
    assert "after" in results(cli)[0]


def test_the_key_never_reaches_a_child(cli):
    use = wire.tool_use("Bash", {"command": "env"})
    call(cli, use, flags=("--allow", "Bash"))
    assert "test-key" not in results(cli)[0]


def test_the_first_request_is_small(cli):
    cli.script(wire.exchange(DONE))
    cli.run("-p", "hi")
    assert len(cli.server.requests[0].body) <= 12 * 1024


def test_the_prefix_is_the_same_bytes_from_turn_to_turn(cli):
    (cli.work / "f").write_text("x")
    cli.script(*(wire.exchange(wire.tool_use("Read", {"path": "f"})) for _ in range(5)), wire.exchange(DONE))
    cli.run("-p", "hi")
    bodies = [json.dumps({k: b[k] for k in ("system", "tools")}) for b in cli.bodies()]
    assert len(set(bodies)) == 1


def no_process(words: str) -> bool:
    """Whether no process runs the command `words`."""
    wanted = words.encode().replace(b" ", b"\0")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(wanted):
                return False
        except OSError:
            pass
    return True


def test_a_tool_that_is_denied_altogether_is_not_offered(cli):
    cli.script(wire.exchange(DONE))
    done = cli.run("-p", "go", *STREAM, "--deny", "Bash", "--deny", "Write")
    assert {"Edit", "Glob", "Grep", "Read"} <= set(done.frames[0]["tools"])
    assert not {"Bash", "Write"} & set(done.frames[0]["tools"])


def test_searches_show_nothing_that_may_not_be_read(cli):
    (cli.work / "open.txt").write_text("needle\n")
    (cli.work / "secret.txt").write_text("needle\n")
    uses = [wire.tool_use("Grep", {"pattern": "needle"}), wire.tool_use("Glob", {"pattern": "*.txt"})]
    call(cli, *uses, flags=("--deny", "Read:secret.txt"))
    assert all("open.txt" in text and "secret.txt" not in text for text in results(cli))


def test_several_edits_of_a_file_are_one_call_and_all_or_nothing(cli):
    (cli.work / "a.py").write_text("x = 1\ny = 1\n")
    good = [{"old_string": "x = 1", "new_string": "x = 2"}, {"old_string": "y = 1", "new_string": "y = 2"}]
    bad = [*good[:1], {"old_string": "z", "new_string": "y"}]
    uses = [wire.tool_use("MultiEdit", {"path": "a.py", "edits": edits}) for edits in (bad, good)]
    cli.script(*(wire.exchange(use) for use in uses), wire.exchange(DONE))
    done = cli.run("-p", "go", "--permission-mode", "acceptEdits")
    assert "edit #2: old_string was not found" in results(cli)[0]
    assert results(cli, turn=2) == ["→ MultiEdit a.py (2 edits, 2 total replacements)"]
    assert (cli.work / "a.py").read_text() == "x = 2\ny = 2\n"
    assert "[MultiEdit a.py]" in done.err


def test_results_of_calls_that_share_an_id_each_keep_their_file(cli):
    for name in "abc":
        (cli.work / name).write_text(f"{name * 300}\n" * 500)
    again = wire.exchange(*(wire.tool_use("Read", {"path": name}, id="call_0") for name in "bc"))
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a"}, id="call_0")), again, wire.exchange(DONE))
    assert cli.run("-p", "go").code == 0
    notes = [note for turn in (1, 2) for note in results(cli, turn)]
    files = [Path(note.partition("the whole text is in ")[2].partition("]")[0]) for note in notes]
    assert [file.name for file in files][:1] == ["call_0.txt"]
    assert [file.read_text()[:9] for file in files] == ["→ Read a,", "→ Read b,", "→ Read c,"]


def test_a_list_that_comes_as_a_text_is_taken_as_the_list_it_is(cli):
    (cli.work / "a").write_text("one\ntwo\n")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
    use = wire.tool_use("MultiEdit", {"file_path": "a", "edits": json.dumps(edits)})
    done = call(cli, use, flags=("--permission-mode", "acceptEdits"))
    assert (done.code, (cli.work / "a").read_text()) == (0, "1\n2\n")


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Grep", {"pattern": "one", "path": "", "include": "", "max_matches": ""}, "→ Grep 'one': 1 match"),
        ("Glob", {"pattern": "*", "path": ""}, "→ Glob '*' matched 1 file"),
        ("Bash", {"command": "pwd", "cwd": "", "timeout_seconds": "", "background": ""}, "→ Exit code: 0"),
        ("Read", {"path": "a", "offset": "", "limit": ""}, "→ Read a, lines 1-1 of 1"),
        ("Agent", {"description": "", "prompt": "p", "subagent_type": "", "tools": "", "model": ""}, "seen"),
    ],
)
def test_a_form_whose_other_fields_are_empty_is_taken_as_if_they_were_left_out(cli, name, given, said):
    (cli.work / "a").write_text("one\n")
    child = [wire.exchange(wire.text("seen"))] if name == "Agent" else []
    cli.script(wire.exchange(wire.tool_use(name, given)), *child, wire.exchange(DONE))
    assert cli.run("-p", "go", "--allow", "Bash").code == 0
    assert said in results(cli, -1)[0]


def test_a_path_that_comes_by_two_names_with_two_values_is_refused(cli):
    for name in "ab":
        (cli.work / name).write_text(name)
    call(cli, wire.tool_use("Read", {"file_path": "a", "filename": "b"}))
    assert "unknown argument 'filename'" in results(cli)[0]


def test_a_rule_for_edit_means_every_tool_that_edits(cli):
    (cli.work / "a.py").write_text("x")
    use = wire.tool_use("MultiEdit", {"path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]})
    call(cli, use, flags=("--permission-mode", "acceptEdits", "--deny", "Edit:a.py"))
    assert results(cli)[0].startswith("Tool call denied:")
    assert (cli.work / "a.py").read_text() == "x"


def test_a_notebook_is_read_as_cells_and_changed_by_cell(cli):
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": ["x = 1"]}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (cli.work / "a.ipynb").write_text(json.dumps(book, indent=1))
    change = {"path": "a.ipynb", "edit_mode": "replace", "cell_index": 0, "new_source": "x = 2"}
    uses = (wire.tool_use("Read", {"path": "a.ipynb"}), wire.tool_use("NotebookEdit", change))
    cli.script(*(wire.exchange(use) for use in uses), wire.exchange(DONE))
    done = cli.run("-p", "go", "--permission-mode", "acceptEdits")
    assert "[cell 0, code]\nx = 1" in results(cli)[0]
    assert "edited code cell 0; 1 cell" in results(cli, turn=2)[0]
    cell["source"] = ["x = 2"]
    assert (cli.work / "a.ipynb").read_text() == json.dumps(book, indent=1)
    assert "[NotebookEdit a.ipynb]" in done.err


@needs_procfs
def test_what_a_tool_call_needs_is_loaded_while_the_model_thinks(cli):
    answers = threading.Event()
    exchange = wire.exchange(wire.text("Done."))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    cli.script(Exchange(raw=True, steps=(Pause(answers), Send(head), *exchange.steps)))
    process = cli.start("-p", "hi")
    try:
        # The library behind `ctypes` is one of the last that are loaded ahead.
        wait_until(lambda: b"_ctypes" in Path(f"/proc/{process.pid}/maps").read_bytes())
    finally:
        answers.set()
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out.strip()) == (0, b"Done."), err
