"""Hosts are compared in one spelling, label by label."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_sandbox import SandboxError
from caliban_sandbox.egress.hosts import host_list, plain_host, shown


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("example.com", "example.com"),
        pytest.param("EXAMPLE.com.", "example.com", id="s687-final-dot"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("_dns.a-b.example", "_dns.a-b.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
        ("[2606:4700::1111]", "[2606:4700::1111]"),
        ("a" * 63 + ".example", "a" * 63 + ".example"),
    ],
)
def test_a_host_has_one_spelling(text, plain):
    assert plain_host(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..b", "example.com..", " example.com", "example.com\n", "a\x00.example", "a\tb", "a b"),
        *("example.com:443", "http://example.com", "example.com/x", "user@example.com", "*.example.com", "*"),
        *("a%2eb", "a\\b", "-a.example", "a-.example", "a" * 64 + ".example", ".".join(["a"] * 200)),
        *("2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "1", "127.0.0.01", "256.1.1.1"),
        *(
            "\uff11\uff12\uff17.0.0.1",
            "docs\u2024example",
            "a\u3002b",
            "\u212aelvin.example",
            "B\u00dcCHER.example",
        ),
        *("stra\u00dfe.example", "\u00ad.example", "\ud800.example", "a\u200db.example"),
        *(
            "[::1",
            "::1]",
            "[::1%lo]",
            "[::1%25lo]",
            "[::ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
        ),
        *("[2002:7f00:1::]", "[1::2::3]", "[127.0.0.1]", "[]", "[::1]x", "[[::1]]"),
        pytest.param("::1", id="s690-1"),
        pytest.param("1:2::3:443", id="s690-2"),
    ],
)
def test_what_could_be_read_in_two_ways_has_none(text):
    assert plain_host(text) is None
    with pytest.raises(SandboxError, match="is no host that can be compared"):
        host_list(["a.example", text, "*." + text] if not text.startswith("*.") else [text + "*"])


@pytest.mark.parametrize(
    "entry", ["*.127.0.0.1", "*.[::1]", "*", "*.", "*.*.example", "a.*.example", "ex*.com"]
)
def test_a_list_takes_stars_before_names_only(entry):
    with pytest.raises(SandboxError) as caught:
        host_list([entry])
    assert repr(entry) in caught.value.message


@pytest.mark.parametrize(
    ("entry", "host", "is_for"),
    [
        ("example.com", "example.com", True),
        pytest.param("example.com", "evilexample.com", False, id="s687-suffix"),
        pytest.param("example.com", "example.com.evil.example", False, id="s687-prefix"),
        ("example.com", "www.example.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.Example.COM.", "www.example.com", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("[::1]", "[::1]", True),
        ("*.0.1.example", "127.0.0.1", False),
    ],
)
def test_lists_match_whole_labels(entry, host, is_for):
    assert host_list([entry]).matches(host) is is_for


@given(st.text(max_size=300))
def test_a_spelling_is_its_own_spelling(text):
    host = plain_host(text)
    assert host is None or (host.isascii() and host == host.lower() and plain_host(host) == host)


@given(st.text(max_size=400))
def test_what_is_shown_is_short_and_printable(text):
    line = shown(text)
    assert len(line) <= 253
    assert line.isascii()
    assert line == "" or line.isprintable()
