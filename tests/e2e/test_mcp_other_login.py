"""What is remembered of a server's tools belongs to the login that saw them."""

from __future__ import annotations

import sys

import pytest
from login_kit import log_in, served

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the browser's answer comes by a pipe")

DONE = wire.exchange(wire.text("Done."))


def test_the_tools_that_one_login_saw_are_not_offered_before_another_has_seen_its_own(cli):
    with served() as world:
        cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n')
        for undo in ("logout", "login"):
            assert log_in(cli, world, "notes")[0] == 0
            cli.script(DONE)
            assert cli.run("-p", "go").code == 0
            assert "tool: echo" in cli.run("mcp", "get", "notes").out
            if undo == "login":
                assert log_in(cli, world, "notes")[0] == 0
            else:
                assert cli.run("mcp", "logout", "notes").code == 0
            assert "its tools are not known yet" in cli.run("mcp", "get", "notes").out
    # An entry that cannot be read keeps no login from being forgotten.
    cli.configure("[mcp_servers.notes]\nurl = 7\n")
    assert cli.run("mcp", "logout", "notes").out == "removed the login to the MCP server notes\n"
