"""The head of a request has one meaning, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_sandbox.egress.head import RequestHead, is_hopeless, parse_head
from caliban_sandbox.egress.values import Refusal

HOST = "Host: a.example"


def head(*lines: str) -> RequestHead | Refusal:
    return parse_head("\r\n".join(lines).encode("latin-1"))


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (("GET http://a.example/x?y HTTP/1.1", HOST), ("a.example", 80, "/x?y")),
        (("GET http://a.example HTTP/1.1", HOST), ("a.example", 80, "/")),
        (("GET http://a.example?q HTTP/1.1", HOST), ("a.example", 80, "/?q")),
        (("GET HTTP://A.example.:80/ HTTP/1.1", "host:\tA.EXAMPLE \t"), ("a.example", 80, "/")),
        (("GET http://a.example:443/ HTTP/1.1", "Host: a.example:443"), ("a.example", 443, "/")),
        (("GET http://a.example/ HTTP/1.0",), ("a.example", 80, "/")),
        (("CONNECT a.example:443 HTTP/1.1", "Host: a.example:443"), ("a.example", 443, "")),
        (("CONNECT a.example:443 HTTP/1.1", HOST), ("a.example", 443, "")),
        (("CONNECT a.example:443 HTTP/1.0",), ("a.example", 443, "")),
        (("CONNECT [::1]:443 HTTP/1.1", "Host: [::1]"), ("[::1]", 443, "")),
        (
            ("GET http://a.example/http://b.example/@ HTTP/1.1", HOST),
            ("a.example", 80, "/http://b.example/@"),
        ),
    ],
)
def test_a_request_says_where_it_goes(lines, place):
    request = head(*lines)
    assert isinstance(request, RequestHead)
    assert (request.host, request.port, request.path) == place


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("GET / HTTP/1.1", HOST), id="a request to a server"),
        pytest.param(("GET https://a.example/ HTTP/1.1", HOST), id="TLS without a tunnel"),
        pytest.param(("GET ftp://a.example/ HTTP/1.1", HOST), id="another scheme"),
        pytest.param(("GET //a.example/ HTTP/1.1", HOST), id="no scheme"),
        pytest.param(("connect a.example:443 HTTP/1.1", HOST), id="a method in small letters"),
        pytest.param(("GET  http://a.example/ HTTP/1.1", HOST), id="two blanks"),
        pytest.param(("GET http://a.example/ HTTP/1.1 ", HOST), id="a blank at the end"),
        pytest.param(("GET http://a.example/ HTTP/2.0", HOST), id="another version"),
        pytest.param(("GET http://a.example/",), id="HTTP/0.9"),
        pytest.param(("",), id="an empty line"),
        pytest.param(("GET http://a.example/#x HTTP/1.1", HOST), id="a fragment"),
        pytest.param(("GET http://u:p@a.example/ HTTP/1.1", HOST), id="user information"),
        pytest.param(("CONNECT u@a.example:443 HTTP/1.1", HOST), id="user information for a tunnel"),
        pytest.param(("GET http://a.example:0/ HTTP/1.1", "Host: a.example:0"), id="port 0"),
        pytest.param(("GET http://a.example:65536/ HTTP/1.1", "Host: a.example:65536"), id="port 65536"),
        pytest.param(("CONNECT a.example HTTP/1.1", HOST), id="a tunnel without a port"),
        pytest.param(("GET http://a.example/ HTTP/1.1",), id="no Host"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, HOST), id="two Hosts"),
        pytest.param(("GET http://a.example/ HTTP/1.1", "Host: b.example"), id="another Host"),
        pytest.param(("GET http://a.example/ HTTP/1.1", "Host: a.example:81"), id="another port"),
        pytest.param(("GET http://a.example/ HTTP/1.0", "Host: b.example"), id="another Host of 1.0"),
        pytest.param(
            ("CONNECT a.example:443 HTTP/1.1", "Host: b.example:443"), id="another Host of a tunnel"
        ),
        pytest.param(("GET http://a.example/ HTTP/1.1", "Host: "), id="an empty Host"),
        pytest.param(("GET http://a.example/ HTTP/1.1", "Host : a.example"), id="a blank before the colon"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, " X: 1"), id="a continued field"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "\tX: 1"), id="one continued by a tab"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X"), id="no colon"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, ": x"), id="no name"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X\xfc: x"), id="a name beyond ASCII"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X: a\x07"), id="a control character"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X: a\x00"), id="a NUL"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X: a\nY: b"), id="a bare LF"),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, "X: a\rY: b"), id="a bare CR"),
        pytest.param(("GET http://a.example/\xfc HTTP/1.1", HOST), id="a path beyond ASCII"),
        pytest.param(
            ("POST http://a.example/ HTTP/1.1", HOST, "Content-Length: 1", "Content-Length: 1"),
            id="two lengths",
        ),
        pytest.param(
            ("POST http://a.example/ HTTP/1.1", HOST, "Content-Length: 1", "Transfer-Encoding: chunked"),
            id="a length and a coding",
        ),
        *(
            pytest.param(("POST http://a.example/ HTTP/1.1", HOST, f"Transfer-Encoding: {coding}"), id=coding)
            for coding in ("gzip, chunked", "chunked, chunked", "identity", "xchunked", "chunked\x0b", "")
        ),
        pytest.param(
            ("POST http://a.example/ HTTP/1.0", HOST, "Transfer-Encoding: chunked"), id="chunks of 1.0"
        ),
        *(
            pytest.param(
                ("POST http://a.example/ HTTP/1.1", HOST, f"Content-Length: {length}"), id=f"length {length}"
            )
            for length in ("-1", "+1", "1, 1", "0x1", "1 1", "", "1" * 16, "\xb2", "1_0")
        ),
        pytest.param(
            ("CONNECT a.example:443 HTTP/1.1", HOST, "Content-Length: 5"), id="a tunnel with a body"
        ),
        pytest.param(("GET http://a.example/ HTTP/1.1", HOST, *["X: y"] * 100), id="101 fields"),
    ],
)
def test_what_has_two_meanings_or_none_is_refused(lines):
    refusal = head(*lines)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.host) == (400, None)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "[::ffff:127.0.0.1]",
            "[::1%25lo]",
            "[::1%lo]",
            "a..b",
        ),
        pytest.param("a%2eb.example", id="s539"),
        *("a\\b.example", "-a.example", "*.example", "a" * 300),
    ],
)
@pytest.mark.parametrize("line", ["CONNECT {}:443 HTTP/1.1", "GET http://{}/ HTTP/1.1"])
def test_a_host_that_cannot_be_compared_is_refused_by_its_name(host, line):
    refusal = head(line.format(host), f"Host: {host}")
    assert isinstance(refusal, Refusal)
    assert refusal.status == 403
    assert refusal.host == (host if len(host) <= 253 else host[:250] + "...")
    assert "sandbox.network.allowed_domains" in refusal.line


def test_what_is_between_client_and_proxy_goes_no_further():
    request = head(
        "POST http://a.example/x HTTP/1.1",
        HOST,
        "Connection: keep-alive, X-Mine, Content-Length, Host",
        "X-Mine: 1",
        "Keep-Alive: 5",
        "Proxy-Connection: keep-alive",
        "Proxy-Authorization: Basic c2VjcmV0",
        "Upgrade: websocket",
        "TE: trailers",
        "Content-Length: 5",
        "X-Other: \xfc",
    )
    assert isinstance(request, RequestHead)
    assert request.length == 5
    assert request.onward() == (
        b"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nX-Other: \xfc\r\n"
        b"Connection: close\r\n\r\n"
    )


@given(st.binary(max_size=400))
def test_any_bytes_are_a_request_or_a_refusal(raw):
    assert isinstance(parse_head(raw), RequestHead | Refusal)


_PIECES = st.sampled_from(
    [
        *(b"GET ", b"CONNECT ", b"http://", b"a.example", b":443", b" HTTP/1.1", b"\r\n", b"Host: a.example"),
        *(b"\n", b"\r", b"\x00", b" ", b"@", b"[::1]", b"Content-Length: 1", b"Transfer-Encoding: chunked"),
        *(b"127.0.0.1", b"%", b"/"),
    ]
)


@given(st.lists(_PIECES | st.binary(max_size=3), max_size=20).map(b"".join))
def test_pieces_of_requests_in_any_order_mean_one_thing_or_nothing(raw):
    request = parse_head(raw)
    if isinstance(request, RequestHead):
        onward = request.onward()
        assert onward.count(b"\r\n\r\n") == 1
        assert not is_hopeless(onward)
        hosts = [line for line in onward.lower().split(b"\r\n") if line.startswith(b"host:")]
        assert len(hosts) <= 1
