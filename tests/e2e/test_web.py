"""The web through the real command: what is fetched, what is refused, what leave it needs."""

from __future__ import annotations

import pytest
from test_tool_loop import call, results

from caliban_provider.testing.exchange import Exchange, Hang, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("done"))
PAGE = "<html><body><h1>Hello</h1><script>x</script><p>page</p></body></html>"


@pytest.fixture
def site():
    with LoopbackServer() as server:
        yield server


def fetch(cli, url, *flags, **more):
    return call(cli, wire.tool_use("WebFetch", {"url": url, **more}), flags=flags)


def test_a_listed_host_is_fetched_as_markdown(cli, site):
    cli.configure(f'web_fetch_hosts = ["127.0.0.1:{site.port}"]\n')
    site.extend(answer(302, "", location="/page"), answer(200, PAGE, content_type="text/html"))
    fetch(cli, f"{site.url}/", "--allow", "WebFetch")
    assert results(cli)[0].endswith(f"{len(PAGE)} bytes)\n\n# Hello\n\npage")
    assert [request.path for request in site.requests] == ["/", "/page"]
    assert all("anthropic" not in str(dict(request.headers)).lower() for request in site.requests)


def test_a_redirect_beyond_what_the_rules_allow_is_named(cli, site):
    cli.configure(f'web_fetch_hosts = ["127.0.0.1:{site.port}"]\n')
    site.extend(answer(302, "", location="/other"))
    fetch(cli, f"{site.url}/docs/a", "--allow", f"WebFetch:{site.url}/docs/*")
    assert f"redirects to {site.url}/other, which was not followed" in results(cli)[0]
    assert len(site.requests) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_refused_unless_it_is_listed_by_the_user(cli, site, host):
    (cli.work / ".caliban").mkdir()
    settings = cli.work / ".caliban" / "settings.toml"
    settings.write_text(f'web_fetch_hosts = ["{host}:{site.port}"]\n')
    fetch(cli, f"http://{host}:{site.port}/", "--auto-allow", "--trust-project")
    assert "Error: execution failed:" in results(cli)[0]
    assert site.connections == 0


def test_without_a_rule_nothing_is_fetched(cli, site):
    fetch(cli, "https://docs.python.org/3/")
    assert results(cli)[0].startswith("Tool call denied:") and "--allow" in results(cli)[0]


def test_a_server_that_does_not_go_on_is_left_in_time(cli, site):
    cli.configure(f'web_fetch_hosts = ["127.0.0.1:{site.port}"]\n')
    site.extend(Exchange(steps=(Send(b"<h1>begins"), Hang())))
    fetch(cli, site.url, "--allow", "WebFetch", timeout_seconds=1)
    assert "did not answer within 1 s" in results(cli)[0]
