"""URL rules: hosts by label, no leniency, and what is refused before any rule is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions.rules.url import compile_url, open_host, parse_url


@pytest.mark.parametrize(
    ("pattern", "url", "allowed"),
    [
        ("https://a.example/*", "https://a.example/x?y#z", True),
        ("https://a.example/*", "https://a.example.evil.example/x", False),
        ("https://a.example/*", "https://a.example:8443/x", False),
        ("https://a.example:8443/*", "https://a.example:8443/x", True),
        ("https://a.example:443/*", "https://a.example/x", True),
        ("https://a.example/*", "HTTPS://A.Example./x", True),
        ("https://a.example/*", "http://a.example/x", False),
        ("http*://a.example/*", "http://a.example/x", True),
        ("https://a.example/docs/*", "https://a.example/docs/../admin", False),
        ("https://a.example/docs/*", "https://a.example/docs/%2e%2E/admin", False),
        ("https://a.example/docs/*", "https://a.example/docs/a", True),
        ("https://*.example.com/*", "https://a.b.example.com/", True),
        ("https://*.example.com/*", "https://example.com/", False),
        ("https://*.example.com/*", "https://evil-example.com/", False),
        ("https://api-*.example.com/*", "https://api-1.example.com/", True),
        ("https://api-*.example.com/*", "https://api-1.evil.com/.example.com/", False),
        ("https://docs.*", "https://docs.rs/a", True),
        ("https://docs.*", "https://docs.python.org/a", True),
        ("https://docs.*", "https://docs.python.org.evil.example/", False),
        ("https://docs.python.org*", "https://docs.python.org.evil.example/", False),
        ("https://*", "https://a.b.c/", True),
        ("https://a.example", "https://a.example/", True),
        ("https://a.example", "https://a.example/x", False),
        ("domain:a.example", "http://a.example/x", True),
        ("domain:*.a.example", "https://b.a.example/x", True),
        ("domain:a.example", "https://b.a.example/x", False),
        ("*", "https://a.example/x", True),
        ("https://a.example/*", "https://u@a.example/x", False),
    ],
)
def test_an_allow_covers_whole_labels(pattern: str, url: str, allowed: bool) -> None:
    assert compile_url(pattern).allows(parse_url(url)) is allowed


@pytest.mark.parametrize(
    ("pattern", "url", "denied"),
    [
        ("https://evil.example/*", "HTTPS://EVIL.EXAMPLE./x", True),
        ("https://evil.example/*", "https://evil.example:443/x", True),
        ("https://evil.example/*", "https://evil.example:8443/x", True),
        ("https://evil.example/*", "https://u:p@evil.example/x", True),
        ("https://evil.*", "https://evil.a.b.c.d/x", True),
        ("http://*", "http://a.example/x", True),
        ("*evil*", "https://a.example/?evil", True),
        ("domain:evil.example", "http://evil.example/x", True),
        ("https://evil.example/*", "https://good.example/x", False),
    ],
)
def test_a_deny_finds_every_spelling(pattern: str, url: str, denied: bool) -> None:
    assert compile_url(pattern).touches(parse_url(url)) is denied


@pytest.mark.parametrize(
    "url",
    [
        "https://a\\b/",
        "https://a b/",
        "https://a\tb/",
        "https://a%2eb/",
        "https:///x",
        "a.example",
        "https://a:b/",
        "https://a\u2024b/",
        "https://\uff41.example/",
        "https://a\u00ad.example/",
        "//a.example",
        "",
        "https://a\x00/",
    ],
)
def test_what_two_readers_read_differently_is_refused(url: str, scene: Any) -> None:
    assert parse_url(url).refused
    decision = scene.decide("WebFetch", {"url": url}, ("allow", "WebFetch"))
    assert decision.action == "deny"
    assert "URL" in decision.reason


def test_an_international_host_is_its_punycode() -> None:
    assert parse_url("https://B\u00fccher.example/x").normal == "https://xn--bcher-kva.example/x"


@given(st.text(max_size=60))
def test_parsing_never_raises(text: str) -> None:
    parse_url(text)
    parse_url("https://" + text)


@pytest.mark.parametrize(
    ("pattern", "is_open"),
    [
        ("https://docs.*", True),
        ("https://docs.*/x", True),
        ("https://*.example.com/*", False),
        ("https://a.example/*", False),
        ("*", True),
        ("domain:a.*", True),
        ("domain:*.a.example", False),
        ("https://*/x", True),
        ("https://a.com*", True),
    ],
)
def test_an_open_host_is_told(pattern: str, is_open: bool) -> None:
    assert open_host(pattern) is is_open
