"""A further provider over HTTP is a body, a decoder and how it is signed: the rest is asked of the kit.

A whole one, installed by name, is the example `caliban-provider-echo`: see `tests/thirdparty`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import count

import pytest

from caliban_agent_core import Agent
from caliban_provider.call import Caller, Prepared
from caliban_provider.capabilities import Capabilities
from caliban_provider.classify import error_for
from caliban_provider.credential import Credential, CredentialCache
from caliban_provider.errors import StreamInterrupted
from caliban_provider.http import HttpClient
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.stream import BlockStart, MessageDelta, MessageStart, MessageStop, TextDelta
from caliban_provider.testing.loopback import LoopbackServer, answer

pytestmark = pytest.mark.anyio


class LineDecoder:
    """A wire whose every line is a piece of text, and whose last is empty."""

    stopped = False

    def feed(self, line):
        if line == b".":
            self.stopped = True
            return [MessageDelta("end_turn", None), MessageStop()]
        return [MessageStart(), BlockStart(0, "text"), TextDelta(0, line.decode())]

    def finish(self, fault):
        if not self.stopped:
            raise StreamInterrupted("the reply has no end")
        return []


class LineProvider:
    """The provider: what goes out, who reads what comes, and with which key."""

    name = family = "lines"

    def __init__(self, url, fetch):
        self._url, self._keys = url, CredentialCache(fetch)
        self._http = HttpClient()
        self._caller = Caller(self._http, error_from=self._error, credentials=self._keys)

    def capabilities(self, model):
        return Capabilities()

    @asynccontextmanager
    async def stream(self, request):
        def prepare():
            headers = {"x-key": self._keys.value}
            words = request.messages[-1].text.encode()
            return Prepared(method="POST", url=self._url, headers=headers, body=words)

        async with self._caller.stream(prepare, 5) as body:
            yield ReplyReader(body, NDJSONDecoder(), LineDecoder(), StreamTimeouts(first_byte_s=5, idle_s=5))

    async def list_models(self):
        return ()

    async def aclose(self):
        await self._http.aclose()

    def _error(self, status, headers, body):
        return error_for(status, headers, body, provider=self.name, secrets=(self._keys.value,))


async def test_a_body_a_decoder_and_a_key_are_a_provider_that_renews_and_retries():
    numbers = count(1)

    async def fetch(refused):
        return Credential(value=f"key-{next(numbers)}")

    script = [answer(401, "who"), answer(503, "later"), answer(200, b"well\n.\n", content_type="text/lines")]
    with LoopbackServer(script) as server:
        provider = LineProvider(server.url, fetch)
        outcome = await Agent(provider, "any").run_to_end("Hi")
        await provider.aclose()
        assert (outcome.stop.kind, outcome.messages[-1].text) == ("end_of_turn", "well")
        assert [request.headers["x-key"] for request in server.requests] == ["key-1", "key-2", "key-2"]
        assert {request.body for request in server.requests} == {b"Hi"}
