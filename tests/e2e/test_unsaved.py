"""A session that cannot be saved: told on every path, in every format."""

from __future__ import annotations

import resource
import signal

import pytest
from command_kit import Cli
from hang_guard import HANG_S

from caliban_provider_anthropic.testing import wire


def full_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def played(cli: Cli, *args: str) -> tuple[int, str, str]:
    process = cli.start(*args, preexec_fn=full_disk)
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("format", ["text", "json", "stream-json"])
@pytest.mark.parametrize("extra", [(), ("--system", "Be brief.")], ids=["plain", "system"])
@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
def test_a_disk_that_is_full_from_the_start_is_told(
    cli: Cli, format: str, extra: tuple[str, ...], resumed: bool
) -> None:
    if resumed:
        cli.script(wire.exchange(wire.text("one")))
        assert cli.run("-p", "first", "--session", "work").code == 0
    cli.script(wire.exchange(wire.text("the answer")))
    code, out, err = played(cli, "-p", "go", "--session", "work", "--output-format", format, *extra)
    assert "the answer" in out
    assert code == 78
    if format == "stream-json":
        assert out.count("session_write_failed") == 1, out
    assert err.count("is not saved") == 1, err


def test_of_a_budget_of_nothing_nothing_is_spent(cli: Cli) -> None:
    done = cli.run("-p", "x", "--max-budget-usd", "0", "--output-format", "json")
    assert (done.code, done.json["subtype"], done.json["total_cost_usd"]) == (137, "budget_exceeded", 0.0)
    assert cli.server.requests == ()
