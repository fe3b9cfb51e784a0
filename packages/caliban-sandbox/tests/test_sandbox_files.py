"""What bubblewrap holds of a policy's files, tried by real programs; and what it is given, without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest
from extent_kit import examples
from hang_guard import wait_until
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from caliban_process import Command, ProcessError, Runner
from caliban_sandbox import FilePolicy, Sandbox, SandboxError, SandboxHost, SandboxPolicy, SandboxUnavailable
from caliban_sandbox.backend import find_bubblewrap, version_of
from caliban_sandbox.bubblewrap import inner_environment
from caliban_sandbox.denied import find_denial
from caliban_sandbox.ghosts import Ghosts
from caliban_sandbox.mounts import planned_mounts
from caliban_sandbox.seccomp import seccomp_filter
from caliban_sandbox.stores import credential_stores

needs_bwrap = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None, reason="bubblewrap is not installed"
)
ENV = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def place():
    """A directory that the private /tmp does not hide."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="caliban-files-") as folder:
        yield os.path.realpath(folder)


async def said(policy: SandboxPolicy, script: str, cwd: str = "/", **how) -> tuple[int | None, str]:
    """The exit code and all output of a script in a sandbox of its own."""
    runner = Runner()
    sandbox = Sandbox(policy, runner, host=SandboxHost(environ=os.environ))
    async with sandbox.opened():
        done = await runner.within(sandbox).run(
            Command(argv=("/bin/sh", "-c", script), env=ENV, cwd=cwd, marker="MARK", **how)
        )
    return done.exit_code, done.stdout.text() + done.stderr.text()


class TestThePlan:
    """The mounts of a policy, without making them."""

    def kinds(self, **files) -> dict[str, str]:
        return {mount.path: mount.kind for mount in planned_mounts(FilePolicy(**files))}

    def test_directories_above_what_is_protected_are_mounts(self):
        assert self.kinds(writable=("/w",), protected=("/w/a/b/c",)) == {
            "/w": "write",
            "/w/a": "passage",
            "/w/a/b": "passage",
            "/w/a/b/c": "protect",
        }

    def test_what_nobody_writes_needs_no_protection(self):
        assert self.kinds(writable=("/w",), protected=("/x", "/etc/.git")) == {"/w": "write"}

    def test_the_deeper_path_wins_and_what_is_hidden_stays_so(self):
        assert self.kinds(hidden=("/h", "/h/w/k"), writable=("/h/w",), readable=("/h/r", "/u", "/h/w/r")) == {
            "/u": "read",
            "/h": "hide",
            "/h/w": "write",
            "/h/w/k": "hide",
        }
        assert self.kinds(hidden=("/w/x",), writable=("/w", "/w/x"), protected=("/w/x",))["/w/x"] == "hide"
        assert self.kinds(writable=("/w", "/w/x"), protected=("/w/x",))["/w/x"] == "protect"

    def test_shallow_mounts_come_first(self):
        files = FilePolicy(writable=("/b/c/d", "/b"), protected=("/b/c",), hidden=("/a/long/way",))
        depths = [mount.path.count("/") for mount in planned_mounts(files)]
        assert depths == sorted(depths)

    def test_a_link_at_or_above_a_protected_name_is_refused(self, place):
        Path(place, "real").mkdir()
        Path(place, "a").symlink_to("real")
        for name in ("a", "a/b", "a/b/c"):
            with pytest.raises(SandboxError, match="a is a link"):
                planned_mounts(FilePolicy(writable=(place,), protected=(f"{place}/{name}",)))


@needs_bwrap
@pytest.mark.anyio
class TestWhatItHolds:
    async def test_readable_is_all_that_can_be_read(self, place):
        Path(place, "w").mkdir()
        Path(place, "other").write_text("CANARY")
        policy = SandboxPolicy(files=FilePolicy(readable=("/usr", "/etc"), writable=(f"{place}/w",)))
        code, text = await said(
            policy, f"echo x > {place}/w/a && cat {place}/w/a; cat {place}/other; ls /root; touch /x"
        )
        assert code != 0 and text.startswith("x\n") and "CANARY" not in text
        assert not Path("/x").exists()

    async def test_an_empty_list_is_nothing(self):
        with pytest.raises(ProcessError, match="could not be started"):
            await said(SandboxPolicy(files=FilePolicy(readable=())), "echo ran")

    async def test_the_temporary_directory_is_private_and_the_sessions(self, place):
        runner = Runner()
        sandbox = Sandbox(SandboxPolicy(), runner, host=SandboxHost(environ=os.environ))
        inside = runner.within(sandbox)
        name = f"caliban-{os.getpid()}-private"
        async with sandbox.opened():
            await inside.run(Command(argv=("/usr/bin/touch", f"/tmp/{name}"), env=ENV, cwd="/"))
            assert not Path("/tmp", name).exists()
            done = await inside.run(
                Command(argv=("/bin/sh", "-c", "ls /tmp; echo $TMPDIR"), env=ENV, cwd="/")
            )
        assert name in done.stdout.text() and done.stdout.text().endswith("/tmp\n")

    async def test_input_and_merged_output_pass(self):
        assert await said(SandboxPolicy(), "cat; echo b >&2; echo c", stdin=b"a\n", merged=True) == (
            0,
            "a\nb\nc\n",
        )

    async def test_a_program_that_is_not_there_is_told_as_one(self):
        runner = Runner()
        sandbox = Sandbox(SandboxPolicy(), runner, host=SandboxHost(environ=os.environ))
        async with sandbox.opened():
            with pytest.raises(ProcessError, match="execvp nothing-like-it: No such file"):
                await runner.within(sandbox).run(Command(argv=("nothing-like-it",), env=ENV, cwd="/"))

    async def test_a_command_has_its_moment_to_end(self, place):
        script = f"trap 'echo x > {place}/w/saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
        Path(place, "w").mkdir()
        runner = Runner()
        sandbox = Sandbox(
            SandboxPolicy(files=FilePolicy(writable=(f"{place}/w",))),
            runner,
            host=SandboxHost(environ=os.environ),
        )
        command = Command(argv=("/bin/sh", "-c", script), env=ENV, cwd="/", marker="MARK", grace_s=60)
        async with sandbox.opened(), runner.within(sandbox).start(command) as process:
            assert await process.receive() == b"ready\n"
            await process.stop()
        assert Path(place, "w", "saved").exists() and process.exit_code == 3

    async def test_no_loader_variable_reaches_the_program_that_holds_the_sandbox(self):
        kept, moved = inner_environment(
            {"A": "1", "LD_PRELOAD": "./x.so", "GCONV_PATH": ".", "DISPLAY": ":0"}, unix_sockets=False
        )
        assert {"A": "1"}.items() <= kept.items() and not {
            "LD_PRELOAD",
            "GCONV_PATH",
            "DISPLAY",
        } & kept.keys()
        assert moved == ("--setenv", "LD_PRELOAD", "./x.so", "--setenv", "GCONV_PATH", ".")

    async def test_links_that_are_exchanged_while_commands_run_lead_nowhere(self, place):
        """Races: directories of the workspace are swapped for links while others write through them."""
        for name in ("w/d", "outside"):
            Path(place, name).mkdir(parents=True)
        Path(place, "outside", "key").write_text("CANARY")
        policy = SandboxPolicy(
            files=FilePolicy(
                writable=(f"{place}/w",),
                hidden=(f"{place}/outside/key", f"{place}/w/s/key"),
                protected=(f"{place}/w/p/q",),
            )
        )
        Path(place, "w", "s").mkdir()
        Path(place, "w", "s", "key").write_text("CANARY")
        swaps = f"mv d e; ln -sfn {place}/outside d; rm -f d; mv e d; mv s t; mv p r"
        uses = "echo x > d/planted; cat d/key s/key t/key; echo x > p/q"
        swap, use = (f"i=0; while [ $i -lt 60 ]; do {what}; i=$((i+1)); done" for what in (swaps, uses))
        runner = Runner()
        sandbox = Sandbox(policy, runner, host=SandboxHost(environ=os.environ))
        inside, texts = runner.within(sandbox), []

        async def run(script: str) -> None:
            done = await inside.run(Command(argv=("/bin/sh", "-c", script), env=ENV, cwd=f"{place}/w"))
            texts.append(done.stdout.text() + done.stderr.text())

        async with sandbox.opened(), anyio.create_task_group() as group:
            for script in (swap, use, swap, use):
                group.start_soon(run, script)
        assert not any("CANARY" in text for text in texts)
        assert sorted(os.listdir(f"{place}/outside")) == ["key"]
        assert not Path(place, "w", "p").exists() and not Path(place, "w", "r").exists()


class TestGhosts:
    def test_they_go_with_the_last_who_holds_them(self, place):
        first, second = Ghosts(), Ghosts()
        assert first.hold(f"{place}/.x") and second.hold(f"{place}/.x")
        first.close()
        assert Path(place, ".x").is_dir()
        second.close()
        assert not Path(place, ".x").exists()

    def test_what_a_crash_left_is_put_away(self, place):
        left, later = Ghosts(), Ghosts()
        left.hold(f"{place}/a")
        left.hold(f"{place}/a/b")
        for _, number, _ in left._held:
            os.close(number)
        later.hold(f"{place}/a")
        later.hold(f"{place}/a/b")
        later.close()
        assert os.listdir(place) == []

    def test_what_somebody_has_put_there_stays(self, place):
        Path(place, "theirs").mkdir()
        ghosts = Ghosts()
        for name in ("theirs", "filled", "written"):
            ghosts.hold(f"{place}/{name}", "." if name == "written" else None)
        Path(place, "filled", "file").write_text("x")
        Path(place, "written").write_text("more")
        ghosts.close()
        assert sorted(os.listdir(place)) == ["filled", "theirs", "written"]

    def test_nothing_is_made_where_nothing_can_be(self, place):
        Path(place, "file").write_text("x")
        ghosts = Ghosts()
        assert not ghosts.hold(f"{place}/file/x") and not ghosts.hold(f"{place}/no/x")
        ghosts.close()
        assert os.listdir(place) == ["file"]


NAMES = st.sampled_from(["a", "b", ".git", "a/b", "a/.git", "a/b/c", "b/a", ".x", "a/.x/y"])
PATHS = st.lists(NAMES, max_size=3, unique=True)


@needs_bwrap
@settings(
    max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(there=PATHS, writable=PATHS, protected=PATHS, hidden=PATHS, linked=st.booleans())
@example(there=["a"], writable=["a", "a/b"], protected=[], hidden=["a/b/c"], linked=False)
@example(there=["a"], writable=["a/b", "a"], protected=["a/b/c"], hidden=[], linked=False)
def test_no_write_gets_through_that_the_policy_does_not_allow(there, writable, protected, hidden, linked):
    """A generated policy over a generated tree: afterwards only what may change has changed."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="caliban-law-") as folder:
        top = os.path.realpath(folder)
        for name in there:
            Path(top, name).mkdir(parents=True, exist_ok=True)
            Path(top, name, "file").write_text("x")
        if linked and "a" not in there and not any(name.startswith("a/") for name in there):
            Path(top, "a").symlink_to("/etc")
        policy = SandboxPolicy(
            files=FilePolicy(
                writable=tuple(
                    f"{top}/{name}"
                    for name in writable
                    if os.path.realpath(f"{top}/{name}") == f"{top}/{name}"
                ),
                protected=tuple(f"{top}/{name}" for name in protected),
                hidden=tuple(f"{top}/{name}" for name in hidden),
            )
        )
        before = tree(top)
        script = (
            f"cd {top}; for n in a b .git .x a/b a/.git a/b/c b/a a/.x a/.x/y .git/hooks; do "
            "mv $n $n.moved; rm -rf $n; mkdir -p $n; echo evil > $n/evil; "
            "echo evil > $n/file; echo evil > $n; ln -s /etc $n; done"
        )
        try:
            anyio.run(said, policy, script)
        except ProcessError:
            pass  # a link in the way: the call was refused
        changed = {
            path for path in before.keys() | tree(top).keys() if before.get(path) != tree(top).get(path)
        }
        for path in changed:
            assert allowed(path, policy.files), (path, policy.files)


def tree(top: str) -> dict[str, str]:
    entries = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = f"{folder}/{name}"
            entries[path] = (
                os.readlink(path)
                if os.path.islink(path)
                else "/"
                if os.path.isdir(path)
                else Path(path).read_text()
            )
    return entries


def allowed(path: str, files: FilePolicy) -> bool:
    """Whether the deepest path of the policy at or above `path` is a writable one."""

    def depth(roots: tuple[str, ...]) -> int:
        return max((len(root) for root in roots if path == root or path.startswith(root + "/")), default=-1)

    repositories = tuple(
        f"{path}/{name}" for path in files.protected if path.endswith("/.git") for name in ("hooks",)
    )
    plain = tuple(path for path in files.protected if not path.endswith("/.git"))
    closed = max(depth(plain), depth(files.hidden), depth(repositories))
    return depth(files.writable) > closed


class TestTheRest:
    @pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
    def test_the_filter_is_whole_instructions_with_jumps_inside(self, machine):
        for unix in (False, True):
            program = seccomp_filter(machine, unix_sockets=unix)
            count = len(program) // 8
            assert len(program) % 8 == 0 and count < 40
            for place in range(count):
                then, otherwise = program[8 * place + 2], program[8 * place + 3]
                assert place + 1 + max(then, otherwise) < count or program[8 * place] == 0x06

    def test_an_unknown_machine_has_no_sandbox(self):
        with pytest.raises(SandboxUnavailable, match="riscv64"):
            seccomp_filter("riscv64", unix_sockets=False)

    @pytest.mark.parametrize(
        ("platform", "word"), [("win32", "Windows"), ("cygwin", "Windows"), ("freebsd14", "freebsd14")]
    )
    def test_other_systems_are_named(self, platform, word):
        with pytest.raises(SandboxUnavailable, match=f"no sandbox for {word}"):
            find_bubblewrap(SandboxPolicy(), {}, platform)

    def test_a_backend_in_what_programs_may_write_is_not_taken_from_the_path(self, place, monkeypatch):
        own = Path(place, "bwrap")
        own.write_text("#!/bin/sh\n")
        own.chmod(0o755)
        monkeypatch.setattr("caliban_sandbox.backend.USUAL", ())
        with pytest.raises(SandboxUnavailable, match="not installed"):
            find_bubblewrap(
                SandboxPolicy(files=FilePolicy(writable=(place,))), {"PATH": f"{place}:.:"}, "linux"
            )

    @pytest.mark.parametrize("text", ["", "bwrap 1", "bubblewrap x.y", "bubblewrap", "\0" * 9])
    def test_garbage_is_no_version(self, text):
        assert version_of(text) is None

    @pytest.mark.parametrize(
        ("output", "kind"),
        [
            ("touch: cannot touch '/x': Read-only file system", "write"),
            ("OSError: [Errno 30] EROFS", "write"),
            ("curl: (6) Could not resolve host: a.example", "network"),
            ("connect: Network is unreachable", "network"),
            ("mv: cannot move '.git' to 'g': Device or resource busy", "right"),
            ("cat: /home/u/.ssh/id: No such file or directory", "read"),
            ("sh: /w/.envrc: Is a directory", "write"),
            ("dial unix /run/docker.sock: operation not permitted", "socket"),
        ],
    )
    def test_what_was_refused_is_recognised(self, output, kind):
        policy = SandboxPolicy(
            files=FilePolicy(hidden=("/home/u/.ssh",), writable=("/w",), protected=("/w/.envrc",))
        )
        denial = find_denial(output, policy)
        assert denial is not None and denial.kind == kind
        assert "--" not in denial.words and "sandbox" in denial.words

    @pytest.mark.parametrize("output", ["", "1 failed", "cat: /w/x: No such file or directory", "\0" * 99])
    def test_other_failures_are_not_the_sandbox(self, output):
        policy = SandboxPolicy(files=FilePolicy(hidden=("/home/u/.ssh",), protected=("/w/.envrc",)))
        assert find_denial(output, policy) is None

    def test_stores_are_below_home_and_the_directories_of_xdg(self):
        stores = credential_stores("/h", "/c", "/d")
        assert {"/h/.ssh", "/h/.aws", "/c/gh", "/d/keyrings", "/h/.bash_history"} <= set(stores)
        assert all(store.startswith(("/h/", "/c/", "/d/", "/etc/", "/var/", "/run/")) for store in stores)


@needs_bwrap
def test_a_host_that_is_killed_leaves_nothing(place):
    """`kill -9` of the process that started it: the whole sandbox goes, markers or not."""
    program = (
        "import anyio, os, sys\n"
        "from caliban_process import Command, Runner\n"
        "from caliban_sandbox import FilePolicy, Sandbox, SandboxHost, SandboxPolicy\n"
        "async def main():\n"
        "    runner = Runner()\n"
        f"    policy = SandboxPolicy(files=FilePolicy(writable=({place!r},)))\n"
        "    sandbox = Sandbox(policy, runner, host=SandboxHost(environ=os.environ))\n"
        "    script = 'setsid -f sleep 98765; (env -i setsid sleep 98765 &); echo ready; sleep 98765'\n"
        "    command = Command(argv=('/bin/sh', '-c', script), env={'PATH': '/usr/bin:/bin'}, cwd='/')\n"
        "    async with runner.within(sandbox).start(command) as process:\n"
        "        print((await process.receive()).decode(), flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None and host.stdout.readline() == "ready\n"
            assert sleepers()
        finally:
            host.kill()
    wait_until(lambda: not sleepers())


def sleepers() -> list[str]:
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"sleep\x0098765" in path.read_bytes():
                pids.append(path.parent.name)
        except OSError:
            continue
    return pids
