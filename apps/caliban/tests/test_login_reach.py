"""What a login may dial, judged on the address behind a name; and which browser is opened where."""

from __future__ import annotations

import pytest

from caliban.compose.servers.browser import browser_command
from caliban.compose.servers.reach import ReachGuard, may_dial
from caliban_provider.connection import Origin
from caliban_provider.errors import InvalidRequest


@pytest.mark.parametrize(
    ("address", "reaches"),
    [
        ("93.184.216.34", "public private loopback"),
        ("2606:2800:220:1:248:1893:25c8:1946", "public private loopback"),
        ("10.1.2.3", "private loopback"),
        ("100.64.0.1", "private loopback"),
        ("fd00::1", "private loopback"),
        ("::ffff:10.1.2.3", "private loopback"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("169.254.169.254", ""),
        ("::ffff:169.254.169.254", ""),
        ("fe80::1", ""),
        ("fe80::1%eth0", ""),
        ("0.0.0.0", ""),
        ("224.0.0.1", ""),
        ("nonsense", ""),
    ],
)
def test_a_login_dials_no_address_further_in_than_its_server(address: str, reaches: str) -> None:
    assert [
        reach for reach in ("public", "private", "loopback") if may_dial(address, reach)
    ] == reaches.split()


@pytest.mark.anyio
async def test_a_name_is_judged_by_what_it_leads_to_on_any_port() -> None:
    origin = Origin(scheme="http", host="localhost", port=8123)
    assert "127.0.0.1" in await ReachGuard(reach="loopback").addresses(origin)
    for reach in ("public", "private"):
        with pytest.raises(InvalidRequest, match=r"localhost is .* may not reach"):
            await ReachGuard(reach=reach).addresses(origin)


def test_a_browser_is_opened_where_somebody_sees_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    opener = tmp_path / "xdg-open"
    opener.write_text("#!/bin/sh\n")
    opener.chmod(0o755)
    url, shown = "https://a.example/x", {"PATH": str(tmp_path), "DISPLAY": ":0"}
    assert browser_command(url, shown) == (str(opener), url)
    assert browser_command(url, {**shown, "SSH_TTY": "/dev/pts/1"}) is None
    assert browser_command(url, {"PATH": str(tmp_path)}) is None
    assert browser_command(url, {"PATH": "/nowhere", "DISPLAY": ":0"}) is None
    monkeypatch.setattr("sys.platform", "darwin")
    assert browser_command(url, {}) == ("/usr/bin/open", url)
