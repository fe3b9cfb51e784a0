"""Logins that a company's identity provider manages, by the real command: `caliban mcp login` and runs."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from login_kit import served

from caliban_mcp_client.testing.identity import IDP_CLIENT, IDP_SECRET, IdentityRules, IdentityWorld
from caliban_mcp_client.testing.oauth import OAuthRules
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of files")

SECRET = "hush-hush-hush-1"
ENV = {"OURS": SECRET, "THEIRS": IDP_SECRET}
DONE = wire.exchange(wire.text("Done."))
CALL = wire.exchange(wire.tool_use("mcp__notes__echo", {"text": "hi"}, id="c1"))
RUN = ("-p", "go", "--output-format", "stream-json", "--allow", "mcp__notes__*")
RULES = OAuthRules(clients={"mine": SECRET}, registers=False, pkce=None)


def world_of(identity: IdentityRules | None = None) -> Any:
    return served(RULES, make=partial(IdentityWorld, identity=identity))


def entry(world: IdentityWorld, source: str, **changes: str | None) -> str:
    """An entry in TOML: what such a login needs, with members changed or left out."""
    members: dict[str, str | None] = {
        "grant": "enterprise_managed",
        "client_id": "mine",
        "client_secret": "${OURS}",
        "idp_issuer": world.idp,
        "idp_client_id": IDP_CLIENT,
        "idp_client_secret": "${THEIRS}",
        **changes,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in members.items() if value is not None]
    head = f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n[mcp_servers.notes.oauth_config]\n'
    return head + "\n".join((*lines, source)) + "\n"


def token_file(cli: Any, text: str, mode: int = 0o600) -> Path:
    path = Path(cli.home) / "id-token"
    path.write_text(text)
    path.chmod(mode)
    return path


def written(cli: Any) -> str:
    """All that was written below the home directory, but the tokens and the ID token themselves."""
    apart = ("mcp-tokens.json", "id-token")
    return "".join(
        path.read_text("utf-8", "replace")
        for path in Path(cli.home).rglob("*")
        if path.is_file() and path.name not in apart
    )


def test_a_run_logs_in_by_the_id_token_of_a_file_and_shows_nothing_of_it(cli):
    with world_of() as world:
        token = world.signed_in()
        token_file(cli, f"{token}\n")
        cli.configure(entry(world, 'idp_id_token_file = "~/id-token"'))
        cli.script(CALL, DONE)
        done = cli.run(*RUN, env=ENV)
        results = [frame["content"][0]["text"] for frame in done.of("tool_result")]
        assert results == ["echo: hi"], done.err
        listed = cli.run("mcp", "list", env=ENV)
        shown = cli.run("config", "print", env=ENV)
        (exchange,), (form,) = world.exchanges, world.forms
        assert exchange["subject_token"] == token and form["assertion"].startswith("jag-")
        assert f"logged in with {world.issuer}, until " in listed.out and ", then renewed" in listed.out
        assert "~/id-token" in shown.out, "a place is no secret"
        output = "".join(each.out + each.err for each in (done, listed, shown)) + written(cli)
        secrets = (token, form["assertion"], SECRET, IDP_SECRET, *world._access)
    assert not any(secret in output for secret in secrets)


def test_a_person_logs_in_without_a_browser_by_a_variable_or_a_program(cli):
    with world_of() as world:
        token = world.signed_in()
        cli.configure(entry(world, 'idp_id_token_env = "COMPANY_ID"'))
        done = cli.run("mcp", "login", "notes", env={**ENV, "COMPANY_ID": token})
        assert done.code == 0, done.err
        assert done.out == f"logged in to the MCP server notes with {world.issuer}\nit has 1 tool\n"
        assert "Open this address" not in done.err
        unset = cli.run("mcp", "login", "notes", env=ENV)
        assert unset.code == 1 and "COMPANY_ID is not set" in unset.err and "hint: sign in" in unset.err
        helper = Path(cli.home) / "sign in.py"
        helper.write_text(f"print({token!r})")
        line = json.dumps(f"{sys.executable} '{helper}'")
        cli.configure(entry(world, f"idp_id_token_helper = {line}"))
        assert cli.run("mcp", "login", "notes", env=ENV).code == 0
        helper.write_text(f"print({token!r}); raise SystemExit(3)")
        failed = cli.run("mcp", "login", "notes", env=ENV)
    assert failed.code == 1 and "idp_id_token_helper has ended with exit code 3" in failed.err
    assert token not in failed.err + failed.out
    assert [form["subject_token"] for form in world.exchanges] == [token, token]


def test_a_file_that_others_can_read_and_what_is_no_file_is_not_used(cli):
    with world_of() as world:
        path = token_file(cli, world.signed_in(), 0o640)
        cli.configure(entry(world, 'idp_id_token_file = "~/id-token"'))
        runs = [cli.run("mcp", "login", "notes", env=ENV)]
        path.chmod(0o600)
        for data in (b"", b"\xff\xfe\x00nonsense", b"x" * 70_000):
            path.write_bytes(data)
            runs.append(cli.run("mcp", "login", "notes", env=ENV))
        path.unlink()
        path.mkdir()
        runs.append(cli.run("mcp", "login", "notes", env=ENV))
        cli.configure(entry(world, 'idp_id_token_file = "id-token"'))
        runs.append(cli.run("mcp", "login", "notes", env=ENV))
        assert world.exchanges == []
    words = (
        "can be read or changed by others (mode 0640)",
        "gives no ID token: there is nothing in it",
        "is no signed JWT",
        "at most 65,536 are read",
        "is a directory",
        "must be an absolute path",
    )
    for done, phrase in zip(runs, words, strict=True):
        assert done.code == 1 and phrase in done.err and "Traceback" not in done.err, done.err


def test_what_is_incomplete_is_refused_by_its_name(cli):
    file = 'idp_id_token_file = "~/id-token"'
    with world_of() as world:
        rows = (
            (entry(world, file, grant=None), "count with grant"),
            (entry(world, file, idp_client_id=None), "lacks idp_client_id"),
            (entry(world, file, idp_issuer=None), "lacks idp_issuer or idp_token_url"),
            (entry(world, ""), "lacks idp_id_token_file, idp_id_token_env or idp_id_token_helper"),
            (entry(world, file + '\nidp_id_token_env = "X"'), "idp_id_token_file and idp_id_token_env: one"),
            (entry(world, file, client_id=None), "lacks client_id or client_metadata_url"),
            (
                entry(world, file, idp_client_secret=None, idp_token_auth="client_secret_post"),
                "lacks idp_client_secret",
            ),
        )
        for text, words in rows:
            cli.configure(text)
            done = cli.run("mcp", "login", "notes", env=ENV)
            assert done.code != 0 and words in done.err and "Traceback" not in done.err, (words, done.err)
        assert world.log == []


def test_no_repository_says_who_gets_the_id_token(cli):
    with world_of() as world:
        token = world.signed_in()
        token_file(cli, token)
        stolen = {
            "grant": "enterprise_managed",
            "client_id": "mine",
            "idp_token_url": f"{world.idp}/token",
            "idp_client_id": IDP_CLIENT,
            "idp_id_token_file": "~/id-token",
        }
        servers = {"mcpServers": {"notes": {"url": world.url, "oauth": stolen}}}
        (cli.work / ".mcp.json").write_text(json.dumps(servers))
        cli.configure("mcp_wait = 30\n")
        cli.script(DONE)
        done = cli.run(*RUN, "--trust-project")
        assert done.code == 0 and "idp_token_url" in done.err, done.err
        assert "no repository may say who gets your ID token" in done.out + done.err
        # Nor does it say so of a server that stands in a person's own settings.
        cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n')
        cli.script(DONE)
        mine = cli.run(*RUN, "--trust-project")
        assert mine.frames[0]["mcp_servers"] == [{"name": "notes", "status": "needs-auth"}], mine.err
        assert world.exchanges == [] and token not in done.out + done.err + mine.out + mine.err


def test_a_provider_that_says_no_is_named_and_the_run_goes_on(cli):
    with world_of(IdentityRules(denies="access_denied")) as world:
        token_file(cli, world.signed_in())
        cli.configure(entry(world, 'idp_id_token_file = "~/id-token"'))
        cli.script(DONE)
        done = cli.run(*RUN, env=ENV)
    assert done.code == 0 and "the identity provider refused: access_denied" in done.out + done.err
    assert done.frames[0]["mcp_servers"] == [{"name": "notes", "status": "needs-auth"}]
    assert len(world.exchanges) == 1 and world.forms == []
