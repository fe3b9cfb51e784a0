"""The bodies of requests on every wire, byte for byte."""

from __future__ import annotations

import base64
import json

import pytest
from golden_kit import ONLY_READ_AND_BASH, Names, asked, check, files, part, transcript
from golden_wires import ODD, PNG, Last, is_turn, replies, stored
from prefix_kit import WIRES, Said

from caliban_common.codec import dumps
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.tool import ToolSpec
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_local.encode import encode
from caliban_provider_local.gguf import GgufHeader
from caliban_provider_local.model import LocalModel

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "ü": {"type": ["string", "null"], "maxLength": 5}},
        "required": ["a"],
    },
    ensure_ascii=False,
)
CALLS = (("Read", {"path": "pixel.png"}), ("Bash", {"command": "echo 'n ü'", "timeout_seconds": 9}))
ONES = {
    "bare": ("--no-tools", "--no-system", "--no-prompt-cache", "--max-tokens", "99"),
    "all tools": ("--system", "Be brief."),
}
ALSO = [(name, "bare") for name in ("anthropic", "openai responses", "chat by settings", "google", "ollama")]
ALSO += [("anthropic", "all tools"), ("google", "all tools")]


@pytest.mark.parametrize("name", WIRES)
def test_a_stored_conversation_goes_on_with_the_frozen_bodies(cli, name):
    """The first body holds what was stored; the second, what the wire itself just said; then the file."""
    wire = WIRES[name]
    kept = cli.home / "kept"
    kept.mkdir()
    (kept / "s.json").write_bytes(stored(wire.provider, wire.model))
    (cli.work / "pixel.png").write_bytes(base64.b64decode(PNG))
    args = ("-p", "And @pixel.png?", "-r", "s", "--sessions-dir", "../home/kept", "--output-format", "json")
    args += ("--provider", wire.provider, "--model", wire.model, "--system", "Be brief.", *ONLY_READ_AND_BASH)
    args += ("--allow", "Bash:echo *", "--json-schema", SCHEMA, "--temperature", "0.5")
    args += ("--settings", '{"effort": "high"}')
    server = replies(wire, Said(number=4, calls=CALLS), Last(number=5, calls=()))
    with LoopbackServer(server) as at:
        cli.configure(wire.table(at.url))
        done = cli.run(*args, env=wire.at(at.url))
        bodies = [asked(request) for request in at.requests if is_turn(request)]
    names = Names(cli)
    text = "".join((*bodies, part("files", files(kept)), transcript(args, done)))
    check(f"requests/{name.replace(' ', '-')}", names(text))
    assert (done.code, len(bodies)) == (0, 2)


@pytest.mark.parametrize(("name", "one"), ALSO)
def test_a_first_prompt_has_the_frozen_body(cli, name, one):
    wire = WIRES[name]
    args = ("-p", "Hi “you”", "--provider", wire.provider, "--model", wire.model, "--no-save", *ONES[one])
    with LoopbackServer(replies(wire, Last(number=5, calls=()))) as at:
        cli.configure(wire.table(at.url))
        done = cli.run(*args, env=wire.at(at.url))
        bodies = [asked(request) for request in at.requests if is_turn(request)]
    file = f"requests/{name}.{one}".replace(" ", "-")
    check(file, Names(cli)("".join((*bodies, transcript(args, done)))))
    assert (done.code, len(bodies)) == (0, 1)


ROUTE = """\
[[router.route]]
purpose = "main_loop"
provider = "{provider}"
model = "{model}"
effort_map = {{ high = "budget=2048" }}
"""


@pytest.mark.parametrize(
    ("name", "model"),
    [("anthropic", "claude-haiku-4-5"), ("google", "gemini-2.5-flash")],
)
def test_a_budget_of_thinking_is_asked_for_with_the_frozen_body(cli, name, model):
    wire = WIRES[name]
    routes = cli.home / "routes.toml"
    routes.write_text(ROUTE.format(provider=wire.provider, model=model))
    args = ("-p", "Hi", "--config", "../home/routes.toml", "--no-save", "--no-tools", "--system", "Be brief.")
    args += ("--settings", '{"effort": "high"}')
    with LoopbackServer(replies(wire, Last(number=3, calls=()))) as at:
        done = cli.run(*args, env=wire.at(at.url))
        bodies = [asked(request) for request in at.requests if is_turn(request)]
    check(f"requests/{name}.budget", Names(cli)("".join((*bodies, transcript(args, done)))))
    assert (done.code, len(bodies)) == (0, 1)


HISTORY = (
    Message(role="system", content=(TextBlock(text="Be brief."),)),
    Message(
        role="user",
        content=(
            TextBlock(text=ODD),
            ImageBlock.of(media_type="image/png", data=PNG),
            DocumentBlock(
                source=Base64Source(media_type="text/plain", data=base64.b64encode(b"note").decode()),
                title="notes",
            ),
            DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERi0xLjQ=")),
        ),
    ),
    Message(
        role="assistant",
        content=(
            ThinkingBlock(text="hm", signature="s"),
            RedactedThinkingBlock(data="x"),
            TextBlock(text="I look."),
            OpaqueBlock(family="local", data={"x": 1}),
            ToolUseBlock(id="t1", name="Read", input={"path": "ü", "deep": {"z": [1, 2.5, None]}}),
            ToolUseBlock(id="t2", name="Read", input={}, raw_input='{"path": '),
        ),
        family="local",
        model="m",
    ),
    Message(
        role="user",
        content=(
            ToolResultBlock(
                tool_use_id="t1",
                content=(TextBlock(text=ODD), ImageBlock.of(media_type="image/png", data=PNG)),
            ),
            ToolResultBlock(tool_use_id="t2", content=(TextBlock(text="no JSON"),), is_error=True),
            TextBlock(text="Go on."),
        ),
    ),
)
READ = ToolSpec(
    name="Read",
    description="Read a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def test_the_runtime_of_local_models_is_asked_with_the_frozen_bodies(tmp_path):
    """Its bodies leave by no wire: they are taken where they are handed to the runtime."""
    header = GgufHeader(
        architecture="llama",
        name="m",
        context_tokens=4096,
        quantisation="Q8_0",
        parameters=10**9,
        chat_template=None,
        size_bytes=10**9,
    )
    written = ""
    for form in ("none", "schema", "native"):
        model = LocalModel(id="m", path=tmp_path, header=header, context_tokens=4096, tool_form=form)
        for schema in (None, json.loads(SCHEMA)):
            request = CompletionRequest(
                model="m",
                messages=HISTORY,
                max_tokens=99,
                tools=(READ,),
                temperature=0.5,
                response_schema=schema,
            )
            written += part(
                f"tools {form}, schema {schema}", f"{dumps(encode(request, model).body).decode()}\n"
            )
    check("requests/local", written)
