"""Attacks on the sandbox, through the real command: each tries for real what must be contained."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from command_kit import opened
from sandbox_kit import ANY, ON, bash, calls, needs_bwrap, place_outside_tmp, sandboxed_cli

from caliban_provider_anthropic.testing.strict import StrictValidator

PWNED = Path("/tmp/PWNED")
STRICT = (
    ON
    + """
[sandbox.filesystem]
allow_write = ["${WORKSPACE}"]
deny_read = ["${HOME}/.ssh"]
deny_write = ["${WORKSPACE}/.git/hooks"]
"""
)


@pytest.fixture
def cli():
    PWNED.unlink(missing_ok=True)
    with sandboxed_cli(STRICT) as command:
        (command.home / ".ssh").mkdir()
        (command.home / ".ssh" / "id_rsa").write_text("CANARY-key")
        (command.home / ".bashrc").write_text("# mine\n")
        yield command
    assert not PWNED.exists()


def py(program: str) -> str:
    """A command that runs a Python program."""
    return f"{os.path.realpath(sys.executable)} -I -S - <<'END'\n{program}\nEND"


CONTAINED = [
    pytest.param(
        "ssh-add -L; gpg-connect-agent /bye; dbus-send --session --dest=a / a.b.Ping; env | "
        "grep -E 'SSH_AUTH|DBUS|GPG_AGENT|XDG_RUNTIME' || echo UNSET",
        "UNSET",
        id="s675",
    ),
    pytest.param(
        "umount ~/.ssh; cat ~/.ssh/id_rsa; grep -c 'CapEff:.0000000000000000' /proc/self/status",
        "1",
        id="s676",
    ),
    pytest.param("ls /proc/self/fd | wc -l; cat <&7", "4", id="s677"),
    pytest.param(
        py(
            "import fcntl, termios\n"
            "for number in (0, 1, 2):\n"
            "    try:\n"
            "        fcntl.ioctl(number, termios.TIOCSTI, b'x')\n"
            "        print('TYPED')\n"
            "    except OSError as error: print('refused', error.errno)\n"
            "try: open('/dev/tty')\n"
            "except OSError: print('NO TERMINAL')"
        ),
        "NO TERMINAL",
        id="s679",
    ),
    pytest.param(
        'unshare -Urm sh -c "umount ~/.ssh || mount --bind / /mnt; cat ~/.ssh/id_rsa"', "", id="s681"
    ),
    pytest.param(
        "unshare -r id; unshare -n true; bwrap --ro-bind / / cat ~/.ssh/id_rsa", "", id="s681-other"
    ),
    pytest.param("echo x > /dev/shm/caliban-leak; ls /dev/shm", "caliban-leak", id="s682"),
    pytest.param(
        'curl -m 2 --noproxy "*" http://1.1.1.1; HTTPS_PROXY= curl -m 2 https://evil.example', "", id="s691"
    ),
    pytest.param(
        "LD_PRELOAD=./evil.so ls; /lib64/ld-linux-x86-64.so.2 /bin/cat ~/.ssh/id_rsa", "", id="s706"
    ),
    pytest.param(
        "cat ~/.ssh/../.ssh/id_rsa; cat /proc/self/root/$HOME/.ssh/id_rsa; cd ~/.ssh && cat id_rsa",
        "",
        id="read-other-names",
    ),
    pytest.param(
        "ln ~/.ssh/id_rsa key; ln -s ~/.ssh s; cat key s/id_rsa; cp -r ~/.ssh c; cat c/id_rsa",
        "",
        id="read-links",
    ),
    pytest.param(
        "cat /proc/*/environ | tr '\\0' '\\n' | grep -a test-key; cat /proc/[0-9]*/root$HOME/.ssh/id_rsa",
        "",
        id="proc",
    ),
    pytest.param(
        "echo x > /proc/sys/kernel/core_pattern; echo x > /proc/sys/kernel/hostname; cat "
        "/proc/sys/kernel/core_pattern",
        "",
        id="sysctl",
    ),
    pytest.param(
        "sudo -n true; su -c true; mount -t tmpfs x /mnt; mknod n b 8 0; chroot / true", "", id="rights"
    ),
    pytest.param(
        py(
            "import socket\n"
            "for family in ('AF_UNIX', 'AF_VSOCK', 'AF_PACKET', 'AF_ALG'):\n"
            "    try: socket.socket(getattr(socket, family), socket.SOCK_STREAM); print('MADE', family)\n"
            "    except OSError as error: print('refused', error.errno)\n"
            "a, b = socket.socketpair(); a.send(b'x'); print('PAIR', b.recv(1))"
        ),
        "PAIR b'x'",
        id="sockets",
    ),
]


@pytest.fixture(scope="module")
def answers():
    """What all of them print, run side by side in one run."""
    core = Path("/proc/sys/kernel/core_pattern").read_text()
    with sandboxed_cli(STRICT) as cli:
        (cli.home / ".ssh").mkdir()
        (cli.home / ".ssh" / "id_rsa").write_text("CANARY-key")
        (cli.home / ".bashrc").write_text("# mine\n")
        _, texts = bash(cli, *(row.values[0] for row in CONTAINED))
        assert (cli.home / ".bashrc").read_text() == "# mine\n"
    assert Path("/proc/sys/kernel/core_pattern").read_text() == core
    assert not Path("/dev/shm/caliban-leak").exists()
    return {row.id: text for row, text in zip(CONTAINED, texts, strict=True)}


@needs_bwrap
@pytest.mark.parametrize(("command", "wanted"), CONTAINED)
def test_a_command_stays_where_it_is(answers, request, command, wanted):
    text = answers[request.node.callspec.id]
    shown = text.partition("→ Stdout:")[2]
    assert text.startswith("→ Bash command: " + command[:20])
    assert "CANARY" not in shown and "test-key" not in shown
    assert "TYPED" not in shown and "MADE" not in shown
    assert wanted in shown


@needs_bwrap
def test_s667_what_a_command_plants_no_file_tool_follows(cli):
    linked, written = calls(
        cli,
        ("Bash", {"command": f"ln -s {cli.home}/.bashrc notes.md && echo linked"}),
        ("Write", {"path": "notes.md", "content": "touch /tmp/PWNED"}),
    )
    assert "linked" in linked
    assert "outside" in written or "link" in written
    assert (cli.home / ".bashrc").read_text() == "# mine\n"


def repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=folder,
        check=True,
    )


@needs_bwrap
def test_s668_a_protected_name_is_looked_up_anew_for_each_call(cli):
    repository(cli.work)
    made, planted, _ = calls(
        cli,
        ("Bash", {"command": "mkdir -p .caliban; ln -s ../.git/hooks .caliban/commands; ls -A .caliban"}),
        (
            "Bash",
            {"command": "cp /bin/true .caliban/commands/pre-commit; cp /bin/true .git/hooks/pre-commit"},
        ),
        ("Bash", {"command": "rm -rf .caliban; mv .git g; ln -s /etc .caliban; ls -la"}),
    )
    assert "cannot" in made + planted
    assert not (cli.work / ".git" / "hooks" / "pre-commit").exists()
    assert not (cli.work / ".caliban").exists() and (cli.work / ".git").is_dir()


@needs_bwrap
def test_s668_a_link_at_a_protected_name_refuses_the_call(cli):
    (cli.work / ".caliban").symlink_to("/etc")
    _, (text,) = bash(cli, "echo ran")
    assert "the sandbox cannot hold" in text and ".caliban is a link" in text
    assert "\nran" not in text


@needs_bwrap
@pytest.mark.parametrize(
    "name", ["${HOME}/vault/", "~/vault", "${HOME}/x/../vault/."], ids=["s669", "tilde", "dots"]
)
def test_what_is_denied_for_reading_is_hidden_however_it_is_spelled(name):
    with sandboxed_cli(f'{ON}[sandbox.filesystem]\ndeny_read = ["{name}"]\n') as cli:
        (cli.home / "vault").mkdir()
        (cli.home / "vault" / "credentials").write_text("CANARY")
        _, (text,) = bash(cli, "cat ~/vault/credentials; ls ~/vault; grep -r CAN ~/vault")
        assert "CANARY" not in text.partition("→ Stdout:")[2]


@needs_bwrap
def test_s672_nothing_is_made_for_what_is_not_there():
    with sandboxed_cli(f'{ON}[sandbox.filesystem]\ndeny_read = ["${{HOME}}/.nope"]\n') as cli:
        before = sorted(path.name for path in cli.home.iterdir())
        _, (text,) = bash(cli, "ls -a ~")
        assert ".nope" not in text
        assert sorted(set(os.listdir(cli.home)) - set(before)) in (
            [".caliban", ".local"],
            [".cache", ".caliban", ".local"],
        )
        assert not (cli.home / ".nope").exists()


@needs_bwrap
def test_s673_hard_links_are_a_limit_that_doctor_names(cli):
    (cli.home / "outside").write_text("x")
    os.link(cli.home / "outside", cli.work / "link.txt")
    row = next(line for line in cli.run("doctor").out.splitlines() if "sandbox" in line)
    assert "hard links" in row and "link.txt" in row


@needs_bwrap
def test_s692_without_a_sandbox_nothing_is_allowed_for_it():
    settings = (
        '[sandbox]\nenabled = true\nauto_allow_bash_if_sandboxed = true\nbwrap_path = "/nowhere/bwrap"\n'
    )
    with sandboxed_cli(settings) as cli:
        assert cli.run("perms", "test", "Bash", '{"command": "make"}').code == 2
        done, (text,) = bash(cli, "make", flags=())
        assert "denied" in text
        assert "WITHOUT A SANDBOX" in done.err + done.out


@pytest.mark.parametrize("required", ["fail_if_unavailable = true", ""], ids=["s693", "flag"])
def test_a_sandbox_that_does_not_hold_ends_the_start(required):
    """A program of that name that holds nothing: the version alone proves nothing."""
    with place_outside_tmp() as folder, opened(folder, StrictValidator()) as cli:
        fake = folder / "bwrap"
        fake.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && echo "bubblewrap 0.9.0" && exit\n'
            'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
        )
        fake.chmod(0o755)
        cli.configure(f'[sandbox]\nenabled = true\nbwrap_path = "{fake}"\n{required}\n')
        done = cli.run("-p", "hi", *(() if required else ("--sandbox",)))
        assert done.code == 78
        assert "does not hold here: " in done.err and "can be read" in done.err
        assert cli.server.requests == ()


AUTO = "[sandbox]\nenabled = true\nauto_allow_bash_if_sandboxed = true\n"
VERDICTS = [
    pytest.param(AUTO, "make", 0, id="auto-allow"),
    pytest.param(AUTO, 'for f in *.py; do python3 -m py_compile "$f"; done', 0, id="s914"),
    pytest.param(AUTO, 'x=$(date +%s); echo "$x" > log.txt', 0, id="s914-opaque"),
    pytest.param(
        AUTO + 'allow_unsandboxed_commands = ["git"]\n', "git -c core.fsmonitor=./x status", 2, id="s694"
    ),
    pytest.param(AUTO + 'allow_unsandboxed_commands = ["git"]\n', "git push", 2, id="s694-plain"),
    pytest.param(AUTO + 'allow_unsandboxed_commands = ["git"]\n', "git push; make", 0, id="s695-stays-in"),
    pytest.param(AUTO + 'allow_unsandboxed_commands = ["git"]\n', "A=1 git push", 0, id="s696-stays-in"),
    pytest.param(AUTO + '[permissions]\ndeny = ["Bash:~rm *"]\n', "rm -rf build", 1, id="s698"),
    pytest.param(AUTO + '[permissions]\nask = ["Bash:git push*"]\n', "git push origin main", 2, id="s699"),
    pytest.param(AUTO, "rm -rf ~", 2, id="s700"),
    pytest.param(AUTO, "touch .git/hooks/x", 2, id="s700-protected"),
    pytest.param(AUTO + "enable_weaker_nested_sandbox = true\n", "make", 2, id="s718-user"),
    pytest.param(
        AUTO + 'allow_unsandboxed_commands = ["docker"]\n',
        "docker run --privileged -v /:/host alpine sh",
        2,
        id="s927",
    ),
]


@needs_bwrap
@pytest.mark.parametrize(("settings", "command", "code"), VERDICTS)
def test_what_is_allowed_for_the_sandbox_is_what_runs_in_it(settings, command, code):
    with sandboxed_cli(settings) as cli:
        done = cli.run("perms", "test", "Bash", json.dumps({"command": command}))
        assert done.code == code, done.out + done.err


WHERE = "grep -c ^Seccomp:.2 /proc/self/status"


@needs_bwrap
@pytest.mark.parametrize(
    ("command", "inside"),
    [
        pytest.param(f"{WHERE}", False, id="s695-alone"),
        pytest.param(f"true; {WHERE}", True, id="s695"),
        pytest.param(f"A=1 {WHERE}", True, id="s696"),
        pytest.param(f"PATH=./bin:$PATH {WHERE}", True, id="s696-path"),
        pytest.param(f"{WHERE} > out; cat out", True, id="s695-redirect"),
        pytest.param(f"echo $({WHERE})", True, id="s695-substitution"),
        pytest.param(f"env {WHERE}", True, id="s695-wrapper"),
        pytest.param(f"{WHERE} | cat", True, id="s695-pipe"),
        pytest.param(f"grep() {{ command {WHERE}; }}; grep", True, id="s695-function"),
    ],
)
def test_a_command_leaves_the_sandbox_only_as_a_whole(command, inside):
    with sandboxed_cli(ON + 'allow_unsandboxed_commands = ["grep"]\n') as cli:
        _, (text,) = bash(cli, command)
        assert ("\n1\n" in text.partition("→ Stdout:")[2]) == inside, text


@needs_bwrap
def test_a_program_of_the_workspace_stays_in():
    with sandboxed_cli(ON + 'allow_unsandboxed_commands = ["tool", "./tool"]\n') as cli:
        tool = cli.work / "tool"
        tool.write_text(f"#!/bin/sh\n{WHERE}\n")
        tool.chmod(0o755)
        _, (text,) = bash(cli, "./tool")
        assert "\n1\n" in text.partition("→ Stdout:")[2]


@needs_bwrap
@pytest.mark.parametrize(
    "field",
    ["dangerously_disable_sandbox", "dangerouslyDisableSandbox", "sandbox", "sandboxed", "unsandboxed"],
)
def test_s701_no_field_of_the_input_leaves_the_sandbox(cli, field):
    for value in (True, False, "no"):
        (text,) = calls(cli, ("Bash", {"command": WHERE, field: value}))
        assert "\n0\n" not in text.partition("→ Stdout:")[2]
        assert "unknown" in text or "\n1\n" in text


@needs_bwrap
def test_s703_paths_in_the_input_open_nothing(cli):
    (cli.home / "out.txt").write_text("a")
    path = f"../{cli.home.name}/out.txt"
    edited, ran = calls(
        cli,
        ("Edit", {"path": path, "old_string": "a", "new_string": "b"}),
        ("Bash", {"command": "echo b > out.txt", "cwd": str(cli.home)}),
        flags=(*ANY, "--no-restrict-paths"),
    )
    assert "Read-only file system" in ran
    assert (cli.home / "out.txt").read_text() in ("a", "b")  # without the fence, Edit is the person's choice
    (cli.home / "out.txt").write_text("a")
    calls(cli, ("Edit", {"path": path, "old_string": "a", "new_string": "b"}))
    assert (cli.home / "out.txt").read_text() == "a"
    del edited


@needs_bwrap
def test_s705_the_sandbox_itself_cannot_be_written(cli):
    runtime = cli.home / "run"
    (runtime / "caliban" / "sandbox").mkdir(parents=True)
    cli.extra["XDG_RUNTIME_DIR"] = str(runtime)
    _, (text,) = bash(
        cli, f'echo "(allow default)" > {runtime}/caliban/sandbox/x.sb; cp /bin/true $(command -v bwrap)'
    )
    assert not (runtime / "caliban" / "sandbox" / "x.sb").exists()
    assert "cannot create" in text or "Read-only" in text


@needs_bwrap
def test_s705_a_backend_that_commands_can_write_is_refused():
    with sandboxed_cli(ON) as cli:
        own = cli.work / "bwrap"
        own.write_bytes(Path("/usr/bin/bwrap").read_bytes())
        own.chmod(0o755)
        cli.configure(f'{ON}bwrap_path = "{own}"\n')
        _, (text,) = bash(cli, "echo ran")
        assert "which the programs that it holds may write" in text and "\nran" not in text


@needs_bwrap
def test_s707_nothing_survives_a_call(cli, tmp_path):
    mark = f"sleep 4{os.getpid()}"
    _, (text,) = bash(
        cli, f"(setsid {mark} &); (while :; do ln -sfn ~/.ssh d; ln -sfn . d; done &) ; echo over"
    )
    assert "over" in text
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(mark.encode().replace(b" ", b"\0") in command for command in commands)


@needs_bwrap
def test_s714_what_other_programs_run_later_cannot_be_planted(cli):
    repository(cli.work)
    (cli.work / ".vscode").mkdir()
    names = [
        ".vscode/tasks.json",
        ".idea/w.xml",
        ".envrc",
        ".devcontainer/devcontainer.json",
        ".pre-commit-config.yaml",
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/commondir",
        ".git/info/attributes",
        ".github/workflows/x.yml",
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".caliban/settings.toml",
        ".bashrc",
        ".zed/tasks.json",
        ".husky/pre-commit",
    ]
    (cli.work / "plan").write_text("\n".join(names))
    before = {name: (cli.work / name).read_bytes() if (cli.work / name).is_file() else None for name in names}
    bash(cli, 'while read -r name; do mkdir -p "$(dirname "$name")"; printf x > "$name"; done < plan')
    after = {name: (cli.work / name).read_bytes() if (cli.work / name).is_file() else None for name in names}
    assert after == before
    _, (text,) = bash(
        cli,
        "git status --short; git add -A; git -c user.name=a -c user.email=a@b commit -qm y; git log "
        "--oneline | wc -l",
    )
    assert "\n2\n" in text  # git itself works
    assert sorted(os.listdir(cli.work)) in (
        [".git", ".github", ".vscode", "plan"],
        [".git", ".vscode", "plan"],
    )


@needs_bwrap
def test_s716_a_linked_worktree_opens_no_more_of_its_repository(cli):
    main = cli.home / "main"
    main.mkdir()
    repository(main)
    subprocess.run(["git", "worktree", "add", "-q", str(cli.work / "tree")], cwd=main, check=True)
    config = (main / ".git" / "config").read_bytes()
    flags = (*ANY, "--workspace", str(cli.work / "tree"))
    _, (text,) = bash(
        cli,
        'common=$(git rev-parse --git-common-dir); echo x > "$common/config"; '
        'echo x > "$common/hooks/post-commit"; echo x > "$common/commondir"; '
        "echo evil > .git; echo a > a; git add a; "
        "git -c user.name=a -c user.email=a@b commit -qm y && echo COMMITTED",
        flags=flags,
    )
    assert (main / ".git" / "config").read_bytes() == config
    assert (
        not (main / ".git" / "hooks" / "post-commit").exists() and not (main / ".git" / "commondir").exists()
    )
    assert "COMMITTED" in text


@needs_bwrap
def test_s716_a_file_that_only_says_it_is_a_worktree_opens_nothing(cli):
    other = cli.home / "other"
    other.mkdir()
    repository(other)
    (cli.work / ".git").write_text(f"gitdir: {other}/.git\n")
    _, (text,) = bash(
        cli, f"echo x > {other}/.git/objects/x; echo x > {other}/.git/HEAD; touch {other}/.git/refs/x"
    )
    assert "Read-only file system" in text
    assert not (other / ".git" / "objects" / "x").exists() and not (other / ".git" / "refs" / "x").exists()


@needs_bwrap
def test_s717_a_repository_built_inside_runs_nothing_outside(cli):
    calls(
        cli,
        (
            "Bash",
            {
                "command": "printf '[core]\\nbare=true\\nfsmonitor=./x\\n' > sub-config; mkdir -p "
                "sub/objects sub/refs; "
                "mv sub-config sub/config; echo 'ref: refs/heads/m' > sub/HEAD; "
                "printf '#!/bin/sh\\ntouch /tmp/PWNED\\n' > sub/x; chmod +x sub/x"
            },
        ),
        ("Glob", {"pattern": "**/*", "path": "sub"}),
    )
    assert cli.run("doctor").code in (0, 1)


@needs_bwrap
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("enable_weaker_nested_sandbox = true", id="s718"),
        pytest.param("enabled = false", id="off"),
        pytest.param("auto_allow_bash_if_sandboxed = true", id="auto-allow"),
        pytest.param('allow_unsandboxed_commands = ["grep"]', id="unsandboxed"),
        pytest.param('bwrap_path = "./bwrap"', id="backend"),
        pytest.param('[sandbox.filesystem]\nallow_write = ["/etc"]', id="allow-write"),
        pytest.param('[sandbox.filesystem]\nallow_read = ["/"]', id="allow-read"),
        pytest.param("[sandbox.network]\nallow_unix_sockets = true", id="sockets"),
        pytest.param('[sandbox.network]\nallowed_domains = ["evil.example"]', id="hosts"),
    ],
)
def test_a_repository_does_not_open_the_sandbox(cli, text):
    """Nor when it is trusted (security.md TM5)."""
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text(f"[sandbox]\n{text}\n")
    done, (shown,) = bash(
        cli, f"{WHERE}; unshare -r true; touch /etc/caliban-x", flags=(*ANY, "--trust-project")
    )
    assert "\n1\n" in shown and "unshare failed" in shown and not Path("/etc/caliban-x").exists()
    assert "may" in done.err + done.out


@needs_bwrap
def test_a_repository_closes_more(cli):
    cli.configure("")
    (cli.work / ".caliban").mkdir()
    (cli.work / "secret").write_text("CANARY")
    (cli.work / ".caliban" / "settings.toml").write_text(
        "[sandbox]\nenabled = true\n[sandbox.filesystem]\ndeny_read = ['secret']\ndeny_write = ['kept']\n"
    )
    _, (text,) = bash(
        cli, "cat secret; ln secret s2; mv secret s3; cat s2 s3; mkdir kept; echo x > kept; echo END"
    )
    assert "CANARY" not in text and "END" in text
    assert (cli.work / "secret").read_text() == "CANARY" and not (cli.work / "kept").exists()


@needs_bwrap
def test_sockets_with_a_path_are_closed_and_opened_by_a_person_only(cli):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(cli.home / "docker.sock"))
        server.listen()
        path = f"{cli.home}/docker.sock"
        program = py(f"import socket\nsocket.socket(socket.AF_UNIX).connect({path!r}); print('REACHED')")
        assert "REACHED" not in bash(cli, program)[1][0].partition("→ Stdout:")[2]
        cli.configure(f"{ON}[sandbox.network]\nallow_unix_sockets = true\n")
        assert "\nREACHED" in bash(cli, program)[1][0].partition("→ Stdout:")[2]


@needs_bwrap
def test_the_network_of_the_host_is_not_reached(cli):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo REACHED"
        _, (text,) = bash(cli, f"{reach}; getent hosts example.com && echo NAMED; echo END")
    assert "\nREACHED" not in text and "\nNAMED" not in text and "END" in text


class Answers(BaseHTTPRequestHandler):
    """The same answer for everybody."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ANSWER")

    def log_message(self, *words):
        pass


@contextmanager
def answering():
    """The port of a server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def fetch(*urls: str, env: str = "") -> str:
    """A command that asks for each, by the proxy of the environment, and prints what comes."""
    return py(
        f"import os, socket, urllib.request\n{env}\n"
        f"for url in {urls!r}:\n"
        "    try: print(url, urllib.request.urlopen(url, timeout=20).read()[:20])\n"
        "    except Exception as error: print(url, 'NOT', error)\n"
        "try: socket.socket(socket.AF_UNIX); print('MADE')\n"
        "except OSError: print('CLOSED')"
    )


@needs_bwrap
def test_s687_hosts_are_compared_by_whole_labels_and_nothing_else_is_reached():
    settings = f'{ON}[sandbox.network]\nallowed_domains = ["example.invalid"]\n'
    with sandboxed_cli(settings) as cli:
        names = ("evilexample.invalid", "example.invalid.evil.example", "EXAMPLE.invalid.", "1.1.1.1")
        done, (text,) = bash(cli, fetch(*(f"http://{name}/" for name in names)))
        assert any("evilexample.invalid" in frame.get("message", "") for frame in done.frames)
        shown = text.partition("→ Stdout:")[2]
        assert "evilexample.invalid/ NOT HTTP Error 403" in shown
        assert "evil.example/ NOT HTTP Error 403" in shown
        assert "EXAMPLE.invalid./ NOT HTTP Error 502" in shown  # allowed, and no such host
        assert "1.1.1.1/ NOT HTTP Error 403" in shown
        assert "CLOSED" in shown and "MADE" not in shown


@needs_bwrap
def test_s689_an_allowed_name_that_is_this_machine_is_refused_unless_it_is_private():
    with sandboxed_cli(
        f'{ON}[sandbox.network]\nallowed_domains = ["localhost.localdomain", "127.0.0.1"]\n'
    ) as cli:
        _, (text,) = bash(
            cli, fetch("http://127.0.0.1:80/", env="del os.environ['NO_PROXY'], os.environ['no_proxy']")
        )
        assert "NOT HTTP Error 403" in text


@pytest.mark.parametrize(
    "host", ["::1", "1:2::3:443", "*", "http://a.example", "a.example:443", "*.*.example"]
)
def test_s690_a_host_that_is_none_ends_the_start(host):
    with place_outside_tmp() as folder, opened(folder, StrictValidator()) as cli:
        cli.configure(f'{ON}[sandbox.network]\nallowed_domains = ["{host}"]\n')
        done = cli.run("-p", "hi")
        assert done.code == 78 and "sandbox.network.allowed_domains" in done.err
        assert cli.server.requests == ()


@needs_bwrap
def test_s691_a_proxy_of_the_operator_is_the_only_way_out():
    with answering() as port, sandboxed_cli(f"{ON}[sandbox.network]\nhttp_proxy_port = {port}\n") as cli:
        _, (by, around) = bash(
            cli,
            fetch("http://any.example/"),
            fetch("http://any.example/", env="del os.environ['http_proxy'], os.environ['HTTP_PROXY']"),
        )
        assert "any.example/ b'ANSWER'" in by
        assert "any.example/ NOT" in around
