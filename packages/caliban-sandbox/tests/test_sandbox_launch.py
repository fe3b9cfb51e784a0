"""The bridge inside of a real sandbox without a network: the proxy is the only way out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from egress_kit import PUBLIC, Net, shut_unix_sockets
from hang_guard import HANG_S, wait_until

from caliban_sandbox import NetworkPolicy
from caliban_sandbox.egress import BRIDGE_PORT, Egress, Launch, launch, open_egress, proxy_variables

LAUNCHER = Path(launch(Egress(socket="/s")).prefix[3])
INSIDE = "/run/egress"
CURL = shutil.which("curl") or "curl"


def holds_programs() -> str | None:
    """Why no sandbox can be made here, if so."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    if shut_unix_sockets() is None:
        return "the numbers of system calls of this machine are not known here"
    tried = subprocess.run(
        ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"],
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    return None if tried.returncode == 0 else f"the system refuses namespaces: {tried.stderr.strip()}"


REFUSED = holds_programs()
in_a_sandbox = pytest.mark.skipif(REFUSED is not None, reason=REFUSED or "")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the bridge is for Linux")


class Page(BaseHTTPRequestHandler):
    """Says which host was asked for, what for, and what came with it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{self.headers['Host']} {self.path} ".encode()
        body += self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://unlisted.example/")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - as the base class names them

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def page_port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


class Inside:
    """What a program in the sandbox did, and what the proxy saw of it."""

    def __init__(self, result: subprocess.CompletedProcess[str], net: Net) -> None:
        self.status = result.returncode
        self.out = result.stdout
        self.err = result.stderr
        self.net = net


Run = Callable[..., Inside]


@pytest.fixture
def run(page_port: int, tmp_path: Path) -> Run:
    """`run(*argv)` in a sandbox that may reach `a.example`, and `home.example`, which is private."""
    policy = NetworkPolicy(allowed_hosts=("a.example", "home.example"), private_hosts=("home.example",))
    net = Net(
        {"a.example": (PUBLIC,), "home.example": ("127.0.0.1",), "unlisted.example": (PUBLIC,)}, page_port
    )
    (tmp_path / "filter").write_bytes(shut_unix_sockets() or b"")

    async def within(argv: tuple[str, ...]) -> Inside:
        async with open_egress(
            policy, log=net.refused.append, resolver=net.resolver, dial=net.dial
        ) as egress:
            way = launch(egress, socket=f"{INSIDE}/proxy", filter_path=f"{INSIDE}-filter")
            boxed = _boxed(way, str(egress.socket), str(tmp_path / "filter"), argv)
            result = await anyio.to_thread.run_sync(_run, boxed)
            return Inside(result, net)

    return lambda *argv: anyio.run(within, argv)


def _boxed(way: Launch, socket_path: str, filter_path: str, argv: tuple[str, ...]) -> list[str]:
    settings = [word for name, value in way.environment.items() for word in ("--setenv", name, value)]
    return [
        *("bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
        *("--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *("--setenv", "PATH", os.environ["PATH"], "--setenv", "LANG", "C.UTF-8", *settings),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"),
        *("--ro-bind", str(Path(socket_path).parent), INSIDE, "--ro-bind", filter_path, f"{INSIDE}-filter"),
        *("--", *way.prefix, *argv),
    ]


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_S)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", code)


@in_a_sandbox
@pytest.mark.parametrize("host", ["a.example", "home.example"])
@pytest.mark.parametrize("options", [(), ("--proxytunnel",)], ids=["plain", "tunnel"])
def test_a_listed_host_is_reached_with_curl(run, host, options):
    done = run("curl", "-sS", *options, "--data", "hello", f"http://{host}/x?y")
    assert (done.status, done.out, done.err) == (0, f"{host} /x?y hello", "")
    assert done.net.dialled == [({"a.example": PUBLIC}.get(host, "127.0.0.1"), 80)]


@in_a_sandbox
def test_a_listed_host_is_reached_with_a_library_that_reads_variables(run):
    code = "import urllib.request as r; print(r.urlopen('http://a.example/x').read().decode())"
    done = run(*python(code))
    assert (done.status, done.out.strip(), done.net.refused) == (0, "a.example /x", [])


@in_a_sandbox
@pytest.mark.parametrize(
    "url",
    [
        *("http://unlisted.example/", "http://127.0.0.1:{port}/", "http://[::1]/", "http://169.254.169.254/"),
        pytest.param("http://xa.example/", id="s687-suffix"),
        pytest.param("http://a.example.evil.example/", id="s687-prefix"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--proxytunnel",)], ids=["plain", "tunnel"])
def test_any_other_host_is_refused(run, page_port, url, options):
    done = run("curl", "-sS", "--fail", "--noproxy", "", *options, url.format(port=page_port))
    assert done.status in (22, 56)
    assert "403" in done.err
    assert (done.net.dialled, len(done.net.refused)) == ([], 1)


@in_a_sandbox
def test_a_redirect_is_a_request_like_any_other(run):
    done = run("curl", "-sS", "--fail", "--location", "http://a.example/away")
    assert (done.status, done.net.dialled) == (22, [(PUBLIC, 80)])
    assert [refused.host for refused in done.net.refused] == ["unlisted.example"]


@in_a_sandbox
@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("curl", "-sS", "--noproxy", "*", f"http://{PUBLIC}/"), id="s691-noproxy"),
        pytest.param(
            ("env", "-i", shutil.which("curl") or "curl", "-sS", "http://a.example/"), id="s691-no-variable"
        ),
        ("curl", "-sS", "--noproxy", "*", "http://127.0.0.1:{port}/"),
        ("curl", "-sS", "--noproxy", "*", "--unix-socket", f"{INSIDE}/proxy", "http://a.example/"),
    ],
)
def test_nothing_goes_past_the_proxy(run, page_port, argv):
    done = run(*(word.format(port=page_port) for word in argv))
    assert done.status in (5, 6, 7)
    assert (done.out, done.net.looked_up, done.net.dialled) == ("", [], [])


@in_a_sandbox
def test_the_program_can_make_no_unix_socket_but_what_others_need(run):
    code = (
        "import socket, asyncio\n"
        "try: socket.socket(socket.AF_UNIX); print('made')\n"
        "except PermissionError: print('refused')\n"
        "one, other = socket.socketpair(); one.send(b'x'); print(other.recv(1))\n"
        "asyncio.run(asyncio.sleep(0)); print('done')\n"
    )
    done = run(*python(code))
    assert (done.out.split("\n"), done.err) == (["refused", "b'x'", "done", ""], "")


@in_a_sandbox
def test_the_bridge_is_no_child_of_the_program_and_may_not_be_looked_into(run):
    code = (
        "import os, ctypes\n"
        "try: os.wait()\n"
        "except ChildProcessError: print('no child')\n"
        "others = {int(name) for name in os.listdir('/proc') if name.isdigit()} - {1, os.getpid()}\n"
        "number, = others\n"
        "print(b'launch.py' in open(f'/proc/{number}/cmdline', 'rb').read())\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.ptrace(16, number, None, None), ctypes.get_errno())\n"
        "for name in ('mem', 'environ'):\n"
        "    try: open(f'/proc/{number}/{name}', 'rb'); print('opened')\n"
        "    except PermissionError: print('refused')\n"
    )
    done = run(*python(code))
    assert (done.out.split(), done.err) == (["no", "child", "True", "-1", "1", "refused", "refused"], "")


@in_a_sandbox
def test_the_status_and_the_signals_of_the_program_are_its_own(run):
    assert run("sh", "-c", "exit 7").status == 7
    done = run("sh", "-c", "yes | head -n 1; grep -E 'SigIgn' /proc/self/status")
    # Only what those who started the tests had ignored: `yes` above ends of the broken pipe.
    assert done.out.split() == ["y", "SigIgn:", f"{ignored():016x}"]


@in_a_sandbox
def test_many_connections_at_once_are_bounded_and_serve_on(run):
    code = (
        "import socket, urllib.request as r\n"
        f"idle = [socket.create_connection(('127.0.0.1', {BRIDGE_PORT})) for _ in range(60)]\n"
        "print(r.urlopen('http://a.example/x').status)\n"
        f"more = [socket.create_connection(('127.0.0.1', {BRIDGE_PORT})) for _ in range(200)]\n"
        "[one.close() for one in idle + more]\n"
        "print(r.urlopen('http://a.example/x').status)\n"
    )
    done = run(*python(code))
    assert (done.out.split(), done.err) == (["200", "200"], "")


@on_linux
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--",),
        ("--", "true"),
        ("--listen", "3128", "--", "true"),
        ("--listen", "3128", "--socket", "/s", "--"),
        ("--listen", "3128", "--socket", "/s", "true"),
        ("--listen", "3128", "--socket", "--", "true"),
        ("--listen", "3128", "--listen", "3128", "--socket", "/s", "--", "true"),
        ("--listen", "3128", "--socket", "/s", "--more", "x", "--", "true"),
        *(
            ("--listen", port, "--socket", "/s", "--", "true")
            for port in ("0", "65536", "-1", "x", "", "1_0", "\u0661")
        ),
    ],
)
def test_arguments_that_are_none_run_nothing(arguments):
    done = _run([sys.executable, "-I", "-S", str(LAUNCHER), *arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("caliban-sandbox: these are no arguments ")


@on_linux
@pytest.mark.parametrize("content", [None, b"", b"x" * 7, b"\xff" * 8, b"x" * (8 * 4096 + 8)])
def test_a_filter_that_is_none_runs_nothing(content, tmp_path, free_port):
    if content is not None:
        (tmp_path / "filter").write_bytes(content)
    way = [sys.executable, "-I", "-S", str(LAUNCHER), "--listen", str(free_port), "--socket", "/s"]
    done = _run([*way, "--filter", str(tmp_path / "filter"), "--", "echo", "ran"])
    assert (done.returncode, done.stdout) == (71, "")


@on_linux
@pytest.mark.parametrize(("program", "status"), [("/nobody/there", 127), ("/", 126)])
def test_a_program_that_cannot_be_run_is_named(program, status, free_port):
    way = [sys.executable, "-I", "-S", str(LAUNCHER), "--listen", str(free_port), "--socket", "/s"]
    done = _run([*way, "--", program])
    assert done.returncode == status
    assert done.stderr.startswith(f"caliban-sandbox: {program}: ")


@on_linux
def test_the_bridge_ends_with_the_program_where_nothing_else_ends_it(free_port):
    way = [sys.executable, "-I", "-S", str(LAUNCHER), "--listen", str(free_port), "--socket", "/s"]
    with subprocess.Popen([*way, "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None and program.stdout is not None
        program.stdin.write(b"x")
        program.stdin.flush()
        assert program.stdout.read(1) == b"x"
        assert _is_listening(free_port)
        program.send_signal(signal.SIGKILL)
        # The bridge holds no end of the pipe: this would not end otherwise.
        assert program.stdout.read() == b""
    wait_until(lambda: not _is_listening(free_port))


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _is_listening(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_over_a_port_of_this_machine_the_token_is_in_the_variables():
    way = launch(Egress(port=5000, token="t0ken"))
    assert way == Launch(environment=proxy_variables("http://caliban:t0ken@127.0.0.1:5000"))


def test_programs_find_the_proxy_in_either_spelling():
    variables = proxy_variables("http://127.0.0.1:1")
    assert {name.upper() for name in variables} == {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
    assert all(variables[name] == variables[name.lower()] for name in variables)
    assert variables["NO_PROXY"] == "localhost,127.0.0.1,::1"


def test_what_runs_before_the_filter_is_named_by_its_real_path():
    way = launch(Egress(socket="/s"), filter_path="/f")
    python_path, *_, program = way.prefix[:4]
    assert way.prefix[4:] == ("--listen", str(BRIDGE_PORT), "--socket", "/s", "--filter", "/f", "--")
    assert {python_path, program} <= set(way.needed)
    assert all(os.path.realpath(path) == path for path in way.needed)


def ignored() -> int:
    """The signals that this process ignores and hands down, as a set of bits."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (bits,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigIgn:"))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's own doing, taken back for each program
        bits &= ~(1 << (number - 1))
    return bits
