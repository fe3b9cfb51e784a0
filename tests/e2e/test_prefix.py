"""Every request of a conversation begins with the bytes of the one before: what prompt caches live on.

Thirty turns with tools per wire, in three processes: begun, resumed, forked. Between them the clock, the
zone, the language, the hash seed, the files in the directory, the order of the settings and what the server
says of its models change; what it says in passing (dated names, ids, counts, fingerprints) changes with every
reply.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Exchange, Request, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import strict as anthropic_strict
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_bedrock.sigv4 import Keys
from caliban_provider_bedrock.testing import strict as bedrock_strict
from caliban_provider_bedrock.testing import wire as bedrock
from caliban_provider_google.testing import strict as google_strict
from caliban_provider_google.testing import wire as google
from caliban_provider_ollama.testing import strict as ollama_strict
from caliban_provider_ollama.testing import wire as ollama
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.strict_chat import COMPATIBLE, DEEPSEEK, StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses
from caliban_provider_vertex.testing import strict as vertex_strict

BEGUN, RESUMED, FORKED = 12, 10, 8
"""How many turns call tools in each process; one more says the end."""

MARK = b',"cache_control":{"type":"ephemeral"}'
"""What Anthropic's way of caching moves from turn to turn."""

TABLES = (
    '[permissions]\nallow = ["Bash:echo *", "Read"]\ndeny = ["WebFetch", "WebSearch"]\n',
    '[env]\nAXE = "1"\nBOW = "2"\n',
)
SETTINGS = (
    "max_turns = 60\n" + "".join(TABLES),
    '[env]\nBOW = "2"\nAXE = "1"\n'
    '[permissions]\ndeny = ["WebSearch", "WebFetch"]\nallow = ["Read", "Bash:echo *"]\n',
    "".join(reversed(TABLES)),
)
PLACES: tuple[Mapping[str, str], ...] = (
    {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "1", "SHIFT_S": "0"},
    {"TZ": "Asia/Tokyo", "LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "2", "SHIFT_S": "4000000"},
    {"TZ": "America/New_York", "LANG": "de_DE.UTF-8", "PYTHONHASHSEED": "3", "SHIFT_S": "-90000000"},
)
CLOCK = """\
import os, time
shift, now = float(os.environ["SHIFT_S"]), time.time
time.time = lambda: now() + shift
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model says in one turn; `calls` are tools by name, with their arguments."""

    number: int
    calls: tuple[tuple[str, Mapping[str, object]], ...]

    @property
    def secret(self) -> str:
        """What the vendor wants back as it was: with every character that could be written otherwise."""
        return f"Sig+/{self.number:03}/" + "Zm9v+/" * 5 + "AAA=="

    @property
    def usage(self) -> Usage:
        return Usage(input_tokens=50 + self.number * 7, output_tokens=3 + self.number)

    @property
    def text(self) -> str:
        return f'Turn {self.number}: "ü" \u2028 <b> \\n é 🌍'

    def name_of(self, model: str) -> str:
        """The model's name as servers give it: now the alias, now a snapshot."""
        return (model, f"{model}-20260101", f"{model}-20260930")[self.number % 3]


def turns() -> Iterator[Said]:
    """The whole conversation: reads and commands, now and then side by side, and three ends."""
    number = 0
    for count in (BEGUN, RESUMED, FORKED):
        for place in range(count):
            number += 1
            read = ("Read", {"path": f"f{place % 3}.txt"})
            echo = ("Bash", {"command": f"echo 'n {number} ü'", "timeout_seconds": 9})
            yield Said(number=number, calls=((read,), (echo,), (read, echo))[number % 3])
        number += 1
        yield Said(number=number, calls=())


def claude(said: Said, model: str, *, write: Callable[..., Exchange] = anthropic.exchange) -> Exchange:
    blocks: list[anthropic.WireBlock] = [anthropic.thinking(f"hm {said.number}", signature=said.secret)]
    if said.number % 4 == 0:
        blocks.append(anthropic.redacted(said.secret))
    blocks.append(anthropic.text(said.text))
    ids = (f"toolu_{said.number:03}_{place}" for place in range(9))
    blocks += [
        anthropic.tool_use(name, args, id=id) for (name, args), id in zip(said.calls, ids, strict=False)
    ]
    return write(*blocks, model=said.name_of(model), usage=said.usage, id=f"msg_{said.number}")


def framed(said: Said, model: str) -> Exchange:
    return claude(said, model, write=bedrock.exchange)


def gemini(said: Said, model: str) -> Exchange:
    items = [google.thinking(f"hm {said.number}"), google.text(said.text)]
    for place, (name, args) in enumerate(said.calls):
        signature = said.secret if place == 0 else None
        items.append(
            google.call(name, args, id=f"c{said.number}" if said.number % 2 else None, signature=signature)
        )
    if not said.calls:
        items.append(google.text("The end.", signature=said.secret))
    name = (model, f"{model}-001", f"{model}-002")[said.number % 3]
    return google.exchange(*items, model=name, usage=said.usage, id=f"resp_{said.number}")


def llama(said: Said, model: str) -> Exchange:
    items = [ollama.thinking(f"hm {said.secret}"), ollama.text(said.text)]
    for place, (name, args) in enumerate(said.calls):
        items.append(ollama.call(name, args, id=f"call_{said.number}_{place}" if said.number % 2 else None))
    return ollama.exchange(*items, model=model, usage=said.usage)


def gpt(said: Said, model: str) -> Exchange:
    name = (model, f"{model}-2026-01-01", f"{model}-2026-09-30")[said.number % 3]
    items = [responses.reasoning(f"hm {said.number}", encrypted=said.secret, id=f"rs_{said.number}")]
    items.append(responses.text(said.text, phase="commentary" if said.calls else "final_answer"))
    items += [
        responses.call(tool, args, call_id=f"call_{said.number}_{place}")
        for place, (tool, args) in enumerate(said.calls)
    ]
    return responses.exchange(*items, model=name, usage=said.usage, id=f"resp_{said.number}")


def completion(said: Said, model: str, *, thinks: bool = False) -> Exchange:
    parts = [chat.thinking(f"hm {said.secret}")] if thinks else []
    parts.append(chat.text(said.text))
    parts += [
        chat.call(tool, args, id=f"call_{said.number}_{place}")
        for place, (tool, args) in enumerate(said.calls)
    ]
    name = (model, f"{model}-2026-01-01", f"{model}-2026-09-30")[said.number % 3]
    style = chat.Style(created=said.number)
    return chat.exchange(*parts, model=name, usage=said.usage, id=f"chatcmpl-{said.number}", style=style)


def reasoner(said: Said, model: str) -> Exchange:
    return completion(said, model, thinks=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One door: how it is asked for, what answers behind it, and which member holds the history.

    `at` and `table` are the environment and a part of the settings for a server's address. `marks` says that
    markers of the cache move; `secrets`, that what is secret must come back.
    """

    provider: str
    model: str
    reply: Callable[[Said, str], Exchange]
    validator: Callable[[Request], tuple[int, bytes] | None]
    at: Callable[[str], Mapping[str, str]] = field(default=lambda url: {})
    table: Callable[[str], str] = field(default=lambda url: "")
    history: bytes = b"messages"
    marks: bool = False
    secrets: bool = True


MODEL = "claude-sonnet-4-6"
KEYS = Keys(access_key_id="AKIDEXAMPLE", secret_access_key="wJalrXUtnFEMI", session_token=None)
WIRES = {
    "anthropic": Wire(
        provider="anthropic",
        model=MODEL,
        reply=claude,
        validator=anthropic_strict.StrictValidator(),
        at=lambda url: {"ANTHROPIC_BASE_URL": url},
        marks=True,
    ),
    "foundry": Wire(
        provider="foundry",
        model=MODEL,
        reply=claude,
        validator=anthropic_strict.StrictValidator(),
        at=lambda url: {"ANTHROPIC_FOUNDRY_BASE_URL": url, "ANTHROPIC_FOUNDRY_API_KEY": "k"},
        marks=True,
    ),
    "bedrock": Wire(
        provider="bedrock",
        model="global.anthropic.claude-sonnet-4-6",
        reply=lambda said, model: framed(said, MODEL),
        validator=bedrock_strict.StrictValidator(keys=KEYS),
        at=lambda url: {
            "AWS_BEDROCK_BASE_URL": url,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEYS.access_key_id,
            "AWS_SECRET_ACCESS_KEY": KEYS.secret_access_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        },
        marks=True,
    ),
    "vertex": Wire(
        provider="vertex",
        model=MODEL,
        reply=claude,
        validator=vertex_strict.StrictValidator(token="t", project="p-1"),
        at=lambda url: {
            "ANTHROPIC_VERTEX_BASE_URL": url,
            "ANTHROPIC_VERTEX_TOKEN": "t",
            "ANTHROPIC_VERTEX_PROJECT_ID": "p-1",
        },
        marks=True,
    ),
    "openai responses": Wire(
        provider="openai",
        model="gpt-5.5",
        reply=gpt,
        validator=StrictResponses(key="k"),
        at=lambda url: {
            "OPENAI_BASE_URL": "http://api.openai.com/v1",
            "HTTP_PROXY": url,
            "OPENAI_API_KEY": "k",
        },
        history=b"input",
    ),
    "azure responses": Wire(
        provider="azure",
        model="my-deployment",
        reply=lambda said, model: gpt(said, "gpt-5.5"),
        validator=StrictResponses(),
        at=lambda url: {"AZURE_OPENAI_BASE_URL": f"{url}/openai/v1", "AZURE_OPENAI_API_KEY": "k"},
        history=b"input",
    ),
    "azure chat": Wire(
        provider="azure",
        model="my-deployment",
        reply=lambda said, model: completion(said, "gpt-5.1"),
        validator=StrictChat(),
        at=lambda url: {"AZURE_OPENAI_BASE_URL": url, "AZURE_OPENAI_API_KEY": "k"},
        secrets=False,
    ),
    "chat by settings": Wire(
        provider="mine",
        model="some-model",
        reply=completion,
        validator=StrictChat(COMPATIBLE),
        table=lambda url: f'[provider.mine]\nkind = "openai"\nbase_url = "{url}/v1"\n',
        secrets=False,
    ),
    "chat with reasoning": Wire(
        provider="deep",
        model="deepseek-reasoner",
        reply=reasoner,
        validator=StrictChat(DEEPSEEK),
        table=lambda url: (
            '[provider.deep]\nkind = "openai"\nbase_url = "http://api.deepseek.com/v1"\n'
            'api_key_env = "DEEP"\n'
        ),
        at=lambda url: {"HTTP_PROXY": url, "DEEP": "k"},
    ),
    "google": Wire(
        provider="google",
        model="gemini-3.8-flash",
        reply=gemini,
        validator=google_strict.StrictValidator(),
        at=lambda url: {"GEMINI_BASE_URL": url, "GEMINI_API_KEY": "k"},
        history=b"contents",
    ),
    "google on vertex": Wire(
        provider="google",
        model="gemini-3.8-flash",
        reply=gemini,
        validator=google_strict.StrictValidator(),
        at=lambda url: {
            "GEMINI_BASE_URL": url,
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_CLOUD_PROJECT": "p-1",
            "GOOGLE_CLOUD_ACCESS_TOKEN": "t",
        },
        history=b"contents",
    ),
    "ollama": Wire(
        provider="ollama",
        model="llama3.1",
        reply=llama,
        validator=ollama_strict.StrictValidator(),
        at=lambda url: {"OLLAMA_BASE_URL": url},
        secrets=False,
    ),
}


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
            told = [line for line in done.err.splitlines() if "no price is known" not in line]
            assert told == [], "a break of the prefix would be told here"
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
        written = [said.secret.encode() for said in conversation[:place]]
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
