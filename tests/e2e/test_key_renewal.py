"""Keys that a program prints: asked for again when they have passed, and at once when they are refused."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from hang_guard import HANG_S, wait_until

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_openai.testing import chat
from caliban_provider_openai.testing.refusal import failure as openai_failure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")

A, B = "key-canary-aaaaaaaa", "key-canary-bbbbbbbb"
REFUSED = {
    401: wire.failure(401, "authentication_error", "invalid x-api-key"),
    403: wire.failure(403, "permission_error", "this key is not allowed"),
}
DONE = wire.exchange(wire.text("done"))


def read(number: int):
    """A turn that goes on: the model reads a file."""
    return wire.exchange(wire.tool_use("Read", {"path": "a.txt"}, id=f"t{number}"))


class Helper:
    """A program that counts its calls and does for each what its line says; the last line holds for ever."""

    def __init__(self, cli, *lines: str) -> None:
        self.path = cli.home / "get-key"
        self._log = cli.home / "calls"
        cases = "".join(f"{number}) {line};;\n" for number, line in enumerate(lines[:-1], 1))
        self.path.write_text(
            f"#!/bin/sh\necho called >> '{self._log}'\n"
            f"case $(($(wc -l < '{self._log}'))) in\n{cases}*) {lines[-1]};;\nesac\n"
        )
        self.path.chmod(0o755)

    @property
    def calls(self) -> int:
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0


def use(cli, helper: Helper, more: str = "", after: str = "") -> None:
    cli.configure(f'[api_key_helper]\ncommand = "{helper.path}"\n{more}\n{after}\n')


def sent(cli) -> list[str]:
    return [request.headers["x-api-key"] for request in cli.server.requests]


def hold_no_key(done, cli) -> None:
    """Neither what was printed nor any file but the helper's own holds a key."""
    assert A not in done.out + done.err and B not in done.out + done.err
    assert "Traceback" not in done.err
    files = [path for path in (*cli.home.rglob("*"), *cli.work.rglob("*")) if path.is_file()]
    holding = [path for path in files if A.encode() in path.read_bytes() or B.encode() in path.read_bytes()]
    assert [path.name for path in holding] == ["get-key"]


@pytest.mark.parametrize("status", REFUSED)
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_refused_key_is_asked_for_again_and_the_run_succeeds(cli, status, output):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    cli.script(REFUSED[status], DONE)
    done = cli.run("-p", "hi", "--output-format", output, env={"CALIBAN_DEBUG": "1"})
    assert done.code == 0, done.err
    assert "done" in done.out
    assert (helper.calls, sent(cli)) == (2, [A, B])
    hold_no_key(done, cli)


@pytest.mark.parametrize("status", REFUSED)
def test_two_refusals_end_the_run_in_words(cli, status):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    cli.script(REFUSED[status], REFUSED[status], DONE)
    done = cli.run("-p", "hi")
    assert done.code == 1
    assert f"({status})" in done.err or str(status) in done.err
    assert (helper.calls, sent(cli)) == (2, [A, B])
    hold_no_key(done, cli)


def test_the_same_key_again_is_not_sent_again(cli):
    helper = Helper(cli, f"echo {A}")
    use(cli, helper)
    cli.script(REFUSED[401], DONE)
    done = cli.run("-p", "hi")
    assert (done.code, helper.calls, sent(cli)) == (1, 2, [A])
    hold_no_key(done, cli)


def test_a_server_that_repeats_the_key_is_not_quoted_in_that(cli):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    echo = [wire.failure(401, "authentication_error", f"the key {key} is not known") for key in (A, B)]
    cli.script(*echo)
    done = cli.run("-p", "hi", "--output-format", "json", env={"CALIBAN_DEBUG": "1"})
    assert done.code == 1
    assert "the key [key] is not known" in done.out
    hold_no_key(done, cli)


def test_a_key_that_has_passed_is_asked_for_between_turns(cli):
    (cli.work / "a.txt").write_text("text\n")
    helper = Helper(cli, 'echo "key-$(($(wc -l < "$HOME/calls")))"')
    use(cli, helper, "refreshIntervalMs = 1")
    cli.script(read(1), read(2), DONE)
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    keys = [int(key.removeprefix("key-")) for key in sent(cli)]
    assert len(keys) == 3
    assert keys == sorted(set(keys)), "each turn has a new key"
    assert helper.calls == keys[-1]


@pytest.mark.parametrize("ttl", [{}, {"CALIBAN_API_KEY_HELPER_TTL_MS": "6000000"}])
def test_a_key_that_lasts_is_asked_for_once(cli, ttl):
    (cli.work / "a.txt").write_text("text\n")
    helper = Helper(cli, f"echo {A}")
    use(cli, helper, "refreshIntervalMs = 1" if ttl else "")
    cli.script(read(1), read(2), DONE)
    assert cli.run("-p", "go", env=ttl).code == 0
    assert (helper.calls, sent(cli)) == (1, [A, A, A])


def test_a_key_that_is_refused_on_the_third_turn_is_renewed(cli):
    (cli.work / "a.txt").write_text("text\n")
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    cli.script(read(1), read(2), REFUSED[401], read(3), DONE)
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "done\n"), done.err
    assert (helper.calls, sent(cli)) == (2, [A, A, A, B, B])
    hold_no_key(done, cli)


def test_the_program_gets_what_it_needs_and_nobody_elses_keys(cli):
    names = cli.home / "names"
    helper = Helper(cli, f"env > '{names}'; echo {A}")
    use(cli, helper, after='[env]\nVAULT_ADDR = "https://vault.test"')
    secret = {
        "OPENAI_API_KEY": "sk-other-0123456789abcdef",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_PROFILE": "p",
        "GITHUB_TOKEN": "t",
        "SSH_AUTH_SOCK": "/run/agent",
        "CALIBAN_DEBUG": "",
        "HTTPS_PROXY": "http://user:word@127.0.0.1:9",
        "LD_LIBRARY_PATH": "/x",
    }
    given = {"LC_ALL": "C.UTF-8", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus", "XDG_RUNTIME_DIR": "/run"}
    (cli.work / ".caliban").mkdir()
    steering = '[env]\nVAULT_ADDR = "https://elsewhere.test"\nVAULT_NAMESPACE = "theirs"\n'
    (cli.work / ".caliban" / "settings.toml").write_text(steering)
    cli.script(DONE)
    assert cli.run("-p", "hi", "--trust-project", env={**secret, **given}).code == 0
    variables = dict(line.split("=", 1) for line in names.read_text().splitlines())
    for name in ("_", "PWD", "SHLVL", "OLDPWD"):  # the shell's own
        variables.pop(name, None)
    kept = {name: value for name, value in cli.env.items() if name in ("PATH", "LANG")}
    assert variables == {
        **kept,
        **given,
        "HOME": str(cli.home),
        "VAULT_ADDR": "https://vault.test",
        "CALIBAN_PROVIDER": "anthropic",
        "CALIBAN_API_KEY_HELPER_TTL_MS": "300000",
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["before the run", "within it"])
def test_a_signal_ends_the_wait_for_a_key_and_the_program_with_its_children(cli, number, when, is_gone):
    mark = cli.home / "pid"
    sleep = f"sleep 6000 & echo $! > '{mark}.new'; mv '{mark}.new' '{mark}'; wait"
    helper = Helper(cli, sleep) if when == "before the run" else Helper(cli, f"echo {A}", sleep)
    use(cli, helper)
    cli.script(REFUSED[401])
    process = cli.start("-p", "hi", "--output-format", "stream-json")
    wait_until(lambda: mark.exists() or process.poll() is not None)
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_S)
    frames = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 124
    assert [frame["subtype"] for frame in frames if frame["type"] == "result"] == ["cancelled"]
    assert b"Traceback" not in err
    assert is_gone(int(mark.read_text()))


SECOND = {
    "garbage": ("printf '\\377\\376'", "printed something that is not text"),
    "far too much": ("head -c 1048576 /dev/zero | tr '\\0' k", "printed more than 65,536 bytes"),
    "nothing": ("true", "printed no key"),
    "two lines": (f"echo {B}; echo {B}", "printed more than one line"),
    "a failure": (f"echo {B}; echo locked: {B} >&2; exit 3", "failed with exit code 3: locked: …"),
}


@pytest.mark.parametrize("fault", SECOND)
def test_a_program_that_fails_within_a_run_ends_it_in_words(cli, fault):
    line, words = SECOND[fault]
    helper = Helper(cli, f"echo {A}", line)
    use(cli, helper)
    cli.script(REFUSED[401], DONE)
    done = cli.run("-p", "hi", env={"CALIBAN_DEBUG": "1"})
    assert done.code == 78
    assert f"{helper.path} for the key of anthropic {words}" in done.err
    assert (helper.calls, sent(cli)) == (2, [A])
    hold_no_key(done, cli)


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_program_that_fails_at_once_keeps_the_run_from_starting(cli, output):
    helper = Helper(cli, "echo locked >&2; exit 3")
    use(cli, helper)
    done = cli.run("-p", "hi", "--output-format", output)
    assert done.code == 78
    assert "failed with exit code 3: locked" in done.err
    assert done.out.count('"type":"result"') == (output != "text")
    assert helper.calls == 1


def test_openai_gets_a_renewed_key(cli):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    refused = openai_failure(401, "invalid_request_error", "Incorrect API key", code="invalid_api_key")
    with LoopbackServer([refused, chat.exchange(chat.text("from openai"))]) as server:
        env = {"OPENAI_BASE_URL": f"{server.url}/v1"}
        done = cli.run("--provider", "openai", "--model", "some", "-p", "hi", env=env)
        assert (done.code, done.out) == (0, "from openai\n"), done.err
        assert [request.headers["authorization"] for request in server.requests] == [
            f"Bearer {A}",
            f"Bearer {B}",
        ]
    hold_no_key(done, cli)


def test_an_endpoint_of_settings_has_a_helper_of_its_own(cli):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    refused = openai_failure(403, "permission_error", "no access")
    with LoopbackServer([refused, chat.exchange(chat.text("from mine"))]) as server:
        mine = f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"'
        use(cli, helper, 'provider = "mine"', mine)
        done = cli.run("--provider", "mine", "--model", "some", "-p", "hi")
        assert (done.code, done.out) == (0, "from mine\n"), done.err
        assert [request.headers["authorization"] for request in server.requests] == [
            f"Bearer {A}",
            f"Bearer {B}",
        ]


THIRD = '''
from contextlib import asynccontextmanager
from caliban_provider.errors import AuthenticationError
from caliban_provider.testing.scripted import ScriptedProvider, reply

class Theirs(ScriptedProvider):
    """Refuses a key when the first event is asked for, and repeats it."""

    def __init__(self, key):
        super().__init__([reply("from theirs")], name="theirs", family="theirs")
        self.key = key

    @asynccontextmanager
    async def stream(self, request):
        async with super().stream(request) as events:
            yield self.checked(events)

    async def checked(self, events):
        if not self.key.endswith("bbbb"):
            raise AuthenticationError(f"{self.key} is refused", status=401)
        async for event in events:
            yield event

class Factory:
    name, default_model, needs_key = "theirs", "m", True
    key_env, base_url_env = ("THEIR_KEY",), ()

    def create(self, options):
        return Theirs(options.api_key)

FACTORY = Factory()
'''


@pytest.mark.parametrize("second", [B, A + "2"])
def test_a_provider_of_somebody_else_gains_it_without_a_change(cli, tmp_path, second):
    site = tmp_path / "site"
    info = site / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[caliban.providers]\ntheirs = their_module:FACTORY\n")
    (site / "their_module.py").write_text(THIRD)
    cli.extra["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    helper = Helper(cli, f"echo {A}", f"echo {second}")
    use(cli, helper)
    done = cli.run("--provider", "theirs", "-p", "hi")
    assert helper.calls == 2
    if second == B:
        assert (done.code, done.out) == (0, "from theirs\n"), done.err
    else:
        assert done.code == 1
        assert "[key] is refused" in done.err
    hold_no_key(done, cli)


ROUTES = """
[router]
[[router.route]]
purpose = "main_loop"
provider = "anthropic"
model = "claude-sonnet-4-6"
"""


def test_routes_have_keys_that_renew_and_a_helper_that_fails_is_told_first(cli):
    routes = cli.home / "routes.toml"
    routes.write_text(ROUTES)
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    cli.script(REFUSED[401], DONE)
    done = cli.run("--config", str(routes), "-p", "hi")
    assert (done.code, done.out, sent(cli)) == (0, "done\n", [A, B]), done.err
    use(cli, Helper(cli, "exit 3"))
    done = cli.run("--config", str(routes), "-p", "hi")
    assert done.code == 78
    assert "failed with exit code 3" in done.err


def test_the_list_of_models_has_keys_that_renew(cli):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper)
    cli.script(REFUSED[401], wire.models("claude-sonnet-4-6"))
    done = cli.run("models")
    assert (done.code, sent(cli)) == (0, [A, B]), done.err
    use(cli, Helper(cli, "echo locked >&2; exit 3"))
    done = cli.run("models")
    assert done.code == 78
    assert "failed with exit code 3: locked" in done.err


def test_doctor_asks_with_a_renewed_key_and_shows_none(cli):
    helper = Helper(cli, f"echo {A}", f"echo {B}")
    use(cli, helper, 'provider = "anthropic"')
    cli.script(REFUSED[401], wire.models("claude-sonnet-4-6"))
    done = cli.run("doctor")
    assert (done.code, sent(cli)) == (0, [A, B]), done.out
    hold_no_key(done, cli)


def test_what_needs_no_key_runs_no_helper(cli):
    routes = cli.home / "routes.toml"
    routes.write_text(ROUTES)
    helper = Helper(cli, f"echo {A}")
    use(cli, helper)
    for words in (["status"], ["--config", str(routes), "router", "debug"], ["logout"]):
        done = cli.run(*words, env={"ANTHROPIC_API_KEY": ""})
        assert done.code == 0, done.err
    assert helper.calls == 0


@pytest.mark.parametrize("name", ["anthropic", "azure", "google", "openai", "vertex", "foundry"])
def test_every_door_can_be_made_before_its_key_is_there(cli, name):
    helper = Helper(cli, "echo locked >&2; exit 3")
    use(cli, helper)
    env = {
        "AZURE_OPENAI_RESOURCE": "some",
        "ANTHROPIC_FOUNDRY_RESOURCE": "some",
        "GOOGLE_CLOUD_PROJECT": "some",
    }
    done = cli.run("--provider", name, "--model", "some", "-p", "hi", env=env)
    assert done.code == 78
    assert f"for the key of {name} failed with exit code 3: locked" in done.err
