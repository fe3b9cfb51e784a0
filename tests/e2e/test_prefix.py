"""Every request of a conversation begins with the bytes of the one before: what prompt caches live on.

Thirty turns with tools per wire, in three processes: begun, resumed, forked. Between them the clock, the
zone, the language, the hash seed, the files in the directory, the order of the settings and what the server
says of its models change; what it says in passing (dated names, ids, counts, fingerprints) changes with every
reply.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from prefix_kit import BEGUN, CLOCK, FORKED, MARK, PLACES, RESUMED, SETTINGS, WIRES, Wire, turns

from caliban_provider.testing.exchange import Exchange, Request, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_ollama.testing import wire as ollama


class Model:
    """The server's side: the turns in order, and a different answer to every question about the model."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._turns = turns()
        self._asked = 0

    def __call__(self, request: Request) -> Exchange:
        """The answer to `request`."""
        if self.is_turn(request):
            return self._wire.reply(next(self._turns), self._wire.model)
        self._asked += 1
        if request.path == "/api/show":
            known = ("completion", "tools", "thinking")[: 2 + self._asked % 2]
            return ollama.shown(*known, context_tokens=32_768 << self._asked)
        if request.path == "/api/ps":
            return ollama.running()
        if request.path == "/api/tags":
            return ollama.tags(self._wire.model, *(f"other{number}" for number in range(self._asked)))
        window = {"id": self._wire.model, "type": "model", "max_input_tokens": 1000 * self._asked}
        return answer(200, json.dumps({"data": [window], "has_more": False}), content_type="application/json")

    @staticmethod
    def is_turn(request: Request) -> bool:
        """Whether `request` wants a reply."""
        return request.method == "POST" and request.path != "/api/show"


def scene(cli, wire: Wire, url: str, place: int) -> dict[str, str]:
    """Make the surroundings of one process; the environment that it gets."""
    config = cli.home / ".config" / "caliban"
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(SETTINGS[place] + wire.table(url))
    site = cli.home / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(CLOCK)
    for number in range(3):
        (cli.work / f"f{number}.txt").write_text(f"{place} {number}\nü “x” \u2028\t<&>\n")
    (cli.work / f"new{place}.md").write_text("one more")
    path = os.pathsep.join(filter(None, (str(site), cli.env.get("PYTHONPATH"))))
    return {**PLACES[place], **wire.at(url), "PYTHONPATH": path}


def converse(cli, wire: Wire) -> list[Request]:
    """All three processes; the requests for replies, in order."""
    begun = ("--session", "old", "--provider", wire.provider, "--model", wire.model)
    forked = ("-r", "old", "--fork-session", "--session", "new")
    with LoopbackServer(Model(wire), validator=wire.validator) as server:
        for place, how in enumerate((begun, ("-r", "old"), forked)):
            env = scene(cli, wire, server.url, place)
            if place and wire.provider in ("anthropic", "ollama"):
                cli.run("models", "--provider", wire.provider, env=env)
            done = cli.run(
                "-p", f"Go on ({place}), “please” \u2028 <é>.", *how, "--output-format", "json", env=env
            )
            refused = [request.body[-300:] for request in server.refused]
            assert done.code == 0, f"{done.err}\n{done.out}\n{refused}"
            lines = [line for line in done.err.splitlines() if "no price is known" not in line]
            assert lines == [], "a break of the prefix would be told here"
            assert done.json["session_id"] == ("old", "old", "new")[place]
        return [request for request in server.requests if Model.is_turn(request)]


def parted(body: bytes, history: bytes) -> tuple[bytes, bytes]:
    """A raw body: what stands before the history, and the history without its closing brackets."""
    opening = b'"%b":[' % history
    head, _, rest = body.partition(opening)
    assert rest.endswith(b"]}"), f"the history does not end the body: …{body[-80:]!r}"
    assert rest[:1] == b"{", "the history is a list of objects"
    return head + opening, rest.removesuffix(b"]}")


def check_marks(bodies: Sequence[bytes]) -> None:
    """Four markers at most: the last tool, the end of the system prompt, the user's last two messages.

    Those two are marked from where there is enough before them to be worth it, and from then on always.
    """
    worth_it = False
    for body in bodies:
        data = json.loads(body)
        users = [message["content"][-1] for message in data["messages"] if message["role"] == "user"]
        worth_it = worth_it or "cache_control" in users[-1]
        wanted = [data["tools"][-1], data["system"][-1], *(users[-2:] if worth_it else ())]
        assert all(block.get("cache_control") == {"type": "ephemeral"} for block in wanted)
        assert body.count(b'"cache_control"') == body.count(MARK) == len(wanted)
    assert len(wanted) == 4


def check_prefixes(requests: Iterable[Request], wire: Wire) -> None:
    """The law of this file, on the bytes as they were sent."""
    requests = list(requests)
    assert len({request.path for request in requests}) == 1
    heads = {parted(request.body, wire.history)[0] for request in requests}
    assert len(heads) == 1, "what stands before the history changed: " + difference(*sorted(heads)[:2])
    bodies = [request.body.replace(MARK, b"") if wire.marks else request.body for request in requests]
    histories = [parted(body, wire.history)[1] for body in bodies]
    for number, (one, two) in enumerate(pairwise(histories), 1):
        grown = two.startswith(one + b",")
        assert grown, f"request {number + 1} does not begin with request {number}: {difference(one, two)}"


def difference(one: bytes, two: bytes) -> str:
    """Where two bodies part, for a person."""
    equal = (number for number, (left, right) in enumerate(zip(one, two, strict=False)) if left != right)
    place = next(equal, min(len(one), len(two)))
    start = max(place - 60, 0)
    return f"at byte {place}:\n{one[start : place + 100]!r}\n{two[start : place + 100]!r}"


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("name", WIRES)
def test_each_request_begins_with_the_bytes_of_the_one_before(cli, name):
    wire = WIRES[name]
    requests = converse(cli, wire)
    conversation = list(turns())
    assert len(requests) == len(conversation) == BEGUN + RESUMED + FORKED + 3
    check_prefixes(requests, wire)
    if wire.marks:
        check_marks([request.body for request in requests])
    for place, request in enumerate(requests):
        assert wire.marks or b"cache_control" not in request.body
        written = [turn.secret.encode() for turn in conversation[:place]]
        missing = [secret for secret in written if secret not in request.body]
        assert not (wire.secrets and missing), f"{missing[0]!r} did not come back in request {place + 1}"


def test_the_law_would_see_a_break():
    """The check itself: one changed byte, a moved member, or a lost message is found."""
    wire = WIRES["chat by settings"]

    def asked(body: str) -> Request:
        return Request(method="POST", path="/", headers={}, body=body.encode(), connection=1)

    first = asked('{"model":"m","messages":[{"a":1}]}')
    check_prefixes([first, asked('{"model":"m","messages":[{"a":1},{"b":2}]}')], wire)
    for broken in (
        '{"model":"m","messages":[{"a":2},{"b":2}]}',
        '{"model":"m","messages":[{"a":1 },{"b":2}]}',
        '{"model":"n","messages":[{"a":1},{"b":2}]}',
        '{"model":"m","messages":[{"b":2}]}',
        '{"model":"m","messages":[{"a":1}]}',
    ):
        with pytest.raises(AssertionError):
            check_prefixes([first, asked(broken)], wire)
