"""Rows of the class secrets: a planted key is in no byte that leaves, and files are their owner's.

The keys of a run in what it shows and stores: `tests/e2e`, in `test_secrets.py` and `test_keys.py`.
"""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from calls_kit import results, run_calls
from mcp_kit import table

from caliban_common.mask import Masker
from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="modes, /proc and commands are those of Linux"
)

KEY = "sk-ant-CANARY0123456789abcdefghijklmnopqrstuvwxyz"
OK = wire.exchange(wire.text("ok"))
BIG = "for i in $(seq 9000); do echo line $i of the output; done; cat key; exit 1"


def written(cli, *outputs: str) -> str:
    """All that left the process, or lies anywhere, but for the file that holds the key on purpose."""
    roots = (cli.home, cli.work)
    files = (
        p
        for root in roots
        for p in root.rglob("*")
        if p.is_file() and not {"key", "helper", ".caliban"}.intersection(p.parts)
    )
    stored = (path.read_bytes().decode("utf-8", "replace") for path in files)
    sent = (request.body.decode("utf-8", "replace") for request in cli.server.requests)
    return "\n".join((*outputs, *stored, *sent))


SOURCES = [
    pytest.param({"ANTHROPIC_API_KEY": KEY}, "", id="own-environment"),
    pytest.param({"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": KEY}, "", id="own-token"),
    pytest.param({"ANTHROPIC_API_KEY": ""}, '[api_key_helper]\ncommand = "{home}/helper"\n', id="own-helper"),
    pytest.param({"BRAVE_API_KEY": KEY}, "", id="own-search"),
    pytest.param({"OPENAI_API_KEY": KEY}, "", id="own-other-provider"),
    pytest.param({"DATABASE_URL": f"postgres://u:{KEY}@db.example/x"}, "", id="own-url"),
]


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.parametrize(("env", "settings"), SOURCES)
def test_a_planted_key_is_in_no_log_frame_session_recording_or_spill_file(cli, env, settings, output):
    (cli.work / "key").write_text(KEY)
    helper = cli.home / "helper"
    helper.write_text(f"#!/bin/sh\necho {KEY}\n")
    helper.chmod(0o755)
    cli.configure("tool_result_cap_chars = 4000\n" + settings.format(home=cli.home))
    refused = answer(
        400, wire.error_body("invalid_request_error", f"bad {KEY}"), content_type="application/json"
    )
    cli.script(
        wire.exchange(
            wire.tool_use("Bash", {"command": "env; cat key | base64 -w0; cat key"}),
            wire.tool_use("Bash", {"command": BIG}),
            wire.tool_use("Bash", {"command": f"curl -H 'Authorization: Bearer {KEY}' http://127.0.0.1:9/"}),
            wire.tool_use("Read", {"path": "key"}),
            wire.tool_use("Read", {"path": f"nowhere-{KEY}"}),
        ),
        refused,
    )
    flags = (
        "--allow",
        "Bash",
        "--output-format",
        output,
        "--record",
        str(cli.home / "run.rec"),
        "--session",
        "s",
    )
    done = cli.run("-p", f"go {KEY}" if "BRAVE" not in str(env) else "go", *flags, env=env)
    seen = written(cli, done.out, done.err)
    forms = (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode()[:40], KEY.encode().hex())
    if "BRAVE_API_KEY" in env or "OPENAI_API_KEY" in env or "DATABASE_URL" in env:
        sent = json.dumps(cli.bodies()[-1]["messages"][-1])  # known once a program has been started
        assert KEY not in sent.replace(f"go {KEY}", "")
        return
    assert [form for form in forms if form in seen] == []


def test_s616_no_message_holds_the_password_of_a_proxy_or_an_address(cli):
    secret = "hush-CANARY-0123456789"
    for env in (
        {"HTTP_PROXY": f"http://user:{secret}@127.0.0.1:1", "ANTHROPIC_BASE_URL": "http://api.example.test"},
        {"ANTHROPIC_BASE_URL": f"http://user:{secret}@127.0.0.1:1"},
        {
            "HTTPS_PROXY": f"http://user:{secret}@127.0.0.1:1",
            "ANTHROPIC_BASE_URL": "https://api.example.test",
        },
    ):
        for words in (
            ("-p", "hi"),
            ("-p", "hi", "--output-format", "json"),
            ("status",),
            ("doctor",),
            ("models",),
        ):
            done = cli.run(*words, env=env)
            assert secret not in done.out + done.err, words
    assert secret not in written(cli)


@pytest.mark.parametrize(
    "value", [pytest.param("Bearer ${TOK}", id="s617"), pytest.param("Bearer $TOK", id="s617b")]
)
def test_the_headers_of_a_server_are_shown_by_the_names_of_variables_alone(cli, value):
    cli.configure(f'[mcp_servers.corp]\nurl = "http://127.0.0.1:9"\nheaders.Authorization = "{value}"\n')
    cli.script(OK)
    done = cli.run("-p", "hi", env={"TOK": KEY})
    shown = [cli.run("mcp", *words, env={"TOK": KEY}) for words in (("list",), ("get", "corp"), ("doctor",))]
    assert KEY not in written(
        cli, done.out, done.err, *(text for one in shown for text in (one.out, one.err))
    )


def test_s628_a_server_gets_no_variable_that_nobody_gave_it(cli):
    what = {"tools": {"tell": {"env": "SOME_TOKEN"}, "own": {"env": "MINE"}}}
    cli.configure(table("desk", what, 'env = { MINE = "given" }\n'))
    calls = [wire.tool_use(f"mcp__desk__{name}", {}, id=name) for name in what["tools"]]
    cli.script(wire.exchange(*calls), OK)
    cli.run("-p", "hi", "--allow", "mcp__desk__*", env={"SOME_TOKEN": "abc"})
    results = {block["tool_use_id"]: block for block in cli.bodies()[1]["messages"][-1]["content"]}
    values = {name: results[name]["content"][0]["text"] for name in what["tools"]}
    assert values == {"tell": "(unset)", "own": "given"}


def test_s618_a_rule_that_is_added_leaves_variables_as_they_are_written(cli):
    path = cli.configure('[env]\nMY_NAME = "${TOK}"\n')
    assert cli.run("perms", "add", "Bash:ls *", "--action", "allow", env={"TOK": KEY}).code in (0, 64)
    cli.run("perms", "add", "allow", "Bash:ls *", env={"TOK": KEY})
    assert "${TOK}" in path.read_text() and KEY not in path.read_text()


def test_s619_files_are_made_for_their_owner_only_whatever_the_umask_says(cli):
    cli.configure("tool_result_cap_chars = 4000\n")
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": BIG})), OK)
    (cli.work / "key").write_text("x")
    wide = ("sh", "-c", 'umask 000; exec "$@"', "sh", sys.executable, "-m", "caliban")
    state = {"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
    env = {**cli.env, **{name: str(cli.home / "xdg" / sub) for name, sub in state.items()}}
    flags = ("-p", "go", "--allow", "Bash", "--session", "s", "--record", str(cli.home / "xdg" / "run.rec"))
    (cli.home / "xdg").mkdir()
    subprocess.run((*wide, *flags), cwd=cli.work, env=env, stdin=subprocess.DEVNULL, check=True)
    keyless = subprocess.run(
        (*wide, "login", "anthropic"), cwd=cli.work, env=env, input=KEY.encode(), check=False
    )
    assert keyless.returncode == 0
    made = [*(cli.home / "xdg").rglob("*"), cli.home / ".config" / "caliban" / "credentials.json"]
    names = {path.name for path in made}
    assert {"s.json", "permission-decisions.jsonl", "run.rec", "credentials.json"} <= names
    assert any(path.suffix == ".txt" for path in made), "the output that was too long"
    loose = {str(p): oct(p.stat().st_mode) for p in made if stat.S_IMODE(p.stat().st_mode) & 0o077}
    assert loose == {}


@pytest.mark.parametrize("call", ["openat", "open"])
def test_no_file_with_a_key_is_ever_wider_for_an_instant(cli, call):
    """The mode comes with the call that makes the file; what is closed afterwards was open for a moment."""
    trace = cli.home / "trace"
    if (
        subprocess.run(["strace", "-V"], capture_output=True, check=False).returncode
        if _has("strace")
        else True
    ):
        pytest.skip("needs strace")
    cli.script(OK)
    argv = [
        "strace",
        "-f",
        "-e",
        f"trace={call}",
        "-o",
        str(trace),
        sys.executable,
        "-m",
        "caliban",
        "-p",
        "hi",
    ]
    subprocess.run(argv, cwd=cli.work, env=cli.env, stdin=subprocess.DEVNULL, check=True)
    made = [line for line in trace.read_text().splitlines() if "O_CREAT" in line and "caliban/" in line]
    assert [line for line in made if ", 0600)" not in line] == []


def _has(program: str) -> bool:
    return any(os.access(Path(entry) / program, os.X_OK) for entry in os.get_exec_path())


def test_s622_a_secret_is_gone_before_the_excerpt_is_cut(cli):
    for padding in range(180, 260, 16):
        command = f"echo {'a' * padding}; curl -H 'Authorization: Bearer {KEY}' http://x.example/"
        run_calls(cli, ("Bash", {"command": command}))
    log = (cli.home / ".local" / "state" / "caliban" / "permission-decisions.jsonl").read_text()
    assert [part for part in (KEY, KEY[:20], KEY[-20:]) if part in log] == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 19, len(KEY) - 1])
@pytest.mark.parametrize("row", ["s623"])
def test_a_secret_that_comes_in_pieces_is_found(size, row):
    stream = Masker([KEY]).stream()
    text = f"before {KEY} after {KEY}{KEY} end"
    shown = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.end()
    assert shown == "before [secret] after [secret][secret] end"


ENCODED = {
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64-wrapped": "\n".join(
        base64.b64encode(KEY.encode()).decode()[n : n + 20] for n in range(0, 80, 20)
    ),
    "base64-inside": base64.b64encode(b'{"token": "' + KEY.encode() + b'"}').decode(),
    "urlsafe": base64.urlsafe_b64encode(b"xy" + KEY.encode()).decode(),
    "percent": "".join(f"%{ord(char):02X}" if not char.isalnum() else char for char in KEY),
    "json": json.dumps({"k": KEY}),
    "hex": KEY.encode().hex(),
    "HEX": KEY.encode().hex().upper(),
}


@pytest.mark.parametrize("form", [pytest.param(name, id=f"s624-{name}") for name in ENCODED])
def test_a_known_secret_is_found_however_it_is_written(form):
    shown = Masker([KEY]).text(f"<{ENCODED[form]}>")
    assert "[secret]" in shown
    assert [n for n in range(len(ENCODED[form]) - 24) if ENCODED[form][n : n + 24] in shown] == []


@pytest.mark.parametrize("place", ["project", "variable"])
@pytest.mark.parametrize("row", ["s625"])
def test_nothing_is_exported_to_where_a_project_says(cli, place, row):
    with LoopbackServer() as sink:
        names = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        env = dict.fromkeys(names, sink.url)
        if place == "project":
            (cli.work / ".caliban").mkdir()
            lines = "\n".join(f'{name} = "{value}"' for name, value in env.items())
            (cli.work / ".caliban" / "settings.toml").write_text(
                f"[env]\n{lines}\nCALIBAN_ENABLE_TELEMETRY = '1'\n"
            )
            env = {}
        run_calls(cli, ("Bash", {"command": "true"}), flags=("--allow", "Bash", "--trust-project"), env=env)
        assert sink.connections == 0


NAMES = [
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "DB_PASSWORD", "NPM_TOKEN"),
    *("AWS_SECRET_ACCESS_KEY", "CALIBAN_DAEMON_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "STRIPE_KEY"),
    *("SSH_AUTH_SOCK", "my_token", "Api_Key", "PGPASSWORD"),
]


@pytest.mark.parametrize("name", [pytest.param(NAMES[0], id="s627"), *NAMES[1:]])
def test_a_command_gets_no_credential(cli, name):
    (text,), _ = run_calls(cli, ("Bash", {"command": "env"}), flags=("--allow", "Bash"), env={name: KEY})
    assert "→ Exit code: 0" in text and f"{name}=" not in text and "CANARY" not in text


HELPERS = [
    pytest.param(f"echo {KEY}; echo and more; echo lines", id="s630-lines"),
    pytest.param("yes | head -c 20000000", id="s630-size"),
    pytest.param(f"echo {KEY} >&2; exit 3", id="s630-stderr"),
    pytest.param("printf '\\033]52;c;x\\007\\n'", id="own-control"),
    pytest.param("printf 'a\\0b\\n'", id="own-nul"),
]


@pytest.mark.parametrize("line", HELPERS)
def test_a_helper_gives_one_line_and_its_words_are_not_repeated(cli, line):
    helper = cli.home / "helper"
    helper.write_text(f"#!/bin/sh\n{line}\n")
    helper.chmod(0o755)
    cli.configure(f'[api_key_helper]\ncommand = "{helper}"\n')
    done = cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""})
    assert (done.code, "Traceback" in done.err) == (78, False), done
    assert KEY not in written(cli, done.out, done.err) and "\x1b" not in done.err


def test_s632_no_process_has_a_key_in_its_arguments(cli):
    mark = os.urandom(8).hex()  # processes of other tests have keys of their own
    look = f"tr '\\0' ' ' < /proc/$PPID/cmdline; grep -aoh [{mark[0]}]{mark[1:]} /proc/[0-9]*/cmdline"
    env = {"ANTHROPIC_API_KEY": f"sk-ant-{mark}-x"}
    run_calls(cli, ("Bash", {"command": look}), flags=("--allow", "Bash"), env=env)
    assert "→ Stdout:" in results(cli)[0] and mark not in results(cli)[0]


def test_s621_there_is_no_export_to_a_name_that_others_know(cli):
    cli.run("export")
    assert not list(Path("/tmp").glob("caliban*/response.md"))
