"""Runs that are recorded and played again: the same output, without a server, a program or a file."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
from hang_guard import HANG_S, wait_until

from caliban_provider.testing.exchange import Pause
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

STREAM = ("--output-format", "stream-json")
PARTIAL = (*STREAM, "--include-partial-messages", "--include-dispatch-events")
FRAMES = (*STREAM, "--input-format", "stream-json")
SECRET = "sk-ant-test-4711-abcdefghijklmnop"
NOBODY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
"""No key, and no server: nobody listens on port 9."""


def said(text):
    return wire.exchange(wire.text(text))


def use(name, args, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args, id=id))


def delegate(prompt, *, id="d1", **args):
    return wire.tool_use("Agent", {"description": "a look", "prompt": prompt, **args}, id=id)


def frames(*lines):
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def prompt(text):
    return {"type": "user", "content": text}


def record(cli, *args, **options):
    """A run that is recorded in `run.jsonl`."""
    return cli.run(*args, "--record", "run.jsonl", **options)


def replayed(cli, *args, **options):
    """The recording played again."""
    options.setdefault("env", NOBODY)
    return cli.run("replay", "run.jsonl", *args, **options)


def recording(cli):
    return cli.work / "run.jsonl"


def lines(cli):
    return [json.loads(line) for line in recording(cli).read_text().splitlines()]


def script_edit(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(
        wire.exchange(
            wire.thinking("hm", " so"),
            wire.text("Let me ", "look."),
            wire.tool_use("Read", {"path": "a.py"}, id="t1"),
        ),
        wire.exchange(
            wire.tool_use("Bash", {"command": "echo x = 1"}, id="t2"),
            wire.tool_use("Bash", {"command": "rm a.py"}, id="t3"),
            wire.tool_use("Edit", {"path": "a.py", "old_string": "1", "new_string": "2"}, id="t4"),
            wire.tool_use("Nothing", {}, id="t5"),
        ),
        said("done"),
    )


@pytest.mark.parametrize("flags", [(), STREAM, ("--output-format", "json"), PARTIAL], ids=len)
def test_a_replay_prints_what_the_run_printed_and_touches_nothing(cli, flags):
    script_edit(cli)
    done = record(cli, "-p", "go", *flags, "--permission-mode", "acceptEdits")
    assert (cli.work / "a.py").read_text() == "x = 2\n"
    (cli.work / "a.py").unlink()
    kept = sorted(path for path in cli.home.rglob("*") if path.is_file())
    again = replayed(cli)
    assert (again.code, again.out) == (0, done.out)
    assert sorted(os.listdir(cli.work)) == ["run.jsonl"]
    assert sorted(path for path in cli.home.rglob("*") if path.is_file()) == kept


def test_the_lines_on_standard_error_are_the_same_but_for_the_session_to_resume(cli):
    script_edit(cli)
    done = record(cli, "-p", "go", "--permission-mode", "acceptEdits")
    again = replayed(cli)
    assert again.err.splitlines()[:-1] == done.err.splitlines()[:-1] != []
    assert "caliban -r" in done.err.splitlines()[-1]
    assert "caliban -r" not in again.err


def test_recording_changes_nothing_of_what_is_sent_and_said(cli):
    bodies = []
    for flags in ((), ("--record", "run.jsonl")):
        script_edit(cli)
        before = len(cli.bodies())
        done = cli.run("-p", "go", "--permission-mode", "acceptEdits", *flags)
        assert (done.code, done.out) == (0, "done\n")
        bodies.append(cli.bodies()[before:])
    assert bodies[0] == bodies[1]


def test_a_recording_is_for_its_owner_alone_and_is_versioned(cli):
    cli.script(said("hi"))
    record(cli, "-p", "go")
    assert stat.S_IMODE(recording(cli).stat().st_mode) == 0o600
    first, *_, last = lines(cli)
    assert (first["type"], first["version"], last["type"], last["code"]) == ("recording", 1, "end", 0)


def shape_retries(cli):
    cli.script(
        wire.failure(429, "rate_limit_error", "slow down", retry_after_ms="10"),
        wire.failure(529, "overloaded_error", "busy"),
        wire.broken(wire.text("Hel", "lo"), after=4),
        said("hi"),
    )
    return ("-p", "go"), {}


def shape_refusal(cli):
    cli.script(wire.failure(401, "authentication_error", "no such key"))
    return ("-p", "go"), {}


def shape_limit(cli):
    cli.script(use("Read", {"path": "nothing"}), said("never asked"))
    return ("-p", "go", "--max-turns", "1"), {}


def shape_agent(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(
        wire.exchange(delegate("what is x?")), use("Read", {"path": "a.py"}), said("x is 1"), said("1.")
    )
    return ("-p", "go"), {}


def shape_agents(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    two = (delegate("one", id="d1"), delegate("two", id="d2"))
    reads = [use("Read", {"path": "a.py", "limit": n}, id=f"r{n}") for n in (1, 2)]
    cli.script(wire.exchange(*two), *reads, said("a"), said("b"), said("Both."))
    return ("-p", "go"), {}


def shape_background(cli):
    cli.script(
        wire.exchange(delegate("look", run_in_background=True)), said("one"), said("two"), said("three")
    )
    return ("-p", "go"), {}


def shape_prompts(cli):
    cli.script(said("one"), said("A summary."), said("two"), said("three"))
    stdin = frames(prompt("a " * 4000), {"type": "control", "subtype": "compact"}, prompt("b"), prompt("c"))
    return ("-p", *FRAMES), {"stdin": stdin}


def shape_bad_frame(cli):
    cli.script(said("one"))
    return ("-p", *FRAMES), {"stdin": frames(prompt("a"), {"type": "nonsense"})}


def shape_schema(cli):
    cli.script(said("no"), said('{"n": 1}'))
    schema = '{"type": "object", "required": ["n"]}'
    return ("-p", "go", "--json-schema", schema), {}


def shape_overflow(cli):
    (cli.work / "long.txt").write_text("word " * 30_000)
    cli.script(use("Bash", {"command": "cat long.txt"}), said("long"))
    return ("-p", "go", "--allow", "Bash"), {}


def shape_tasks(cli):
    todos = [{"content": "do it", "status": "pending", "activeForm": "doing it"}]
    cli.script(use("TodoWrite", {"todos": todos}), use("EnterPlanMode", {}, id="c2"), said("planned"))
    return ("-p", "go"), {}


def shape_budget(cli):
    cli.script(use("Read", {"path": "a.py"}), said("never"))
    return ("-p", "go", "--max-budget-usd", "0.000001"), {}


SHAPES = [
    shape_retries,
    shape_refusal,
    shape_limit,
    shape_agent,
    shape_agents,
    shape_background,
    shape_prompts,
    shape_bad_frame,
    shape_schema,
    shape_overflow,
    shape_tasks,
    shape_budget,
]


MEASURED = ("duration_api_ms", "t_ms")


def shown(done, shape):
    """Standard output; of agents side by side each one's own, for they may be shown in any order."""
    if shape not in (shape_agents, shape_background):
        return done.out
    frames = [{key: value for key, value in frame.items() if key not in MEASURED} for frame in done.frames]
    return sorted(frames, key=lambda frame: frame.get("parent_tool_use_id", ""))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.removeprefix("shape_"))
def test_runs_of_every_shape_come_out_the_same(free_cli, shape):
    args, options = shape(free_cli)
    flags = () if "stream-json" in args else PARTIAL
    done = record(free_cli, *args, *flags, **options)
    assert done.frames[-1]["type"] == "result"
    for way in ((), ("--strict",)):
        again = replayed(free_cli, *way)
        assert (again.code, shown(again, shape)) == (done.code, shown(done, shape)), way


def test_a_session_that_goes_on_is_recorded_with_what_was_there_before(cli):
    cli.script(said("one"), said("two"))
    kept = ("--session", "s", "--sessions-dir", str(cli.home / "kept"))
    cli.run("-p", "first", *kept)
    done = record(cli, "-p", "second", *kept, *STREAM)
    (cli.home / "kept" / "s.json").unlink()
    again = replayed(cli, "--strict")
    assert (again.code, again.out) == (0, done.out)
    texts = [part["text"] for message in lines(cli)[0]["scene"]["messages"] for part in message["content"]]
    assert texts[1:] == ["first", "one"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_a_signal_ended_ends_again_where_it_did(cli, number):
    cli.script(use("Bash", {"command": "echo one"}), use("Bash", {"command": "touch begun; sleep 600"}))
    process = cli.start("-p", "go", *STREAM, "--allow", "Bash", "--record", "run.jsonl")
    wait_until((cli.work / "begun").exists)
    process.send_signal(number)
    out, _ = process.communicate(timeout=HANG_S)
    again = replayed(cli)
    assert (process.returncode, again.code, again.out) == (124, 124, out.decode())


def test_an_interrupt_between_frames_comes_again_where_it_came(cli):
    cli.script(wire.broken(wire.text("Hel"), after=4, end=Pause(HANG_S)), said("two"))
    process = cli.start(
        "-p", *FRAMES, "--include-partial-messages", "--record", "run.jsonl", stdin=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(frames(prompt("a")))
    process.stdin.flush()
    read = b""
    while b'"delta"' not in (line := process.stdout.readline()):
        read += line
    read += line
    process.stdin.write(frames({"type": "control", "subtype": "interrupt"}, prompt("b")))
    out, _ = process.communicate(timeout=HANG_S)
    again = replayed(cli)
    assert (again.code, again.out) == (process.returncode, (read + out).decode())


def test_a_frame_that_stopped_an_agent_stops_it_again(cli):
    cli.script(
        wire.exchange(delegate("look")), use("Bash", {"command": "touch begun; sleep 600"}), said("So be it.")
    )
    flags = ("-p", *FRAMES, "--allow", "Bash", "--record", "run.jsonl")
    process = cli.begin(*flags, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(frames(prompt("go")))
    process.stdin.flush()
    wait_until((cli.work / "begun").exists)
    process.stdin.write(b'{"type":"control","subtype":"stop_task","task_id":"d1"}\n')
    out, _ = process.communicate(timeout=HANG_S)
    again = replayed(cli)
    assert (again.code, again.out) == (process.returncode, out.decode()) == (0, out.decode())


AGENT = "---\nname: reviewer\ndescription: {}\n---\nYou review.\n"


def test_strict_names_the_tool_whose_description_changed(cli):
    folder = cli.home / ".config" / "caliban" / "agents"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text(AGENT.format("reads diffs"))
    cli.script(said("hi"))
    done = record(cli, "-p", "go", *STREAM)
    assert replayed(cli, "--strict").out == done.out
    (folder / "reviewer.md").write_text(AGENT.format("reads patches"))
    again = replayed(cli, "--strict")
    assert again.code == 1
    assert "the description of tool Agent: recorded" in again.frames[-1]["error"]
    assert "reads diffs" in again.err and "reads patches" in again.err
    assert replayed(cli).out == done.out


def test_strict_names_the_system_prompt_that_a_file_changed(cli):
    (cli.work / "system.txt").write_text("Be brief.")
    cli.script(said("hi"))
    record(cli, "-p", "go", "--system-file", "system.txt")
    (cli.work / "system.txt").write_text("Be long.")
    again = replayed(cli, "--strict")
    assert (again.code, again.out) == (1, "")
    assert "message 1 (system) block 1: recorded 'Be brief.', now 'Be long.'" in again.err


def test_strict_names_the_block_of_a_result_that_was_edited(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(use("Read", {"path": "a.py"}), said("done"))
    record(cli, "-p", "go")
    (number,) = [n for n, line in enumerate(lines(cli)) if line["type"] == "result"]
    texts = recording(cli).read_text().splitlines()
    texts[number] = texts[number].replace("x = 1", "x = 2")
    recording(cli).write_text("\n".join(texts) + "\n")
    again = replayed(cli, "--strict")
    assert again.code == 1
    assert "message 4 (user) block 1" in again.err
    loose = replayed(cli)
    assert (loose.code, loose.out) == (0, "done\n")
    assert "request 2 is not the one that was recorded" in loose.err


def test_until_ends_after_some_turns_and_says_how_to_go_on(cli):
    script_edit(cli)
    record(cli, "-p", "go", *STREAM, "--permission-mode", "acceptEdits")
    again = replayed(cli, "--until", "1")
    result = again.frames[-1]
    assert (again.code, result["subtype"], result["turns"]) == (75, "max_turns", 1)
    assert (result["total_input_tokens"], result["total_output_tokens"]) == (10, 5)
    assert [frame["id"] for frame in again.of("tool_use")] == ["t1"]
    text = replayed(cli, "--until", "2", "--output-format", "text")
    assert (text.code, text.out) == (75, "")
    assert "the replay stopped after 2 of 3 turns" in text.err
    assert "caliban: 2 turns, 20 tokens in, 10 out, price unknown" in text.err
    assert "caliban replay run.jsonl --until 3" in text.err
    whole = replayed(cli, "--until", "3")
    assert (whole.code, whole.frames[-1]["result"]) == (0, "done")


def test_another_model_goes_on_from_a_turn_with_recorded_tools(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    (cli.work / "b.py").write_text("y = 2\n")
    cli.script(
        use("Read", {"path": "a.py"}, id="t1"), use("Read", {"path": "b.py"}, id="t2"), said("1 and 2")
    )
    record(cli, "-p", "go", *STREAM)
    (cli.work / "b.py").unlink()
    asked = len(cli.bodies())
    cli.script(
        use("Read", {"path": "b.py"}, id="n1"),
        wire.exchange(
            wire.tool_use("Read", {"path": "c.py"}, id="n2"),
            wire.tool_use("Bash", {"command": "touch d"}, id="n3"),
        ),
        said("Otherwise."),
    )
    flags = ("--until", "1", "--swap-model", "anthropic/claude-haiku-4-5")
    again = replayed(cli, *flags, env={})
    assert (again.code, again.frames[-1]["result"]) == (0, "Otherwise.")
    bodies = cli.bodies()[asked:]
    assert {body["model"] for body in bodies} == {"claude-haiku-4-5"}
    results = [frame["content"][0]["text"] for frame in again.of("tool_result")]
    assert ["x = 1" in results[0], "y = 2" in results[1]] == [True, True]
    assert results[2].startswith("Error: this call was never recorded, and nothing runs in a replay: Read")
    assert "was never recorded" in results[3] and "was never recorded" in again.err
    assert not (cli.work / "d").exists()
    assert again.of("system")[0]["model"] == "anthropic/claude-haiku-4-5"


def test_another_model_begins_from_the_beginning(cli):
    cli.script(said("one"), said("another"))
    record(cli, "-p", "go")
    again = replayed(cli, "--swap-model", "anthropic/claude-haiku-4-5", env={})
    assert (again.code, again.out) == (0, "another\n")


def test_secrets_and_the_home_stand_nowhere_in_a_recording(cli):
    cli.extra["SERVICE_TOKEN"] = "tok-9d8f7a6b5c4e3d2c1b0a"
    (cli.work / "key.txt").write_text(f"key: {SECRET}\nhome: {cli.home}\n")
    command = "cat key.txt; echo $HOME"
    cli.script(use("Bash", {"command": command}), said(f"It is {SECRET}."))
    done = record(
        cli, "-p", f"use {SECRET} and tok-9d8f7a6b5c4e3d2c1b0a in {cli.home}", *PARTIAL, "--allow", "Bash",
        env={"ANTHROPIC_API_KEY": SECRET},
    )  # fmt: skip
    assert done.code == 0
    text = recording(cli).read_text()
    assert (SECRET in text, "tok-9d8f" in text, str(cli.home) in text) == (False, False, False)
    again = replayed(cli)
    assert (again.code, again.out) == (0, done.out)
    assert str(cli.home) in again.out


def test_a_secret_that_is_encoded_over_many_lines_stands_nowhere_in_a_recording(cli):
    key = "".join(f"{number:x}k" for number in range(300))
    digits = key.encode().hex()
    lines = [digits[at : at + 60] for at in range(0, len(digits), 60)]
    (cli.work / "key.hex").write_text("\n".join(lines))
    cli.script(use("Bash", {"command": "cat key.hex"}), said("done"))
    done = record(cli, "-p", "go", "--allow", "Bash", env={"ANTHROPIC_API_KEY": key})
    text = recording(cli).read_text()
    assert (done.code, [line for line in lines if line in text]) == (0, [])
    assert replayed(cli, "--strict").code == 0


def test_settings_among_the_flags_are_not_kept(cli):
    cli.script(said("hi"))
    record(cli, "-p", "go", "--settings", '{"max_tokens": 77, "env": {"X": "plainpassword"}}')
    assert "plainpassword" not in recording(cli).read_text()
    again = replayed(cli, "--strict")
    assert again.code == 1
    assert "max_tokens: recorded '77', now '8192'" in again.err
    assert "give them again with --settings" in again.err
    assert replayed(cli, "--strict", "--settings", '{"max_tokens": 77}').code == 0


def test_a_run_that_was_killed_leaves_what_there_was(cli):
    cli.script(
        use("Bash", {"command": "echo one"}, id="t1"), use("Bash", {"command": "touch begun; sleep 600"})
    )
    process = cli.start("-p", "go", *STREAM, "--allow", "Bash", "--record", "run.jsonl")
    wait_until((cli.work / "begun").exists)
    process.kill()
    process.communicate(timeout=HANG_S)
    again = replayed(cli)
    assert again.code == 1
    assert again.of("tool_result")[0]["tool_use_id"] == "t1"
    assert "the recording was cut off after line" in again.err
    assert "the recording ends here" in again.frames[-1]["error"]


def test_a_recording_that_is_cut_at_any_byte_is_one_up_to_its_last_whole_line(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(use("Read", {"path": "a.py"}), said("done"))
    record(cli, "-p", "go", *STREAM)
    data = recording(cli).read_bytes()
    first = data.index(b"\n") + 1
    for at in (first, first + 10, (first + len(data)) // 2, len(data) - 20, len(data) - 1):
        recording(cli).write_bytes(data[:at])
        again = replayed(cli)
        assert "Traceback" not in again.err
        assert "the recording was cut off after line" in again.err
        assert again.out == "" or again.frames[0]["subtype"] == "init"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no recording"),
        (b"\n\n\n", "is no recording"),
        (b"hello\n", "is no recording"),
        (b"\xff\xfe\x00\n", "is no recording"),
        (b'{"type":"recording"}\n', "of the version null"),
        (b'{"type":"recording","version":99,"caliban":"7"}\n', "of the version 99"),
        (b'{"type":"recording","version":1,"caliban":"7"}\n', "is no recording"),
        (b"[" * 200_000 + b"\n", "is no recording"),
    ],
    ids=range(8),
)
def test_what_is_no_recording_is_refused_in_words(cli, content, words):
    recording(cli).write_bytes(content)
    again = replayed(cli)
    assert (again.code, again.out) == (64, "")
    assert words in again.err and "Traceback" not in again.err


def test_a_line_that_does_not_fit_is_named(cli):
    cli.script(said("hi"))
    record(cli, "-p", "go")
    good = recording(cli).read_text()
    whole = len(good.splitlines())
    for bad in ("{", '{"type":"riddle","at_s":1}', '{"type":"reply","at_s":1,"call":99,"events":[]}', "[]"):
        recording(cli).write_text(f"{good}{bad}\n")
        again = replayed(cli)
        assert (again.code, again.out) == (64, ""), bad
        assert f"line {whole + 1} is none of a recording" in again.err
    recording(cli).write_text(good * 2)
    assert f"line {whole + 1} is none of a recording: another recording begins there" in replayed(cli).err


def test_files_that_are_not_there_or_no_files_are_refused(cli):
    assert replayed(cli).code == 66
    assert cli.run("replay", ".").code == 64
    assert cli.run("replay", "/dev/zero").code == 64
    assert cli.run("replay", "a\0b".replace("\0", "\n")).code == 66
    assert cli.run("replay", "run.jsonl", "--strict", "--swap-model", "local/x").code == 64
    assert cli.run("replay", "run.jsonl", "--until", "0").code == 64
    assert "FILE" in cli.run("replay").out


@pytest.mark.parametrize("place", [".", "/dev/full", "no/such/folder/run.jsonl", "notes.txt"])
def test_what_cannot_be_recorded_is_refused_before_anything_is_sent(cli, place):
    (cli.work / "notes.txt").write_text("mine")
    done = cli.run("-p", "go", "--record", place)
    assert (done.code, done.out, cli.bodies()) == (78, "", [])
    assert "Traceback" not in done.err and done.err.startswith("caliban: ")
    assert (cli.work / "notes.txt").read_text() == "mine"


def test_an_old_recording_gives_way_to_a_new_one_and_a_run_that_never_began_leaves_it(cli):
    cli.script(said("one"), said("two"))
    record(cli, "-p", "go")
    record(cli, "-p", "go")
    assert replayed(cli).out == "two\n"
    assert record(cli, "-p", "go", "--provider", "anthropic", env={"ANTHROPIC_API_KEY": ""}).code == 78
    assert replayed(cli).out == "two\n"
    assert cli.run("-p", "go", "--record", "new.jsonl", env={"ANTHROPIC_API_KEY": ""}).code == 78
    assert not (cli.work / "new.jsonl").exists()


LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
sys.argv = ["caliban", *sys.argv[1:]]
runpy.run_module("caliban", run_name="__main__")
"""


def test_a_disk_that_is_full_in_the_middle_is_told_and_the_run_goes_on(cli):
    (cli.work / "long.txt").write_text("word " * 9000)
    cli.script(
        *(use("Bash", {"command": "cat long.txt"}, id=f"t{n}") for n in range(2)),
        said("done"),
    )
    command = [sys.executable, "-c", LIMITED, "-p", "go", "--no-save", "--allow", "Bash"]
    done = subprocess.run(
        [*command, "--record", "run.jsonl"], cwd=cli.work, env=cli.env, capture_output=True, timeout=HANG_S
    )
    assert (done.returncode, done.stdout) == (78, b"done\n")
    assert done.stderr.count(b"the recording stops here: ") == 1
    assert "was cut off" in replayed(cli).err


def test_a_long_run_makes_a_recording_that_grows_by_the_line(free_cli):
    sizes = []
    for turns in (10, 20, 40):
        free_cli.script(*(use("Read", {"path": f"none{n}"}, id=f"t{n}") for n in range(turns)), said("done"))
        flags = ("--max-turns", "100", "--settings", '{"auto_compact_threshold": 0}')
        done = record(free_cli, "-p", "go", "--no-save", *flags)
        sizes.append(recording(free_cli).stat().st_size)
        assert replayed(free_cli).code == done.code
    assert sizes[2] - sizes[1] < 3 * (sizes[1] - sizes[0])


def test_a_recording_plays_on_another_machine(cli, tmp_path: Path):
    script_edit(cli)
    done = record(cli, "-p", "go", *STREAM, "--permission-mode", "acceptEdits")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.jsonl").write_bytes(recording(cli).read_bytes())
    command = [sys.executable, "-m", "caliban", "replay", "run.jsonl"]
    env = {**cli.env, **NOBODY, "HOME": str(elsewhere)}
    again = subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, timeout=HANG_S)
    assert (again.returncode, again.stdout.decode()) == (0, done.out)


def test_news_of_commands_in_the_background_come_again_where_they_came(cli):
    (cli.work / "note.txt").write_text("a note\n")
    numbers = count()

    def serve(request):
        number = next(numbers)
        if 'status=\\"news\\"' in request.body.decode():
            return said("done")
        command = {"command": "true", "run_in_background": True}
        return use("Read", {"path": "note.txt"}, id=f"c{number}") if number else use("Bash", command)

    flags = ("--allow", "Bash:true", "--max-turns", "5000")
    with LoopbackServer(serve) as cli.server:  # the model reads on until it is told
        done = record(cli, "-p", "go", *STREAM, *flags)
        assert (done.code, done.frames[-1]["result"]) == (0, "done"), done.err
        asked = len(cli.bodies())
        again = replayed(cli, "--strict")
        assert (again.code, again.out, len(cli.bodies())) == (0, done.out, asked), again.err
