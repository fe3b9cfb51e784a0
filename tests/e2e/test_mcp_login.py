"""Logging in to MCP servers through the real command: the browser and back, runs that renew, and no run that
opens a browser."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hang_guard import HANG_S, wait_until
from login_kit import log_in, served

from caliban_mcp_client.testing.oauth import ISSUER_PATH, OAuthRules
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="answers are pasted into a pipe")

DONE = wire.exchange(wire.text("Done."))
CALL = wire.exchange(wire.tool_use("mcp__notes__echo", {"text": "hi"}, id="c1"))
RUN = ("-p", "go", "--output-format", "stream-json", "--allow", "mcp__notes__*")


def configure(cli, world, more: str = "") -> None:
    cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n{more}')


def tokens_file(cli) -> Path:
    return cli.home / ".local" / "share" / "caliban" / "mcp-tokens.json"


def kept(cli) -> dict:
    (text,) = json.loads(tokens_file(cli).read_text())["keys"].values()
    return json.loads(text)


def texts(done) -> list[str]:
    return [frame["content"][0].get("text") for frame in done.of("tool_result")]


def everything_but_the_file(cli) -> str:
    """All that was written below the home directory, without the one file that tokens may stand in."""
    paths = [path for path in cli.home.rglob("*") if path.is_file() and path != tokens_file(cli)]
    return "".join(path.read_text("utf-8", "replace") for path in paths)


def test_a_person_logs_in_and_a_run_calls_a_tool_with_that(cli):
    with served(OAuthRules(challenge_scopes=("read",))) as world:
        configure(cli, world)
        cli.script(DONE)
        before = cli.run(*RUN)
        assert before.frames[0]["mcp_servers"] == [{"name": "notes", "status": "needs-auth"}]
        assert "caliban mcp login notes" in before.out + before.err
        assert {path for _, path in world.log} == {"/mcp"}, "a run looks for no login"
        asked = cli.run("mcp", "doctor", "notes")
        assert asked.code == 1 and "hint: caliban mcp login notes" in asked.out
        code, out, err = log_in(cli, world, "notes")
        assert code == 0, err
        assert out == f"logged in to the MCP server notes with {world.issuer}\nscopes: read\nit has 1 tool\n"
        assert "Open this address to log in:" in err and "You may close this page" in err
        assert stat.S_IMODE(tokens_file(cli).stat().st_mode) == 0o600
        cli.script(CALL, DONE)
        done = cli.run(*RUN)
        assert texts(done) == ["echo: hi"], done.err
        secrets = [*world._access, *world._refresh]
        shown = cli.run("mcp", "get", "notes")
        listed = cli.run("mcp", "list")
        checked = cli.run("mcp", "doctor", "notes")
    for finished in (shown, listed, checked):
        assert f"logged in with {world.issuer}, until " in finished.out, finished.out
    output = everything_but_the_file(cli) + "".join(
        each.out + each.err for each in (done, shown, listed, checked, before, asked)
    )
    assert len(secrets) == 2 and not any(secret in output + out + err for secret in secrets)
    assert cli.run("mcp", "logout", "notes").out == "removed the login to the MCP server notes\n"
    assert json.loads(tokens_file(cli).read_text())["keys"] == {}
    assert cli.run("mcp", "logout", "notes").out == "there is no login to notes\n"


def test_an_answer_is_pasted_where_the_browser_is_elsewhere(cli):
    with served() as world:
        configure(cli, world)
        code, out, err = log_in(cli, world, "notes", "--no-browser", pastes=True)
        assert (code, out.splitlines()[-1]) == (0, "it has 1 tool"), err
        assert "that is not the address that the browser ends at" in err
        assert world.registrations[0]["redirect_uris"][0].startswith("http://127.0.0.1:")


def test_a_browser_is_opened_by_argument_vector_and_only_where_somebody_sees_it(cli, tmp_path):
    opener, seen = tmp_path / "bin" / "xdg-open", tmp_path / "seen"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > {seen}.part && mv {seen}.part {seen}\n')
    opener.chmod(0o755)
    env = {"PATH": f"{opener.parent}:{cli.env['PATH']}", "DISPLAY": ":9"}
    with served(OAuthRules(metadata={"authorization_endpoint": None})) as world:
        world.rules = OAuthRules(
            metadata={"authorization_endpoint": f"{world.issuer}/authorize?a=$(touch%20x)&b=;x"}
        )
        configure(cli, world)
        code, _, err = log_in(cli, world, "notes", env=env)
        assert code == 0 and "Your browser opens this address" in err, err
        wait_until(seen.exists)
        count, url = seen.read_text().splitlines()
        assert count == "1" and url.startswith(
            f"{world.issuer}/authorize?a=$(touch%20x)&b=;x&response_type=code&"
        )
        seen.unlink()
        code, _, err = log_in(cli, world, "notes", env={**env, "SSH_CONNECTION": "a 1 b 2"})
        assert code == 0 and "Open this address" in err and not seen.exists()


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (OAuthRules(state="of-another"), "does not belong to this login"),
        (OAuthRules(iss="https://evil.example"), "not from the authorisation server"),
        (OAuthRules(denies="access_denied"), "the login was refused: access_denied"),
    ],
)
def test_an_answer_that_is_not_for_us_ends_the_login_with_nothing_kept(cli, rules, words):
    with served(rules) as world:
        configure(cli, world)
        code, out, err = log_in(cli, world, "notes")
    assert (code, out) == (1, "") and words in err, err
    assert "Traceback" not in err and not tokens_file(cli).exists() and world.forms == []


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        pytest.param(OAuthRules(pkce=None), "does not say that it knows PKCE", id="no-pkce"),
        pytest.param(OAuthRules(resource="https://bank.example/"), "of another server", id="resource"),
        pytest.param(OAuthRules(registers=False), "registers no clients", id="no-client"),
    ],
)
def test_what_must_not_be_opened_is_not_shown(cli, rules, words):
    with served(rules) as world:
        configure(cli, world)
        done = cli.run("mcp", "login", "notes")
    assert (done.code, done.out) == (1, "") and "hint: " in done.err, done.err
    assert words in done.err and "Open this address" not in done.err and "Traceback" not in done.err


def test_settings_say_who_we_are_and_where_the_browser_comes_back_to(cli):
    settled = (
        "[mcp_servers.notes.oauth_config]\n"
        'client_id = "mine"\nclient_secret = "${HUSH}"\nscopes = "a b"\ncallback_port = 0\n'
    )
    with served(OAuthRules(clients={"mine": "hush-hush-hush-1"}, registers=False)) as world:
        configure(cli, world, settled)
        unset = cli.run("mcp", "login", "notes")
        assert unset.code == 1 and "the variable HUSH is not set" in unset.err
        code, out, err = log_in(cli, world, "notes", env={"HUSH": "hush-hush-hush-1"})
        assert code == 0 and "scopes: a b" in out, err
        assert world.forms[0]["client_id"] == "mine" and world.asked_scopes == ["a b"]
    assert "hush-hush-hush-1" not in out + err + tokens_file(cli).read_text()


def test_endpoints_of_settings_stand_for_all_that_would_be_found_out(cli):
    with served(OAuthRules(resource_at="nowhere", server_at="nowhere", clients={"mine": ""})) as world:
        settled = (
            'oauth = "manual"\n[mcp_servers.notes.oauth_config]\nclient_id = "mine"\n'
            f'auth_url = "{world.issuer}/authorize"\ntoken_url = "{world.issuer}/token"\n'
        )
        configure(cli, world, settled)
        code, out, err = log_in(cli, world, "notes")
        assert code == 0 and "it has 1 tool" in out, err
        assert {path for _, path in world.log} == {"/mcp", f"{ISSUER_PATH}/token"}
        configure(cli, world, 'oauth = "manual"\n')
        lacking = cli.run("mcp", "login", "notes")
    assert lacking.code == 1 and "lacks auth_url or token_url" in lacking.err


def test_a_client_of_settings_logs_in_for_itself_in_a_run(cli):
    settled = (
        '[mcp_servers.notes.oauth_config]\ngrant = "client_credentials"\n'
        'client_id = "mine"\nclient_secret = "${HUSH}"\n'
    )
    with served(OAuthRules(clients={"mine": "hush-hush-hush-1"})) as world:
        configure(cli, world, settled)
        cli.script(CALL, DONE)
        done = cli.run(*RUN, env={"HUSH": "hush-hush-hush-1"})
        assert texts(done) == ["echo: hi"], done.err
        assert [form["grant_type"] for form in world.forms] == ["client_credentials"]
    assert "hush-hush-hush-1" not in done.out + done.err + tokens_file(cli).read_text()


def test_who_cannot_log_in_is_told_why(cli):
    with served() as world:
        configure(
            cli,
            world,
            'oauth = "off"\n[mcp_servers.keyed]\nurl = "http://127.0.0.1:9/"\n'
            'headers = { authorization = "Bearer x" }\n[mcp_servers.local]\ncommand = "x"\n',
        )
        rows = {
            "notes": (78, 'has oauth = "off"'),
            "keyed": (78, "says by a header who asks"),
            "local": (78, "nobody logs in to a program"),
            "missing": (66, "there is no MCP server 'missing'"),
        }
        for name, (code, words) in rows.items():
            done = cli.run("mcp", "login", name)
            assert done.code == code and words in done.err, done.err
        assert world.log == []
        cli.script(DONE)
        off = cli.run(*RUN[:4])
        assert "caliban mcp login" not in off.out + off.err
        bad = cli.run("mcp", "login", "notes", "--mcp-oauth-port", "70000")
        assert bad.code == 78 and "off" in bad.err
        refused = cli.run("-p", "x", "--mcp-oauth-port", "1")
    assert refused.code == 64 and "caliban mcp login takes it" in refused.err


def test_a_file_that_others_can_read_or_that_is_damaged_is_not_used(cli):
    with served() as world:
        configure(cli, world)
        assert log_in(cli, world, "notes")[0] == 0
        tokens_file(cli).chmod(0o644)
        cli.script(DONE, DONE)
        open_to_all = cli.run(*RUN)
        assert "can be read or changed by others" in open_to_all.out + open_to_all.err
        tokens_file(cli).chmod(0o600)
        tokens_file(cli).write_text("{")
        damaged = cli.run("mcp", "list")
        assert damaged.code == 0 and "is damaged" in damaged.out
        tokens_file(cli).write_text('{"version": 1, "keys": {"x": "nonsense"}}')
        assert cli.run("mcp", "list").code == 0


RACER = """
import sys
import anyio
from caliban.compose.servers.keptlogins import KeptLogins
from caliban.compose.servers.logins import open_client
from caliban_mcp_client.oauth import LoginOptions, LoginParts, OAuthAuthorization

async def main():
    parts = LoginParts(store=KeptLogins("notes"), open_client=open_client, learn=lambda secret: None)
    authorization = OAuthAuthorization("notes", sys.argv[1], LoginOptions(), parts)
    print("ready", flush=True)
    sys.stdin.readline()
    print((await authorization.headers())["authorization"], flush=True)

anyio.run(main)
"""


def test_two_processes_never_spend_one_refresh_token_twice(cli):
    with served() as world:
        configure(cli, world)
        assert log_in(cli, world, "notes")[0] == 0
        for round_ in range(1, 4):
            age(cli)
            racers = [
                subprocess.Popen(
                    [sys.executable, "-c", RACER, world.url],
                    env=cli.env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                for _ in range(3)
            ]
            for racer in racers:
                assert racer.stdout.readline() == b"ready\n"
            for racer in racers:
                racer.stdin.write(b"go\n")
                racer.stdin.flush()
            headers = [racer.communicate(timeout=HANG_S)[0] for racer in racers]
            assert len(set(headers)) == 1 and headers[0].startswith(b"Bearer access-")
            assert (world.refreshes, world.double_spends) == (round_, 0)
        cli.script(CALL, DONE)
        assert texts(cli.run(*RUN)) == ["echo: hi"]


def age(cli) -> None:
    """Let the token that is kept be over."""
    data = json.loads(tokens_file(cli).read_text())
    ((key, text),) = data["keys"].items()
    login = json.loads(text)
    login["credential"]["tokens"] |= {"expires_at": 1000.0, "obtained_at": 1.0}
    tokens_file(cli).write_text(json.dumps({"version": 1, "keys": {key: json.dumps(login)}}))


def test_a_run_whose_login_is_dead_says_so_and_sends_the_token_nowhere_else(cli):
    with served() as world:
        configure(cli, world)
        assert log_in(cli, world, "notes")[0] == 0
        world.revoke(refresh=True)
        cli.script(DONE)
        done = cli.run(*RUN)
        assert "wants a new login" in done.out + done.err
        assert "caliban mcp login notes" in done.out + done.err
        assert "its login is over" in cli.run("mcp", "list").out
        configure(cli, world)
        moved = f"{world.base}/elsewhere"
        cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{moved}"\n')
        world.log.clear()
        cli.script(DONE)
        cli.run(*RUN)
        assert world.refreshes == 0


RING = """
import json, os, pathlib
from keyring import errors
PATH = pathlib.Path(os.environ["RING"])
def _read(): return json.loads(PATH.read_text()) if PATH.exists() else {}
def get_password(service, name): return _read().get(service + "/" + name)
def set_password(service, name, value): PATH.write_text(json.dumps({**_read(), service + "/" + name: value}))
def delete_password(service, name):
    rest = _read(); del rest[service + "/" + name]; PATH.write_text(json.dumps(rest))
"""


def test_with_a_keyring_the_file_holds_no_token(cli, tmp_path):
    folder, ring = tmp_path / "site" / "keyring", tmp_path / "ring.json"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(RING)
    (folder / "errors.py").write_text("class KeyringError(Exception): pass\n")
    cli.extra.update(PYTHONPATH=str(folder.parent), RING=str(ring))
    with served(OAuthRules(token_auth_methods=("client_secret_basic",))) as world:
        configure(cli, world)
        assert log_in(cli, world, "notes")[0] == 0
        (access,), (refresh,) = world._access, world._refresh
        text = tokens_file(cli).read_text()
        assert kept(cli)["in_keyring"] is True
        assert access not in text and refresh not in text and "client-secret" not in text
        assert access in ring.read_text()
        cli.script(CALL, DONE)
        assert texts(cli.run(*RUN)) == ["echo: hi"]
        assert "logged in with" in cli.run("mcp", "list").out
        assert cli.run("mcp", "logout", "notes").code == 0
    assert json.loads(ring.read_text()) == {}
