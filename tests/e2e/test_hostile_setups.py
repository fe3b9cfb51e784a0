"""Set-ups that are odd on purpose, by the real command: names, headers, addresses, stores and signals."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest
from hang_guard import HANG_S, wait_until

from caliban_provider.testing.exchange import Exchange, Hang, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_openai.testing import chat

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="signals and modes of files are those of POSIX"
)

NO_KEY = {"ANTHROPIC_API_KEY": ""}
HANGS = Exchange(steps=(Hang(),))


def credentials(cli) -> Path:
    return cli.home / ".config" / "caliban" / "credentials.json"


def endpoint(name: str, url: str, more: str = "") -> str:
    return f'[provider."{name}"]\nkind = "openai"\nbase_url = "{url}/v1"\napi_key_env = "MY_KEY"\n{more}'


@pytest.mark.parametrize("name", ["gpt.internal", "my own", "ünï", "a/b"])
def test_an_endpoint_may_have_any_name(cli, name):
    with LoopbackServer([chat.exchange(chat.text("here"))]) as server:
        cli.configure(endpoint(name, server.url))
        done = cli.run("--provider", name, "--model", "m", "-p", "hi", env={"MY_KEY": "k"})
    assert (done.code, done.out) == (0, "here\n"), done.err
    assert f"provider: {name}\n" in cli.run("status", "--provider", name, "--model", "m").out


@pytest.mark.parametrize("name", ["mine.kind", "mine.options", "mine.base_url"])
@pytest.mark.parametrize("command", [("-p", "hi"), ("status",), ("models",), ("doctor",)])
def test_a_path_into_a_table_is_the_name_of_no_provider(cli, name, command):
    cli.configure(endpoint("mine", "http://127.0.0.1:9", '[provider.mine.options]\napi = "chat"\n'))
    done = cli.run(*command, "--provider", name)
    assert (done.code, "fault in caliban" in done.err) == (1 if command == ("doctor",) else 64, False)
    assert f"no provider is called '{name}'" in done.out + done.err


@pytest.mark.parametrize(
    "header",
    [
        '"x y" = "a"',
        '"x:y" = "a"',
        '"" = "a"',
        'x = "a\\nb: c"',
        'x = "ü"',
        'content-length = "3"',
        'Transfer-Encoding = "chunked"',
        'expect = "100-continue"',
    ],
)
def test_a_header_that_would_break_the_request_is_a_configuration_error(cli, header):
    with LoopbackServer([HANGS]) as server:
        cli.configure(endpoint("mine", server.url, f"[provider.mine.headers]\n{header}\n"))
        done = cli.run("--provider", "mine", "--model", "m", "-p", "hi", env={"MY_KEY": "k"})
        assert (done.code, server.requests) == (78, ())
    assert done.err.startswith("caliban: [provider.mine.headers] the header ")


def test_an_empty_address_sends_the_key_to_nobody(cli):
    cli.configure('[provider.mine]\nkind = "anthropic"\nbase_url = ""\napi_key_env = "MY_KEY"\n')
    done = cli.run("--provider", "mine", "-p", "hi", env={"MY_KEY": "k"})
    assert done.code == 78
    assert done.err.splitlines()[0].endswith(":3: `provider.mine.base_url` must not be empty")
    assert cli.server.requests == ()


def test_an_address_may_be_written_in_capitals(cli):
    cli.script(anthropic.exchange(anthropic.text("here")))
    done = cli.run("-p", "hi", env={"ANTHROPIC_BASE_URL": cli.server.url.replace("http", "HTTP")})
    assert (done.code, done.out) == (0, "here\n"), done.err


def test_a_server_that_refuses_the_key_in_a_stream_is_no_matter_of_configuration(cli):
    cli.script(
        answer(200, anthropic.error_body("authentication_error", "no"), content_type="application/json")
    )
    done = cli.run("-p", "hi", "--output-format", "json")
    assert done.code == 1
    assert done.json["error"].startswith("anthropic does not accept the key (in the stream): no\n")


def test_a_page_of_html_is_no_list_of_models(cli):
    cli.script(answer(200, "<html>sign in</html>", content_type="text/html"))
    done = cli.run("models")
    assert (done.code, done.err.splitlines()[0]) == (
        1,
        "caliban: the answer is of type 'text/html' and not JSON",
    )


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HTTP_PROXY", "socks5://127.0.0.1:9", "the environment names a SOCKS proxy, which needs"),
        ("HTTP_PROXY", "ftp://user:hush@127.0.0.1:9", "the environment names a proxy that cannot be used"),
        ("ALL_PROXY", "http://127.0.0.1:99999", "the environment names a proxy that cannot be used"),
        ("ALL_PROXY", "http://[::1", "the environment names a proxy that cannot be used"),
        ("HTTP_PROXY", "http://127.0.0.1:1", "(or the proxy before it) refused the connection"),
    ],
)
def test_a_proxy_that_is_no_use_is_named_and_not_the_provider(cli, variable, value, words):
    env = {variable: value, "ANTHROPIC_BASE_URL": "http://api.example.test"}
    done = cli.run("-p", "hi", "--output-format", "json", env=env)
    assert (done.code, words in done.json["error"]) == (1, True), done.out
    assert "hush" not in done.out + done.err


@pytest.mark.parametrize("name", ["missing.pem", "empty.pem"])
def test_certificates_that_cannot_be_read_are_named(cli, name):
    path = cli.work / "empty.pem"
    path.write_text("")
    env = {"SSL_CERT_FILE": str(path.with_name(name)), "ANTHROPIC_BASE_URL": "https://127.0.0.1:9"}
    done = cli.run("-p", "hi", env=env)
    assert (done.code, "the certificates of SSL_CERT_FILE or SSL_CERT_DIR cannot be read" in done.err) == (
        1,
        True,
    )


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_a_server_without_encryption_is_told_as_that(cli, said):
    class Plain(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.request.sendall(said)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        done = cli.run("models", env={"ANTHROPIC_BASE_URL": f"https://127.0.0.1:{server.server_address[1]}"})
        server.shutdown()
    assert (done.code, "no encrypted connection to 127.0.0.1:" in done.err) == (1, True), done.err


def test_keys_that_are_stored_at_the_same_time_are_all_kept(cli):
    names = ("anthropic", "openai", "google", "azure", "ollama", "vertex")
    with ThreadPoolExecutor(len(names)) as pool:
        ends = list(pool.map(lambda name: cli.run("login", name, stdin=b"k-" + name.encode()).code, names))
    assert ends == [0] * len(names)
    assert json.loads(credentials(cli).read_bytes())["keys"] == {name: f"k-{name}" for name in names}


def test_a_store_behind_a_link_is_changed_where_it_is(cli):
    real = cli.home / "kept.json"
    real.write_text('{"version":1,"keys":{"openai":"old"}}')
    real.chmod(0o600)
    credentials(cli).parent.mkdir(parents=True)
    credentials(cli).symlink_to(real)
    assert cli.run("login", "anthropic", stdin=b"new").code == 0
    assert cli.run("logout", "openai").code == 0
    assert (credentials(cli).is_symlink(), json.loads(real.read_bytes())["keys"]) == (
        True,
        {"anthropic": "new"},
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("models",), ("doctor",)])
def test_the_first_signal_ends_a_command_that_waits_for_a_server(cli, command, number):
    cli.script(HANGS)
    process = cli.start(*command)
    wait_until(lambda: cli.server.requests)
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out, err) == (124, b"", b"caliban: cancelled\n")


def test_the_first_signal_ends_the_program_for_a_key_with_its_children(cli):
    script = cli.home / "get-key"
    script.write_text("#!/bin/sh\nsleep 6000 & echo $! > pid.new; mv pid.new pid; wait\n")
    script.chmod(0o755)
    cli.configure(f'api_key_helper = "{script}"\n')
    process = cli.start("models", env=NO_KEY)
    wait_until((cli.work / "pid").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG_S) == 124
    child = int((cli.work / "pid").read_text())
    wait_until(lambda: not is_running(child))


def test_two_interrupts_leave_no_traceback(cli):
    cli.script(HANGS)
    process = cli.start("models")
    wait_until(lambda: cli.server.requests)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode in (124, 130)
    assert b"Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_a_login_that_waits_for_a_key(cli, number):
    process = cli.start("login", stdin=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()  # what it says before it reads
    process.send_signal(number)
    assert process.wait(HANG_S) == 124
    assert b"cancelled; nothing was stored" in process.stderr.read()
    assert not credentials(cli).exists()


def test_an_interrupt_at_the_prompt_for_a_key_gives_the_terminal_its_echo_back(cli):
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    process = cli.start("login", stdin=theirs)
    echo = termios.ECHO
    wait_until(lambda: not termios.tcgetattr(ours)[3] & echo)
    process.send_signal(signal.SIGINT)
    assert process.wait(HANG_S) == 124
    assert termios.tcgetattr(ours)[3] & echo
    for descriptor in (ours, theirs):
        os.close(descriptor)


@pytest.mark.parametrize("command", [("status", "--provider"), ("login",)])
def test_a_provider_whose_extra_is_missing_is_told_with_the_extra(cli, command):
    hidden = "import sys; sys.modules['caliban_provider_vertex'] = None\nfrom importlib import metadata\n"
    hidden += (
        "metadata.entry_points = lambda **_: ()\nfrom caliban.main import run\nsys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden, *command, "vertex"],
        env=cli.env,
        cwd=cli.work,
        input=b"k",
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (78, b"")
    assert b"pip install 'caliban-cli[vertex]'" in done.stderr


def test_status_looks_for_the_key_that_the_options_ask_for(cli):
    cli.configure('[provider.google.options]\nproject = "my-project"\n')
    shown = cli.run("status", "--provider", "google", env={"GEMINI_API_KEY": "studio"}).out
    assert "key:      from the environment variable GEMINI_API_KEY" not in shown


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return "zombie" not in status.read_text() if Path("/proc/self").exists() else True


BROKEN = """
import anyio
from caliban_provider.capabilities import Capabilities
class P:
    name = family = "theirs"
    def __init__(self, fault): self.fault = fault
    def capabilities(self, model): return Capabilities()
    def stream(self, request): raise RuntimeError("no stream")
    async def list_models(self): return {"junk": (5,), "none": None}.get(self.fault) or 1 / 0
    async def aclose(self): raise RuntimeError("cannot close")
class Factory:
    name, default_model, needs_key, key_env, base_url_env = "theirs", "m", False, (), ()
    def __init__(self, fault): self.fault = fault
    def create(self, options):
        if self.fault == "exits": raise SystemExit(9)
        return None if self.fault == "nothing" else P(self.fault)
RAISES, JUNK, EXITS, NOTHING = map(Factory, ("raises", "junk", "exits", "nothing"))
ODD = Factory("odd")
ODD.key_env = None
"""


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("fault", ["RAISES", "JUNK", "EXITS", "NOTHING", "ODD", "LEAVES"])
@pytest.mark.parametrize("command", [("-p", "hi"), ("models",), ("doctor",)])
def test_a_fault_of_somebody_elses_provider_is_told_as_theirs(cli, tmp_path, fault, command):
    site = tmp_path / "site"
    (site / "theirs-1.dist-info").mkdir(parents=True)
    (site / "theirs-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (site / "theirs-1.dist-info" / "entry_points.txt").write_text(
        f"[caliban.providers]\ntheirs = {'leaves' if fault == 'LEAVES' else 'theirs'}:{fault}\n"
    )
    (site / "theirs.py").write_text(BROKEN)
    (site / "leaves.py").write_text("raise SystemExit(4)\n")
    done = cli.run(*command, "--provider", "theirs", env={"PYTHONPATH": str(site)})
    output = done.out + done.err
    refused = fault in ("ODD", "LEAVES") and command != ("doctor",)
    assert (done.code, "fault in caliban" in output, "Traceback" in output) == (
        64 if refused else 1,
        False,
        False,
    )
    assert "the provider 'theirs' " in output
    if command == ("doctor",):
        assert "✓ workspace" in output
