"""Keys: where they come from, what is wrong with them in words, and that nobody ever gets to read one."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, LIMITS_S

from caliban.compose.keyprogram import run_key_helper
from caliban.compose.keys import KeyHelper
from caliban.errors import KeyFailed
from caliban_process import Runner
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")

KEY = "sk-ant-canary-0123456789"
NO_KEY = {"ANTHROPIC_API_KEY": ""}
NO_URL = {"ANTHROPIC_BASE_URL": ""}


def program(folder: Path, body: str, name: str = "get-key") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def credentials(cli) -> Path:
    return cli.home / ".config" / "caliban" / "credentials.json"


def store(cli, data: bytes, mode: int = 0o600) -> None:
    path = credentials(cli)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def sent(cli) -> list[str]:
    """The keys that the server saw."""
    return [request.headers["x-api-key"] for request in cli.server.requests]


def ask_once(cli, **env: str):
    cli.script(wire.exchange(wire.text("answered")))
    return cli.run("-p", "hi", env={**NO_KEY, **env})


SHAPES = {
    "string": 'api_key_helper = "{path}"',
    "string with words": "api_key_helper = \"{path} 'a b' c\"",
    "object": '[api_key_helper]\ncommand = "{path}"\nargs = ["a b", "$HOME"]\nrefreshIntervalMs = 1234',
    "list, own before all": (
        '[[api_key_helper]]\nprovider = "*"\ncommand = "false"\n'
        '[[api_key_helper]]\nprovider = "anthropic"\ncommand = "{path}"'
    ),
    "list, all": (
        '[[api_key_helper]]\nprovider = "openai"\ncommand = "false"\n[[api_key_helper]]\ncommand = "{path}"'
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_of_a_helper_gives_the_key_and_no_shell_reads_it(cli, shape):
    log = cli.home / "log"
    path = program(
        cli.home,
        f'printf "%s|" "$CALIBAN_PROVIDER" "$CALIBAN_API_KEY_HELPER_TTL_MS" "$@" >> "{log}"\n'
        f"cat >> {log}\necho {KEY}",
    )
    cli.configure(SHAPES[shape].format(path=path))
    done = ask_once(cli, ANTHROPIC_API_KEY="of-the-environment")
    assert (done.code, done.out) == (0, "answered\n"), done.err
    assert sent(cli) == [KEY]
    lines = {
        "string with words": "anthropic|300000|a b|c|",
        "object": "anthropic|1234|a b|$HOME|",
    }
    assert log.read_text() == lines.get(shape, "anthropic|300000|")  # once, with an empty input


def test_a_path_with_a_space_is_one_program(cli):
    folder = cli.home / "my programs"
    folder.mkdir()
    cli.configure(f'api_key_helper = "{program(folder, f"echo {KEY}")}"')
    assert ask_once(cli).code == 0
    assert sent(cli) == [KEY]


def test_the_environment_says_for_how_long_a_key_is_wanted(cli):
    path = program(cli.home, 'echo "key-$CALIBAN_API_KEY_HELPER_TTL_MS"')
    cli.configure(f'api_key_helper = "{path}"')
    assert ask_once(cli, CALIBAN_API_KEY_HELPER_TTL_MS="77").code == 0
    assert sent(cli) == ["key-77"]


def test_a_helper_for_another_provider_is_left_alone(cli):
    cli.configure('[api_key_helper]\nprovider = "openai"\ncommand = "false"')
    assert ask_once(cli, ANTHROPIC_API_KEY="of-the-environment").code == 0
    assert sent(cli) == ["of-the-environment"]


FAULTS = {
    "missing": (None, "cannot be run: no such file"),
    "failing": (f"echo {KEY}; echo '{KEY} is locked' >&2; echo more >&2; exit 3", "exit code 3: … is locked"),
    "killed": ("kill -9 $$", "failed with signal 9"),
    "empty": ("echo 'no entry' >&2; echo", "printed no key: no entry"),
    "two lines": (f"echo {KEY}; echo {KEY}", "more than one line"),
    "not text": ("printf '\\377\\376'", "not text"),
    "endless": (f"yes {KEY}", "printed more than 65,536 bytes"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_helper_that_gives_no_key_is_a_configuration_error_that_names_it(cli, fault):
    body, words = FAULTS[fault]
    path = cli.home / "get-key" if body is None else program(cli.home, body)
    cli.configure(f'api_key_helper = "{path}"')
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert str(path) in done.err and words in done.err
    assert KEY not in done.err + done.out and "Traceback" not in done.err
    assert sent(cli) == []


@pytest.mark.parametrize(
    ("command", "word"), [("", "empty"), ("  ", "empty"), ("get 'key", "cannot be split")]
)
def test_a_command_that_is_none_is_said(cli, command, word):
    cli.configure(f'api_key_helper = "{command}"')
    done = cli.run("-p", "hi")
    assert done.code == 78
    assert word in done.err


def test_a_slow_helper_is_named_and_waited_for(cli):
    path = program(cli.home, f"until [ -e {cli.home}/go ]; do sleep 0.02; done\necho {KEY}")
    cli.configure(f'[api_key_helper]\ncommand = "{path}"\nslowHelperWarningMs = 50')
    cli.script(wire.exchange(wire.text("answered")))
    process = cli.start("-p", "hi", env=NO_KEY)
    assert process.stderr is not None
    warning = process.stderr.readline().decode()
    (cli.home / "go").touch()
    assert f"{path} for the key of anthropic takes longer than 50 ms" in warning
    _, rest = process.communicate(timeout=HANG_S)
    assert (process.returncode, sent(cli)) == (0, [KEY])
    assert b"takes longer" not in rest


def helper(path: Path, **more) -> KeyHelper:
    return KeyHelper(
        command=(str(path),), provider="x", ttl_ms=1, slow_ms=900_000, environ=dict(os.environ), **more
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_helper_that_does_not_end_is_killed_with_its_children(tmp_path, backend, is_gone):
    mark = tmp_path / "pid"
    path = program(tmp_path, f"sleep 600 &\necho $! > {mark}.new\nmv {mark}.new {mark}\nwait")
    for limit_s in LIMITS_S:
        with pytest.raises(KeyFailed, match=f"did not end within {limit_s} s"):
            anyio.run(run_key_helper, helper(path, limit_s=limit_s), Runner(), print, backend=backend)
        if mark.exists():
            break
    assert is_gone(int(mark.read_text()))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_helper_that_nobody_waits_for_is_killed_with_its_children(tmp_path, backend, is_gone):
    mark = tmp_path / "pid"
    path = program(tmp_path, f"sleep 600 &\necho $! > {mark}.new\nmv {mark}.new {mark}\nwait")

    async def cancelled() -> bool:
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(run_key_helper, helper(path), Runner(), print)
                while not mark.exists():
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
        return group.cancel_scope.cancel_called

    assert anyio.run(cancelled, backend=backend)
    assert is_gone(int(mark.read_text()))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_child_that_holds_the_output_open_delays_nothing(tmp_path, backend):
    path = program(tmp_path, f"echo {KEY}\nsleep 6000 &")
    endless = helper(path, limit_s=2 * HANG_S)
    assert anyio.run(run_key_helper, endless, Runner(), print, backend=backend) == KEY


def test_a_helper_of_an_untrusted_project_is_not_run(cli):
    folder = cli.work / ".caliban"
    folder.mkdir()
    mark = cli.home / "ran"
    path = program(cli.work, f"touch {mark}\necho stolen")
    (folder / "settings.toml").write_text(f'api_key_helper = "{path}"')
    assert ask_once(cli, ANTHROPIC_API_KEY="mine").code == 0
    assert sent(cli) == ["mine"]
    assert not mark.exists()


def test_login_stores_a_key_that_a_run_takes_and_logout_forgets_it(cli):
    first = cli.run("login", stdin=f"{KEY}\n".encode(), env=NO_KEY)
    assert first.code == 0
    assert first.out == f"stored the key of anthropic in {credentials(cli)} (readable by you only)\n"
    assert "not offered to third-party tools" in first.err
    assert stat.S_IMODE(credentials(cli).stat().st_mode) == 0o600
    assert stat.S_IMODE(credentials(cli).parent.stat().st_mode) == 0o700
    assert ask_once(cli).code == 0
    assert sent(cli) == [KEY]
    assert cli.run("login", "openai", stdin=b"of-openai").code == 0
    gone = cli.run("logout", "anthropic", env=NO_KEY)
    assert gone.out == f"removed the key of anthropic from {credentials(cli)}\n"
    assert json.loads(credentials(cli).read_bytes()) == {"version": 1, "keys": {"openai": "of-openai"}}
    assert cli.run("logout", env=NO_KEY).out == "there is no stored key of anthropic\n"
    assert cli.run("-p", "hi", env=NO_KEY).code == 78


def test_login_says_what_comes_before_the_stored_key(cli):
    done = cli.run("login", "anthropic", stdin=KEY.encode())
    assert done.out.splitlines()[1] == "a run takes the environment variable ANTHROPIC_API_KEY first"
    assert ask_once(cli, ANTHROPIC_API_KEY="of-the-environment").code == 0
    assert sent(cli) == ["of-the-environment"]


@pytest.mark.parametrize(
    ("given", "code"),
    [(b"", 66), (b"\n", 66), (b"  \n", 66), (b"two words\n", 64), (b"\xff\xfe\n", 64), (b"x" * 40_000, 64)],
)
def test_login_stores_nothing_where_there_is_no_key(cli, given, code):
    done = cli.run("login", stdin=given)
    assert done.code == code
    assert "nothing was stored" in done.err
    assert not credentials(cli).exists()


@pytest.mark.parametrize("words", [[KEY], ["anthropic", KEY], [f"--key={KEY}"], ["local"]])
def test_login_takes_no_key_as_an_argument_and_repeats_none(cli, words):
    done = cli.run("login", *words, stdin=KEY.encode())
    assert done.code == 64
    assert KEY not in done.out + done.err
    assert not credentials(cli).exists()


DAMAGE = (b"", b"{", b"[]", b'{"keys": []}', b'{"keys": {"anthropic": 7}}', b"\xff", b"[" * 90_000)


@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_store_is_told_and_left_as_it_is(cli, data):
    store(cli, data)
    for done in (cli.run("-p", "hi", env=NO_KEY), cli.run("login", stdin=KEY.encode()), cli.run("logout")):
        assert done.code == 78
        assert "credentials.json is damaged" in done.err
        assert "Traceback" not in done.err
    assert credentials(cli).read_bytes() == data
    assert ask_once(cli, ANTHROPIC_API_KEY="of-the-environment").code == 0


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_store_that_others_can_read_is_not_used(cli, mode):
    store(cli, json.dumps({"version": 1, "keys": {"anthropic": KEY}}).encode(), mode)
    done = cli.run("-p", "hi", env=NO_KEY)
    assert done.code == 78
    assert f"mode {mode:04o}" in done.err and "chmod 600" in done.err
    assert sent(cli) == []


def test_a_store_that_is_a_pipe_is_refused_at_once(cli):
    credentials(cli).parent.mkdir(parents=True)
    os.mkfifo(credentials(cli), 0o600)
    done = cli.run("-p", "hi", env=NO_KEY)
    assert done.code == 78
    assert "a named pipe" in done.err


FAKE_KEYRING = """
import json, pathlib
from . import errors
FILE = pathlib.Path(__file__).with_name("held.json")
def _held(): return json.loads(FILE.read_text()) if FILE.exists() else {}
def get_password(service, name): return _held().get(f"{service}/{name}")
def set_password(service, name, key):
    if FILE.with_name("broken").exists(): raise errors.KeyringError("no back end")
    FILE.write_text(json.dumps({**_held(), f"{service}/{name}": key}))
def delete_password(service, name):
    held = _held(); del held[f"{service}/{name}"]; FILE.write_text(json.dumps(held))
"""


@pytest.fixture
def ring(cli, tmp_path):
    """An installed keyring library; returns its folder."""
    folder = tmp_path / "site" / "keyring"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAKE_KEYRING)
    (folder / "errors.py").write_text("class KeyringError(Exception): pass\n")
    paths = [str(folder.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    cli.extra["PYTHONPATH"] = os.pathsep.join(paths)
    return folder


def test_an_installed_keyring_comes_before_the_file(cli, ring):
    assert cli.run("login", stdin=KEY.encode(), env=NO_KEY).out.endswith("in the keyring of this system\n")
    assert json.loads((ring / "held.json").read_text()) == {"caliban/anthropic": KEY}
    assert not credentials(cli).exists()
    assert ask_once(cli).code == 0
    assert sent(cli) == [KEY]
    assert (
        cli.run("logout", env=NO_KEY).out == "removed the key of anthropic from the keyring of this system\n"
    )
    assert json.loads((ring / "held.json").read_text()) == {}


def test_a_keyring_that_stores_nothing_leaves_it_to_the_file(cli, ring):
    (ring / "broken").touch()
    assert str(credentials(cli)) in cli.run("login", stdin=KEY.encode(), env=NO_KEY).out
    assert ask_once(cli).code == 0
    assert sent(cli) == [KEY]


def test_status_says_where_the_key_comes_from(cli):
    def key_line(*args: str, **env: str) -> str:
        done = cli.run("status", *args, env=env)
        assert done.code == 0, done.err
        return done.out.splitlines()[2]

    none = key_line(**NO_KEY)
    variable = key_line()
    cli.run("login", stdin=KEY.encode())
    stored = key_line(**NO_KEY)
    cli.configure('[api_key_helper]\ncommand = "false"\nargs = ["secret"]')
    assert [none, variable, stored, key_line(), key_line("--provider", "ollama")] == [
        "key:      none; caliban login anthropic stores one",
        "key:      from the environment variable ANTHROPIC_API_KEY",
        "key:      from the store of caliban login",
        "key:      from the program false (api_key_helper)",
        "key:      none (not always needed)",
    ]


def test_status_names_provider_model_and_settings(cli):
    cli.configure('[model]\nprovider = "openai"\nname = "gpt-x"')
    done = cli.run("status", env={"OPENAI_API_KEY": KEY})
    assert done.out.splitlines() == [
        "provider: openai",
        "model:    gpt-x",
        "key:      from the environment variable OPENAI_API_KEY",
        "settings: user",
    ]


def test_the_key_is_in_no_output_and_no_file_but_its_own(cli):
    cli.run("login", stdin=KEY.encode(), env=NO_KEY)
    outputs = []
    for args in (["status"], ["doctor"], ["doctor", "--json"], ["login", "--help"]):
        outputs.append(cli.run(*args, env={**NO_KEY, "CALIBAN_DEBUG": "1"}))
    cli.script(wire.exchange(wire.text("answered")), wire.failure(401, "authentication_error", "bad key"))
    for _ in range(2):
        outputs.append(cli.run("-p", "hi", "--output-format", "stream-json", env=NO_KEY))
    assert all(KEY not in done.out + done.err for done in outputs)
    files = [path for path in (*cli.home.rglob("*"), *cli.work.rglob("*")) if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == [credentials(cli)]
