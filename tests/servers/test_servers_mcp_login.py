"""Logging in to the official SDK's server, which has an authorisation server of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hang_guard import HANG_S, wait_until
from login_kit import served
from server_kit import FOLDER

from caliban_mcp_client.testing.identity import IDP_CLIENT, IDP_SECRET, IdentityRules, IdentityWorld
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.servers

PYTHON = FOLDER / "mcp-python" / "bin" / "python"
SCRIPT = Path(__file__).with_name("mcp_auth_server.py")
LIFE_S = 1
"""How long a token of the server counts, in whole seconds as the protocol has it."""

RUN = ("-p", "go", "--output-format", "stream-json", "--allow", "mcp__far__*")


class Started:
    """The server, at a port, and what it has told so far."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, told: Path) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._process = process
        self._told = told

    def count(self, words: str) -> int:
        return self._told.read_text().splitlines().count(words)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Started]:
    if not PYTHON.exists():
        pytest.skip("mcp-python is not installed: scripts/servers mcp-python")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    output, noise = tmp_path / "told", tmp_path / "noise"
    with output.open("wb") as out, noise.open("wb") as err:
        process = subprocess.Popen([PYTHON, SCRIPT, str(port), str(LIFE_S)], stdout=out, stderr=err)
    try:
        wait_until(lambda: "Uvicorn running" in noise.read_text() or process.poll() is not None)
        assert process.poll() is None, noise.read_text()
        yield Started(process, port, output)
    finally:
        process.terminate()
        process.wait(timeout=HANG_S)


def log_in(cli) -> tuple[int, str, str]:
    """Log in; the browser follows its redirects back to us."""
    process = cli.start("mcp", "login", "far", stdin=subprocess.PIPE)
    seen = b""
    for line in process.stderr:
        seen += line
        if line.startswith(b"http"):
            with urllib.request.urlopen(line.decode().strip(), timeout=HANG_S) as page:
                seen += page.read()
            break
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out.decode(), (seen + err).decode()


def test_a_login_to_the_server_of_the_official_sdk_is_made_used_and_renewed(cli, server):
    cli.configure(f'mcp_wait = 60\n[mcp_servers.far]\nurl = "{server.url}"\n')
    asked = cli.run("mcp", "doctor", "far")
    assert asked.code == 1 and "hint: caliban mcp login far" in asked.out, asked.out + asked.err
    code, out, err = log_in(cli)
    assert code == 0 and "scopes: tools" in out and "it has 1 tool" in out, out + err
    assert "You may close this page" in err
    # Its tokens last a second: each run renews what the one before has left.
    for number in (1, 2):
        time.sleep(LIFE_S)
        cli.script(
            wire.exchange(wire.tool_use("mcp__far__double", {"number": number}, id="c1")),
            wire.exchange(wire.text("Done.")),
        )
        done = cli.run(*RUN)
        (result,) = done.of("tool_result")
        assert result["content"][0]["text"] == str(2 * number), done.err
    assert server.count("renewed") >= 2 and server.count("spent twice") == 0
    (text,) = json.loads((cli.home / ".local" / "share" / "caliban" / "mcp-tokens.json").read_text())[
        "keys"
    ].values()
    assert json.loads(text)["credential"]["resource"] == server.url


def test_the_server_of_the_official_sdk_takes_the_word_of_an_identity_provider(cli, server):
    rules = IdentityRules(given={"access_token": "jag"})
    with served(make=partial(IdentityWorld, identity=rules)) as world:
        cli.configure(
            f'mcp_wait = 60\n[mcp_servers.far]\nurl = "{server.url}"\n[mcp_servers.far.oauth_config]\n'
            'grant = "enterprise_managed"\nclient_id = "mine"\nclient_secret = "${OURS}"\n'
            f'idp_issuer = "{world.idp}"\nidp_client_id = "{IDP_CLIENT}"\nidp_client_secret = "${{THEIRS}}"\n'
            'idp_id_token_env = "COMPANY_ID"\n'
        )
        cli.script(
            wire.exchange(wire.tool_use("mcp__far__double", {"number": 4}, id="c1")),
            wire.exchange(wire.text("Done.")),
        )
        ours = {"OURS": "hush-hush-hush-1", "THEIRS": IDP_SECRET, "COMPANY_ID": world.signed_in()}
        done = cli.run(*RUN, env=ours)
        (result,) = done.of("tool_result")
        assert result["content"][0]["text"] == "8", done.err
    # Its tokens last a second: the provider is asked again, and nothing is renewed by itself.
    assert server.count("exchanged") == len(world.exchanges) >= 1 and server.count("renewed") == 0
    assert {(one["resource"], one["audience"].rstrip("/")) for one in world.exchanges} == {
        (server.url, server.url.removesuffix("/mcp"))
    }
