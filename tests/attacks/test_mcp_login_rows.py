"""Rows about logins to servers: what a server, or a page in the browser, would have us open, send or take."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from command_kit import Cli, opened
from hang_guard import HANG_S
from login_kit import log_in, served

from caliban_mcp_client.testing.oauth import OAuthRules
from caliban_provider.testing.loopback import LoopbackServer, answer

LOOK_UP = "http://169.254.169.254/latest/api/token"


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path) as command:
        yield command


def configure(cli: Cli, url: str) -> None:
    cli.configure(f'[mcp_servers.notes]\nurl = "{url}"\n')


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        pytest.param({"authorization_endpoint": "http://x/$(calc)"}, "is not https", id="s517-http"),
        pytest.param({"authorization_endpoint": "file:///etc/passwd"}, "no address that can", id="s517-file"),
        pytest.param({"authorization_endpoint": "-oProxyCommand=x"}, "no address that can", id="s517-option"),
        pytest.param({"token_endpoint": LOOK_UP}, "is not https", id="s518-http"),
        pytest.param(
            {"token_endpoint": LOOK_UP.replace("http:", "https:")}, "of this link alone", id="s518-https"
        ),
    ],
)
def test_an_address_that_nobody_should_open_ends_the_login(
    cli: Cli, metadata: dict[str, object], words: str
) -> None:
    with served(OAuthRules(metadata=metadata)) as world:
        configure(cli, world.url)
        done = cli.run("mcp", "login", "notes")
        assert world.registrations == world.forms == []
    assert (done.code, done.out) == (1, "") and words in done.err, done.err
    assert "Open this address" not in done.err and "Traceback" not in done.err


def test_a_page_of_somebody_else_brings_no_answer(cli: Cli) -> None:
    """s520"""
    with served() as world:
        configure(cli, world.url)
        process = cli.begin("mcp", "login", "notes", "--no-browser", stdin=subprocess.PIPE)
        url = next(line.decode().strip() for line in process.stderr if line.startswith(b"http"))
        back = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0])
        assert back.hostname == "127.0.0.1"
        for host, headers in (
            ("evil.example", {}),
            (f"evil.example:{back.port}", {}),
            (back.netloc, {"Origin": "https://evil.example"}),
            (back.netloc, {"Sec-Fetch-Mode": "cors"}),
        ):
            forged = urllib.request.Request(
                f"{back.geturl()}?code=stolen&state=guessed", headers={"Host": host, **headers}
            )
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(forged, timeout=HANG_S)
        place = world.browse(url)
        with urllib.request.urlopen(place, timeout=HANG_S) as page:
            assert page.status == 200
        out, _ = process.communicate(timeout=HANG_S)
        assert process.returncode == 0 and b"logged in" in out
        with pytest.raises(urllib.error.URLError):  # it took one answer, and is gone
            urllib.request.urlopen(place, timeout=HANG_S)
    assert [form["grant_type"] for form in world.forms] == ["authorization_code"]


def test_a_token_is_not_sent_where_the_entry_leads_now(cli: Cli) -> None:
    """s521"""
    with served() as world, LoopbackServer([], default=answer(401)) as other:
        configure(cli, world.url)
        assert log_in(cli, world, "notes")[0] == 0
        configure(cli, f"{other.url}/mcp")
        done = cli.run("mcp", "doctor", "notes")
        assert done.code == 1 and "caliban mcp login notes" in done.out
        assert other.requests and all("authorization" not in each.headers for each in other.requests)
        configure(cli, f"{world.base}/elsewhere")
        cli.run("mcp", "doctor", "notes")
    assert len(world.forms) == 1
