"""A plain request is sent as the HTTP library would send it, and whatever is not plain is left to that."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_provider import plain_request as module
from caliban_provider.connection import HttpTimeouts, Origin, Pool
from caliban_provider.httpx_client import HttpxClient
from caliban_provider.plain_request import plain_request

HEADERS = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "caliban"}
LIMITS = HttpTimeouts(connect_s=HANG_S, read_s=HANG_S, write_s=HANG_S)


class Sent(Exception):
    """Thrown where the connection would be."""


class Recorder(Pool):
    """A pool that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__(LIMITS, lambda: pytest.fail("no TLS is needed"))
        self.sent: list[tuple[Origin, bytes]] = []

    async def request(self, origin: Origin, method: str, request: bytes):
        self.sent.append((origin, request))
        raise Sent


def by_httpx(method: str, url: str, headers: dict[str, str], body: bytes) -> tuple[Origin, bytes]:
    pool = Recorder()
    library = HttpxClient(LIMITS, pool, HEADERS, lambda: pytest.fail("no TLS is needed"))

    async def send() -> None:
        try:
            await library.request(method, url, headers, body, host="h")
        except Sent:
            pass
        await library.aclose()

    anyio.run(send)
    return pool.sent[0]


def taken_apart(content: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """The first line, the headers and the body: the order of headers means nothing."""
    head, _, body = content.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    fields = [line.split(b": ", 1) for line in lines]
    named = {name.lower(): value for name, value in fields}
    assert len(named) == len(fields), "a header is sent twice"
    return first, named, body


SEGMENTS = st.text("abzAZ09-_~!$&'()*+,;=:@", min_size=1, max_size=6) | st.just("%2F") | st.just("a%3ab")
QUERIES = st.text("abz09-_.~!$&'()*+,;=:@/?", max_size=8).map(lambda query: query.replace("/.", "/"))
"""Dots behind a slash are the library's to look at."""
HOSTS = st.sampled_from(["a", "models.example", "127.0.0.1", "[::1]", "x-1.y", "localhost"])
PORTS = st.sampled_from(["", ":80", ":443", ":8080", ":65535"])
NAMES = st.sampled_from(["x-api-key", "X-Team", "accept", "User-Agent", "content-type"])


def address(host: str, port: str, path: list[str], query: str) -> str:
    asked = f"?{query}" if path and query else ""
    return f"http://{host}{port}" + "".join(f"/{part}" for part in path) + asked


@settings(max_examples=examples(60))
@given(
    st.sampled_from(["GET", "POST", "DELETE"]),
    st.builds(address, HOSTS, PORTS, st.lists(SEGMENTS, max_size=3), QUERIES),
    st.dictionaries(NAMES, st.sampled_from(["", "k", 'a b; c="d"']), max_size=3),
    st.sampled_from([b"", b"{}", b"\x00\r\n\r\n"]),
)
def test_a_plain_request_has_the_bytes_that_the_library_would_send(method, url, headers, body):
    made = plain_request(method, url, headers, body, defaults=HEADERS)
    assert made is not None
    origin, content = by_httpx(method, url, headers, body)
    assert made.origin == origin
    assert taken_apart(made.content) == taken_apart(content)


@pytest.fixture(scope="module", autouse=True)
def without_proxies():
    """No proxies, whatever the surroundings say."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        yield


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@host/",
        "http://host/a/../b",
        "http://host/./b",
        "http://host/a b",
        "http://host/#x",
        "http://host/%zz",
        "http://host/ä",
        "http://bücher.example/",
        "http://HOST/",
        "http://host:0/",
        "http://host:65536/",
        "http://host:99999999999/",
        "http://host?x=1",
        "http://[fe80::1%25eth0]/",
        "http://-a/",
        "http://a-/",
        "http://a_b/",
        "ftp://host/",
        "http:///x",
        "http://",
        "",
        "http://host/\n",
        "http://host/\\x",
        'http://host/"',
    ],
)
def test_what_is_not_plain_is_left_to_the_library(url):
    assert plain_request("GET", url, {}, b"", defaults=HEADERS) is None


@pytest.mark.parametrize("name", ["Host", "connection", "Content-Length", "Transfer-Encoding", "Expect"])
def test_headers_about_the_connection_are_left_to_the_library(name):
    assert plain_request("GET", "http://host/", {name: "x"}, b"", defaults=HEADERS) is None


@pytest.mark.parametrize(
    ("environ", "may"),
    [
        ({}, False),
        ({"HTTP_PROXY": ""}, False),
        ({"NO_PROXY": "*"}, False),
        ({"https_proxy": "http://p:1"}, True),
        ({"ALL_PROXY": "socks5://p"}, True),
    ],
)
@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the system may name a proxy as well")
def test_a_proxy_is_looked_for_in_the_environment(monkeypatch, environ, may):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert module.may_be_proxied() is may


def test_a_plain_request_does_not_load_the_library():
    code = """
import sys
import anyio
from caliban_provider.http import HttpClient
from caliban_provider.testing.loopback import LoopbackServer, answer

async def main():
    with LoopbackServer(default=answer(200)) as server:
        client = HttpClient()
        async with client.stream("POST", server.url + "/v1", headers={}, body=b"{}") as response:
            await response.read(10)
        await client.aclose()

anyio.run(main)
print("httpx" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
