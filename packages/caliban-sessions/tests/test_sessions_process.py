"""Sessions across processes: kills, two writers, full disks, odd locales."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hang_guard import HANG_S

from caliban_common.message import user
from caliban_common.remedy import Remedy
from caliban_sessions import SessionBusy, SessionStore, SessionWriteError

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and limits")

APPEND_FOR_EVER = """
import os, sys
from pathlib import Path
from caliban_common.message import user
from caliban_sessions import SessionStore
store = SessionStore(Path(sys.argv[1]))
number = 0
while True:
    with store.open("s") as session:
        if session.state.messages:
            number = int(session.state.messages[-1].text.split()[0]) + 1
        if number % 4 == 3:
            session.replace(session.state.messages[1:])
        for _ in range(3):
            session.append(user(f"{number} " + "x" * (number % 7) * 300))
            os.write(1, b"%d\\n" % number)
            number += 1
"""

HOLD = """
import sys
from pathlib import Path
from caliban_common.message import user
from caliban_sessions import SessionStore
session = SessionStore(Path(sys.argv[1])).open("s")
session.append(user("held"))
print("ready", flush=True)
sys.stdin.read()
session.close()
"""

FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from caliban_common.message import user
from caliban_sessions import SessionStore, SessionWriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
store = SessionStore(Path(sys.argv[1]))
old = store.open("s"); old.append(user("0 " + "x" * 800)); old.close()
session = store.open("s")
session.append(user("1"))
limit(600)
for number in (2, 3):
    try:
        session.append(user(f"{number} " + "y" * 700))
    except SessionWriteError as error:
        print("append:", error.message.rpartition(": ")[2], "|", error.hint)
disk = store.load("s")
print("memory:", len(session.state.messages), "disk:", len(disk.messages), disk.warnings)
if sys.argv[2] == "freed":
    limit(resource.RLIM_INFINITY)
    session.append(user("4"))
    print("disk:", len(store.load("s").messages), store.load("s").warnings)
    assert store.load("s") == session.state
else:
    try:
        session.close()
    except SessionWriteError as error:
        print("close:", error.message.rpartition(": ")[2])
    limit(resource.RLIM_INFINITY)
    print("disk:", len(store.load("s").messages))
    print("lock free:", store.open("s").name)
"""


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for child in started:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def run(code: str, *args: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        timeout=HANG_S,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@posix
def test_a_kill_at_any_instant_loses_nothing_that_append_returned_for(tmp_path: Path) -> None:
    chance = random.Random(7)
    store = SessionStore(tmp_path)
    for _ in range(20):
        command = [sys.executable, "-c", APPEND_FOR_EVER, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as child:
            assert child.stdout is not None
            acknowledged = [int(child.stdout.readline()) for _ in range(1 + chance.randrange(8))]
            timer = threading.Timer(chance.random() * 0.004, child.kill)
            timer.start()
            acknowledged += [int(line) for line in child.stdout.read().splitlines()]
            timer.join()
        state = store.load("s")
        assert state.warnings == ()
        numbers = [int(message.text.split()[0]) for message in state.messages]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers[-1] >= acknowledged[-1]


@posix
def test_a_second_writer_is_told_who_holds_the_session_and_what_to_do(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    children.append(holder)
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == b"ready\n"
    store = SessionStore(tmp_path)
    with pytest.raises(SessionBusy) as caught:
        store.open("s")
    assert caught.value.pid == holder.pid
    assert str(caught.value) == (
        f"session 's' is in use by process {holder.pid}\nhint: fork it to go on from here in a "
        "session of its own; else open another one, or save nothing"
    )
    assert caught.value.remedy == Remedy(kind="session_fork", name="s")
    assert [message.text for message in store.load("s").messages] == ["held"]
    store.open("other").close()
    holder.stdin.close()
    holder.wait(HANG_S)
    with store.open("s") as session:
        assert [message.text for message in session.state.messages] == ["held"]


@posix
def test_the_lock_of_a_killed_process_blocks_nobody(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    children.append(holder)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"ready\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait(HANG_S)
    assert (tmp_path / "s.lock").exists()
    with SessionStore(tmp_path).open("s") as session:
        assert [message.text for message in session.state.messages] == ["held"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json"]


def test_one_process_cannot_open_a_session_twice_either(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    with store.open("s") as session:
        with pytest.raises(SessionBusy, match=rf"this process \({os.getpid()}\)"):
            store.open("s")
        session.append(user("still ours"))
    store.open("s").close()


def test_threads_that_race_for_a_session_get_it_one_at_a_time(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    wins: list[int] = []

    def work(number: int) -> None:
        while number not in wins:
            try:
                with store.open("s") as session:
                    session.append(user(str(number)))
                    wins.append(number)
            except SessionBusy:
                continue

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(message.text) for message in store.load("s").messages] == wins


@posix
def test_a_full_disk_is_an_error_and_what_is_owed_goes_out_when_there_is_room(tmp_path: Path) -> None:
    hint = "free some space; nothing shown so far is lost while this process lives"
    assert run(FULL_DISK, str(tmp_path), "freed").splitlines() == [
        f"append: file too large | {hint}",
        f"append: file too large | {hint}",
        "memory: 4 disk: 2 ()",
        "disk: 5 ()",
    ]


@posix
def test_a_close_that_finds_no_room_leaves_the_old_file_and_the_journal(tmp_path: Path) -> None:
    assert run(FULL_DISK, str(tmp_path), "still full").splitlines()[2:] == [
        "memory: 4 disk: 2 ()",
        "close: file too large",
        "disk: 2",
        "lock free: s",
    ]
    assert not list(tmp_path.glob("*.tmp"))


@posix
def test_files_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from caliban_common.message import user\n"
        "from caliban_sessions import SessionStore\n"
        "store = SessionStore(Path(sys.argv[1]))\n"
        "with store.open('s') as session: session.append(user('hi \\u00fc \\u2192 \\U0001f30d'))\n"
        "print(ascii(store.load('s').messages[0].text), ascii(store.list()[0].preview))\n"
    )
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    text = ascii("hi ü → 🌍")
    assert run(code, str(tmp_path), env=env) == f"{text} {text}\n"
    assert "hi ü → 🌍" in (tmp_path / "s.json").read_text("utf-8")


@posix
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_takes_no_file_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(SessionWriteError, match="permission denied"):
            SessionStore(tmp_path).open("s")
    finally:
        tmp_path.chmod(0o700)


def test_a_file_where_the_directory_should_be_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SessionWriteError, match="save nothing") as caught:
        SessionStore(tmp_path / "file").open("s")
    assert caught.value.remedy == Remedy(kind="session_directory")
    assert SessionStore(tmp_path / "file").list() == ()


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["asyncio", "anyio", "pydantic", "httpx", "subprocess", "tempfile", "logging"]
    code = f"import sys, caliban_sessions; print([name for name in {heavy!r} if name in sys.modules])"
    assert run(code) == "[]\n"


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs /proc")
def test_a_list_reads_the_ends_of_each_file_only(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    for number in range(30):
        body = {"name": "x", "messages": [], "total_usage": {"input_tokens": number, "output_tokens": 0}}
        text = json.dumps(body).replace("[]", '[{"text": "' + "z" * 200_000 + '"}]')
        (tmp_path / f"s{number}.json").write_text(text)
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(3 << 30)
    before = bytes_read()
    heads = store.list()
    assert bytes_read() - before < 31 * 9_000
    assert {head.total_usage.input_tokens for head in heads} == set(range(30))
    assert len(heads) == 31


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])
