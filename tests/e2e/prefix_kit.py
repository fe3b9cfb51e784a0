"""The wires of the prefix tests: what a model says in each, and where its server is looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Exchange, Request
from caliban_provider_anthropic.testing import strict as anthropic_strict
from caliban_provider_anthropic.testing import wire as anthropic
from caliban_provider_bedrock.sigv4 import AwsKeys
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
KEYS = AwsKeys(access_key_id="AKIDEXAMPLE", secret_access_key="wJalrXUtnFEMI", session_token=None)
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
