"""Both ways to start the command show the same: a true start, and a fork of a process that has loaded it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import starts_kit
from command_kit import needs_procfs, opened
from hang_guard import HANG_S
from starts_kit import CHOICE, base_environment, can_fork, template

from caliban_provider_anthropic.testing import wire

forked_only = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd_open")

VOLATILE = (
    (r"\d+\.\d+ s\b", "<seconds>"),
    (r'("(?:duration_ms|duration_api_ms|t_ms)": ?)[\d.]+', r"\1<number>"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"\b[0-9a-f]{12}\b|\b\d{8}-\d{6}-[a-z0-9]{4}\b", "<id>"),
    (r"CALIBAN_SHELL=\S+?-", "CALIBAN_SHELL=<random>-"),
    (r"(pipe|socket|eventfd|anon_inode):\[\d+\]|process \d+", r"\1"),
)
ABOUT_ITSELF = "\n".join(
    [
        "env | sort; umask; pwd; ulimit -n; ulimit -s; ulimit -c",
        "grep -E '^(Sig[PIC]|Shd|Umask|Cap|NoNewPrivs|Seccomp:)' /proc/$PPID/status",
        "cut -d' ' -f5-7 /proc/$PPID/stat",  # process group, session, terminal
        # The import cache is open where it fits what is there, which another start may change meanwhile.
        r"readlink /proc/$PPID/cwd /proc/$PPID/exe; readlink /proc/$PPID/fd/* | grep -v '\.pack' | sort",
    ]
)
STREAM = ("-p", "go", "--no-save", "--allow", "Bash", "--output-format", "stream-json")

SAMPLE = {
    "text": ("-p", "go", "--no-save"),
    "json": ("-p", "go", "--no-save", "--output-format", "json"),
    "session": ("-p", "go", "--session", "one"),
    "standard input": ("-p", "-", "--no-save"),
    "words": ("-p", "\udcff\udcfe ü \r\n \u202e", "--no-save"),
    "version": ("--version",),
    "help": ("--help",),
    "help of a command": ("perms", "--help"),
    "no such flag": ("--nothing",),
    "no such command": ("nothing",),
    "nothing at all": (),
    "perms": ("perms", "test", "Bash", '{"command": "rm -r x"}'),
    "sessions": ("sessions", "list"),
    "providers": ("providers",),
    "doctor": ("doctor",),
}


READS = """
import os, sys, tempfile, threading
seen, get, walk = set(), os._Environ.__getitem__, os._Environ.__iter__
os._Environ.__getitem__ = lambda self, name: seen.add(name) or get(self, name)
os._Environ.__iter__ = lambda self: seen.add("all of it") or walk(self)
sys.path[:0] = [sys.argv[1]]
import template
template.load()
print(*seen, threading.active_count(), tempfile.tempdir, tempfile._name_sequence)
"""


def shown(folder, choice, words, monkeypatch, **options):
    """What a run wrote, asked for and left behind, without what differs from run to run."""
    monkeypatch.setenv(CHOICE, choice)
    folder.mkdir()  # the same for both: a request says where it is
    with opened(folder) as cli:
        use = wire.tool_use("Bash", {"command": ABOUT_ITSELF}, id="call_1")
        cli.script(wire.exchange(use), wire.exchange(wire.text("done")))
        done = cli.run(*words, **options)
        asked = [request.body.decode() for request in cli.server.requests]
        left = [f"{path.name}: {path.read_text()}" for path in sorted(folder.rglob("*")) if path.is_file()]
        names = {str(folder): "<folder>", cli.server.url: "<url>"}
    text = "\n".join([str(done.code), "OUT", done.out, "ERR", done.err, "ASKED", *asked, "LEFT", *left])
    shutil.rmtree(folder)
    for place, name in names.items():
        text = text.replace(place, name)
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text.replace("\\n", "\n").splitlines()


@forked_only
@pytest.mark.parametrize("words", SAMPLE.values(), ids=SAMPLE)
def test_a_fork_writes_asks_and_leaves_what_a_true_start_does(tmp_path, words, monkeypatch):
    given = b"one\r\n\xff\xfe two" if "-" in words else None
    kinds = [shown(tmp_path / "run", kind, words, monkeypatch, stdin=given) for kind in ("true", "forked")]
    assert kinds[0] == kinds[1]


@forked_only
@needs_procfs
def test_a_fork_is_in_the_state_that_a_true_start_is_in(tmp_path, monkeypatch):
    """Its signals, files, group, limits, environment and folder, as a command that it runs finds them."""
    kinds = [shown(tmp_path / "run", kind, STREAM, monkeypatch) for kind in ("true", "forked")]
    assert kinds[0] == kinds[1]
    assert kinds[0][0] == "0"
    assert "Umask" in "".join(kinds[0]) and "pipe" in kinds[0]


@forked_only
@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONDEVMODE": "1"},
        {"LC_ALL": "C"},
        {"LANG": "de_DE.UTF-8"},
        {"LD_PRELOAD": ""},
        {"PYTHONPATH": "x"},
    ],
)
def test_what_the_interpreter_reads_gets_a_true_start(free_cli, env, monkeypatch):
    monkeypatch.setenv(CHOICE, "forked")
    assert can_fork(("-p", "go"), free_cli.env)
    assert not can_fork(("-p", "go"), {**free_cli.env, **env})


@forked_only
@pytest.mark.parametrize("word", ["a" * 200_000, "\0"], ids=["too long", "NUL"])
def test_what_no_program_can_be_started_with_is_left_to_the_system(free_cli, word, monkeypatch):
    monkeypatch.setenv(CHOICE, "forked")
    with pytest.raises((OSError, ValueError)):
        free_cli.run("-p", word)


def test_a_choice_that_means_nothing_is_refused(free_cli, monkeypatch):
    monkeypatch.setenv(CHOICE, "fast")
    with pytest.raises(AssertionError, match="true, share or forked"):
        free_cli.run("--version")


@forked_only
def test_runs_side_by_side_keep_apart(free_cli, monkeypatch):
    """Each gets its own streams, environment and end, whichever ends first."""
    monkeypatch.setenv(CHOICE, "forked")
    free_cli.server.extend(*(wire.exchange(wire.text("done")) for _ in range(4)))

    def one(number):
        return free_cli.run("-p", "-", "--no-save", stdin=b"x" * (number << 18), env={"TZ": str(number)})

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(one, range(1, 5)))
    assert [(done.code, done.out) for done in ended] == [(0, "done\n")] * 4
    sizes = {body["messages"][-1]["content"][0]["text"].count("x") >> 18 for body in free_cli.bodies()}
    assert sizes == {1, 2, 3, 4}


@forked_only
@needs_procfs
def test_a_fork_takes_no_thread_and_no_open_file_along(free_cli, monkeypatch):
    monkeypatch.setenv(CHOICE, "forked")
    free_cli.run("--version")  # so it has loaded
    place = Path(f"/proc/{template().pid}")
    assert [path.name for path in (place / "task").iterdir()] == [place.name]
    others = [os.readlink(path) for path in (place / "fd").iterdir() if int(path.name) > 2]
    assert sorted("cache" if ".pack" in name else name.partition(":")[0] for name in others) in (
        ["cache", "socket"],  # the import cache, which a true start has open too
        ["socket"],
    )


def test_what_is_loaded_before_a_fork_remembers_nothing_of_its_environment(tmp_path):
    """Only where modules are, which a true start reads as early."""
    folder = str(Path(starts_kit.__file__).parent)
    environ = base_environment(os.environ)
    done = subprocess.run(
        [sys.executable, "-c", READS, folder], env=environ, cwd=tmp_path, capture_output=True, timeout=HANG_S
    )
    *names, lines, reader, seed = done.stdout.decode().split()
    assert (sorted(names), lines, reader, seed) == (["PYTHONPATH", "WCWIDTH_PYTHON"], "1", "None", "None"), (
        done
    )


@forked_only
def test_a_template_that_ends_is_told_as_such(free_cli, monkeypatch, tmp_path):
    program = tmp_path / "ends.py"
    program.write_text("")
    monkeypatch.setattr(starts_kit, "PROGRAM", program)
    ended = starts_kit.Template()
    with pytest.raises(AssertionError, match=r"ends.py has ended"):
        ended.run(["--version"], free_cli.env, free_cli.work, b"")
    ended.close()
