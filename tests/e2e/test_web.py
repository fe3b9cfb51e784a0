"""The web through the real command: what is fetched, what is refused, what leave it needs."""

from __future__ import annotations

import json

import pytest
from test_tool_loop import call, results

from caliban_provider.testing.exchange import Exchange, Hang, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("done"))
KEY = "search-" + "k" * 40
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
    assert "Tool call denied: the URL is refused: its " in results(cli)[0]
    assert site.connections == 0


def test_without_a_rule_nothing_is_fetched(cli, site):
    fetch(cli, "https://docs.python.org/3/")
    assert results(cli)[0].startswith("Tool call denied:") and "--allow" in results(cli)[0]


def test_a_server_that_does_not_go_on_is_left_in_time(cli, site):
    cli.configure(f'web_fetch_hosts = ["127.0.0.1:{site.port}"]\n')
    site.extend(Exchange(steps=(Send(b"<h1>begins"), Hang())))
    fetch(cli, site.url, "--allow", "WebFetch", timeout_seconds=1)
    assert "did not answer within 1 s" in results(cli)[0]


@pytest.mark.parametrize("chosen", ["", "exa"])
def test_the_web_is_searched_with_the_key_that_is_there(cli, site, chosen):
    page = {
        "results": [{"title": "Docs", "url": "https://docs.example/", "text": "how to", "content": "how to"}]
    }
    site.extend(answer(200, json.dumps(page), content_type="application/json"))
    name = chosen or "tavily"
    cli.extra |= {f"{name.upper()}_API_KEY": KEY, f"{name.upper()}_BASE_URL": site.url}
    cli.extra["CALIBAN_WEBSEARCH_PROVIDER"] = chosen
    call(cli, wire.tool_use("WebSearch", {"query": "how"}), flags=("--allow", "WebSearch"))
    assert (
        results(cli)[0]
        == f"→ WebSearch 'how' ({name}): 1 result\n1. Docs\n   https://docs.example/\n   how to"
    )
    assert KEY in str(dict(site.requests[0].headers))


def test_a_search_without_a_key_says_what_would_help_and_a_key_is_never_shown(cli, site):
    uses = wire.tool_use("WebSearch", {"query": "how"})
    call(cli, uses, flags=("--allow", "WebSearch"))
    assert "there is no key for brave" in results(cli)[0] and "BRAVE_API_KEY" in results(cli)[0]
    site.extend(answer(500, f"bad key {KEY}"))
    cli.extra |= {"BRAVE_API_KEY": KEY, "BRAVE_BASE_URL": site.url}
    call(cli, uses, flags=("--allow", "WebSearch"))
    assert "status 500" in results(cli, turn=3)[0] and KEY not in results(cli, turn=3)[0]
    cli.extra["CALIBAN_WEBSEARCH_PROVIDER"] = "bing"
    call(cli, uses, flags=("--allow", "WebSearch"))
    assert "none of brave, tavily, exa" in results(cli, turn=5)[0]


def test_without_a_rule_nothing_is_searched(cli):
    call(cli, wire.tool_use("WebSearch", {"query": "how"}))
    assert results(cli)[0].startswith("Tool call denied:")
