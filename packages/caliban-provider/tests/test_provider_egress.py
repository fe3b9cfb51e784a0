"""The guard before servers that a model names: public addresses, usual ports, what a person listed."""

from __future__ import annotations

import pytest

from caliban_provider.connection import Origin
from caliban_provider.egress import EgressGuard
from caliban_provider.errors import InvalidRequest
from caliban_provider.http import HttpClient
from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer

pytestmark = pytest.mark.anyio


async def test_nothing_is_dialled_that_is_not_public_by_any_spelling_of_it():
    with LoopbackServer([answer(200, "x")]) as server:
        http = HttpClient(guard=EgressGuard(listed=frozenset({"listed.invalid"})))
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0"):
            with pytest.raises(InvalidRequest):
                async with http.stream("GET", f"http://{host}:{server.port}/", headers={}):
                    pass
        await http.aclose()
        assert (server.requests, server.connections) == ((), 0)


async def test_a_port_that_is_none_of_the_web_is_refused_even_of_a_public_address():
    with pytest.raises(InvalidRequest, match="only the ports 80, 443"):
        await EgressGuard().addresses(Origin(scheme="http", host="8.8.8.8", port=25))
    assert await EgressGuard().addresses(Origin(scheme="https", host="8.8.8.8", port=443)) == ("8.8.8.8",)


@pytest.mark.parametrize("listed", ["127.0.0.1", "127.0.0.1:{port}"])
async def test_what_a_person_has_listed_is_asked(listed):
    with LoopbackServer([answer(200, "x")]) as server:
        guard = EgressGuard(listed=frozenset({listed.format(port=server.port)}))
        http = HttpClient(guard=guard)
        async with http.stream("GET", f"{server.url}/page", headers={}) as response:
            assert (response.status, await response.read(9)) == (200, b"x")
        await http.aclose()
        other = Origin(scheme="http", host="127.0.0.1", port=server.port + 1)
        if ":" in listed:
            with pytest.raises(InvalidRequest):
                await guard.addresses(other)
