"""The provider over a real connection to a server on this machine."""

from __future__ import annotations

import json
import socket
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, assistant, user
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    ContextTooLong,
    InvalidRequest,
    ModelUnavailable,
    NetworkError,
    Overloaded,
    ProviderError,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Exchange, Hang, Request, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_ollama.factory import FACTORY, OllamaFactory
from caliban_provider_ollama.provider import OllamaProvider
from caliban_provider_ollama.testing import wire
from caliban_provider_ollama.testing.strict import StrictValidator
from caliban_provider_ollama.transport import root_url

pytestmark = pytest.mark.anyio

READ = ToolSpec(name="Read", description="Read.", input_schema={"type": "object", "properties": {}})
EVIL = "你好世界 🌍 ✅ \u2028x\u0085y"


def ask(text: str = "Hi", **members: Any) -> CompletionRequest:
    members = {"model": wire.MODEL, "max_tokens": 100, "messages": (user(text),), **members}
    return CompletionRequest(**members)


def make(server: LoopbackServer, **options: Any) -> OllamaProvider:
    return OllamaFactory().create(ProviderOptions(**{"base_url": server.url, **options}))


async def folded(provider: OllamaProvider, request: CompletionRequest | None = None) -> Assembler:
    assembler = Assembler()
    async with provider.stream(request or ask()) as events:
        async for event in events:
            assembler.add(event)
    assert assembler.complete
    return assembler


async def text(provider: OllamaProvider, request: CompletionRequest | None = None) -> str:
    return (await folded(provider, request)).message("ollama", wire.MODEL).text


async def failure(script: Any, request: CompletionRequest | None = None) -> ProviderError:
    with LoopbackServer(script) as server:
        provider = make(server)
        with pytest.raises(ProviderError) as raised:
            await folded(provider, request)
        await provider.aclose()
    return raised.value


async def test_calls_of_replies_that_tell_no_time_have_ids_of_their_own() -> None:
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "Read", "arguments": {}}}]}
    lines = [{"model": wire.MODEL, "message": call, "done": False}, {"model": wire.MODEL, "done": True}]
    bare = answer(200, "".join(f"{json.dumps(line)}\n" for line in lines))
    with LoopbackServer(wire.Server([bare, bare])) as server:
        provider = make(server)
        replies = [(await folded(provider)).message("ollama", wire.MODEL) for _ in range(2)]
        await provider.aclose()
    assert len({call.id for message in replies for call in message.tool_uses}) == 2


async def test_a_reply_arrives_with_the_model_asked_once_what_it_can_do() -> None:
    replies = [
        wire.exchange(wire.text("I look."), wire.call("Read", {"path": "x"}, id="c")),
        wire.exchange(wire.text("ok")),
    ]
    with LoopbackServer(wire.Server(replies), validator=StrictValidator()) as server:
        provider = make(server)
        assert provider.capabilities(wire.MODEL).context_tokens is None
        message = (await folded(provider, ask(tools=(READ,)))).message("ollama", wire.MODEL)
        assert message.content == (
            TextBlock(text="I look."),
            ToolUseBlock(id="c", name="Read", input={"path": "x"}),
        )
        assert await text(provider) == "ok"
        assert provider.capabilities(wire.MODEL) == Capabilities(
            context_tokens=131_072, tools=True, vision=False, documents=False, structured_output=True
        )
        await provider.aclose()
        assert [request.path for request in server.requests] == ["/api/show", "/api/chat", "/api/chat"]
        assert server.connections == 1
    assert server.requests[0].json == {"model": wire.MODEL}


@pytest.mark.parametrize(
    "broken",
    [
        answer(500, "{}"),
        answer(404, "404 page not found"),
        answer(200, "[]", content_type="application/json"),
        answer(200, '{"capabilities": 7, "model_info": {"a.context_length": "x"}}'),
        answer(200, '{"model_info": []}'),
        Exchange(headers={"content-type": "application/json"}, steps=(Send(b'{"cut'),)),
    ],
)
async def test_a_server_that_cannot_say_what_a_model_does_is_used_as_it_is(broken: Exchange) -> None:
    replies = [wire.exchange(wire.text("a")), wire.exchange(wire.text("b"))]
    with LoopbackServer([broken, *replies], validator=StrictValidator()) as server:
        provider = make(server)
        assert [await text(provider, ask(tools=(READ,), effort="low")) for _ in range(2)] == ["a", "b"]
        await provider.aclose()
        assert len(server.requests) == 3
        body = server.requests[1].json
    assert body["tools"] and "think" not in body and body["options"]["num_ctx"] == 8192


async def test_a_model_without_tools_is_asked_without_them_and_that_is_said_once() -> None:
    notices: list[str] = []
    replies = [wire.exchange(wire.text("ok"))] * 2
    script = wire.Server(replies, models={wire.MODEL: ("completion",)})
    strict = StrictValidator(capabilities=frozenset({"completion"}))
    with LoopbackServer(script, validator=strict) as server:
        provider = make(server, on_status=notices.append)
        for _ in range(2):
            await text(provider, ask(tools=(READ,), effort="high"))
        await provider.aclose()
        assert not server.refused
    assert notices == ["llama3.1 cannot call tools and is asked without them"]


@pytest.mark.parametrize(("counted", "is_told"), [(2051, True), (20_000, False), (100, False)])
async def test_a_prompt_that_the_server_cut_is_told_once_with_the_window(counted: int, is_told: bool) -> None:
    warnings: list[str] = []
    replies = [wire.exchange(wire.text("ok"), usage=Usage(input_tokens=counted, output_tokens=1))] * 2
    with LoopbackServer(wire.Server(replies)) as server:
        provider = make(server, on_warning=warnings.append)
        for _ in range(2):
            await text(provider, ask("word " * 18_000))
        await provider.aclose()
    assert len(warnings) == is_told
    assert not warnings or ("2,051 of about" in warnings[0] and "num_ctx was" in warnings[0])


async def test_a_prompt_beyond_the_models_window_is_not_sent() -> None:
    with LoopbackServer(wire.Server(context_tokens=2048)) as server:
        provider = make(server)
        with pytest.raises(ContextTooLong):
            await text(provider, ask("word " * 9000))
        await provider.aclose()
        assert [request.path for request in server.requests] == ["/api/show"]


async def test_a_conversation_that_goes_on_in_another_process_keeps_its_window() -> None:
    dense = Usage(input_tokens=9000, output_tokens=5)  # the server counts more than the estimate
    replies = [wire.exchange(wire.text("ok"), usage=dense) for _ in range(3)]
    with LoopbackServer(wire.Server(replies), validator=StrictValidator()) as server:
        history = [user("word " * 4000)]
        for _ in range(2):
            provider = make(server)
            for _ in range(2 if len(history) == 1 else 1):
                await text(provider, ask(messages=tuple(history)))
                history += [assistant("ok"), user("on")]
            await provider.aclose()
        windows = [r.json["options"]["num_ctx"] for r in server.requests if r.path == "/api/chat"]
        assert [request.path for request in server.requests].count("/api/ps") == 1
    assert windows == [8192, 16384, 16384]


@pytest.mark.parametrize(
    "broken",
    [
        answer(500, "{}"),
        answer(404, "404 page not found"),
        answer(200, "[]", content_type="application/json"),
        answer(200, '{"models": [{"name": "llama3.1:latest", "context_length": "x"}, 7]}'),
    ],
)
async def test_a_server_that_cannot_say_what_is_loaded_is_asked_with_a_window_of_its_own(broken) -> None:
    replies = [wire.shown("completion"), broken, wire.exchange(wire.text("ok"))]
    with LoopbackServer(replies, validator=StrictValidator()) as server:
        provider = make(server)
        assert await text(provider, ask(messages=(user("hi"), assistant("ho"), user("on")))) == "ok"
        await provider.aclose()
        assert server.requests[-1].json["options"]["num_ctx"] == 8192


async def test_a_long_prompt_gets_a_window_that_holds_it() -> None:
    script = wire.Server([wire.exchange(wire.text("ok"))])
    with LoopbackServer(script, validator=StrictValidator(chars_per_token=3.5)) as server:
        provider = make(server)
        await text(provider, ask("word " * 20_000))
        await provider.aclose()
        assert not server.refused


async def test_what_the_server_counts_widens_the_next_window() -> None:
    counted = wire.exchange(wire.text("ok"), usage=Usage(input_tokens=12_000, output_tokens=1))
    with LoopbackServer(wire.Server([counted, counted])) as server:
        provider = make(server)
        for _ in range(2):
            await text(provider, ask("word " * 4800))
        await provider.aclose()
        windows = [request.json["options"]["num_ctx"] for request in server.requests[1:]]
    assert windows == [8192, 16_384]


async def test_a_missing_model_is_told_with_the_command_that_gets_it() -> None:
    error = await failure(wire.Server(models={}), ask(model="qwen9"))
    assert isinstance(error, ModelUnavailable)
    assert error.hint is not None and "`ollama pull qwen9`" in error.hint


async def test_a_model_that_was_pulled_meanwhile_is_asked_again_what_it_can_do() -> None:
    replies = [
        wire.failure(404, "model 'x' not found"),
        wire.failure(404, "model 'x' not found"),
        wire.shown("completion", "tools"),
        wire.exchange(wire.text("ok")),
    ]
    with LoopbackServer(replies) as server:
        provider = make(server)
        with pytest.raises(ModelUnavailable):
            await text(provider)
        assert await text(provider) == "ok"
        await provider.aclose()


async def test_a_server_that_does_not_run_is_told_with_the_command_that_starts_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    provider = OllamaFactory().create(ProviderOptions(base_url=f"127.0.0.1:{port}"))
    for call in (provider.list_models, lambda: folded(provider)):
        with pytest.raises(NetworkError, match=f"127.0.0.1:{port}") as raised:
            await call()
        assert raised.value.hint is not None and "`ollama serve`" in raised.value.hint
    await provider.aclose()


@pytest.mark.parametrize(
    ("exchange", "kind"),
    [
        (wire.failure(400, "registry.ollama.ai/library/x does not support tools"), InvalidRequest),
        (wire.failure(400, '"x" does not support thinking'), InvalidRequest),
        (wire.failure(401, "unauthorized"), AuthenticationError),
        (wire.failure(500, "llama runner process has terminated"), ServerError),
        (wire.failure(503, "server busy, please try again."), Overloaded),
        (wire.failure(400, "the input length exceeds the context length"), ContextTooLong),
        (answer(200, "<p>", content_type="text/html"), BadResponse),
        (wire.broken(wire.text("a", "b"), after=1, end=wire.error_line("out of memory")), ServerError),
        (wire.broken(wire.text("a", "b"), after=1), StreamInterrupted),
        (wire.exchange(wire.text("a"), done_reason=None), StreamInterrupted),
    ],
)
async def test_an_answer_that_is_no_whole_reply_becomes_its_error(
    exchange: Exchange, kind: type[ProviderError]
) -> None:
    error = await failure(wire.Server([exchange]))
    assert type(error) is kind
    if "does not support" in error.message:
        assert error.hint is not None and "ollama show" in error.hint


async def test_a_server_that_never_ends_its_answer_does_not_hold_up_a_complete_reply() -> None:
    steps = tuple(Send(piece) for piece in wire.reply(wire.text("Done.")))
    endless = Exchange(headers={"content-type": wire.CONTENT_TYPE}, steps=(*steps, Hang()))
    with LoopbackServer(wire.Server([endless])) as server:
        provider = make(server, idle_s=2 * HANG_S)
        with anyio.fail_after(HANG_S):
            assert await text(provider) == "Done."
        await provider.aclose()


async def test_b061_text_cut_inside_characters_arrives_whole() -> None:
    crlf = b"".join(wire.reply(wire.text(EVIL))).replace(b"\n", b"\r\n")
    pieces = Exchange(headers={"content-type": "application/json"}, steps=(Send(crlf[:90]), Send(crlf[90:])))
    with LoopbackServer(wire.Server([wire.exchange(wire.text(EVIL), bytewise=True), pieces])) as server:
        provider = make(server)
        assert [await text(provider) for _ in range(2)] == [EVIL] * 2
        await provider.aclose()


async def test_b084_calls_without_ids_get_ids_and_results_go_back_by_name_and_order() -> None:
    calls = wire.together(wire.call("Read", {"path": "a"}), wire.call("Bash", {"command": "b"}))
    script = wire.Server([wire.exchange(calls), wire.exchange(wire.text("ok"))])
    with LoopbackServer(script, validator=StrictValidator()) as server:
        provider = make(server)
        reply = (await folded(provider)).message("ollama", wire.MODEL)
        ids = [call.id for call in reply.tool_uses]
        assert len(set(ids)) == 2 and all(ids)
        results = tuple(
            ToolResultBlock(tool_use_id=id, content=(TextBlock(text=f"r{n}"),)) for n, id in enumerate(ids)
        )
        history = (user("Hi"), reply, Message(role="user", content=results))
        await folded(provider, ask(messages=history))
        await provider.aclose()
        assert not server.refused
        assert server.requests[-1].json["messages"][2:] == [
            {"role": "tool", "content": "r0", "tool_name": "Read"},
            {"role": "tool", "content": "r1", "tool_name": "Bash"},
        ]


async def test_models_are_listed_with_what_they_can_do_as_far_as_the_server_says() -> None:
    models = {
        "llama3.1": ("completion", "tools"),
        "llava": ("completion", "vision"),
        "gpt-oss:20b": ("thinking",),
    }

    def script(request: Request) -> Exchange:
        if b"llava" in request.body:
            return answer(500, "{}")
        return wire.Server(models=models)(request)

    with LoopbackServer(script) as server:
        provider = make(server)
        listed = await provider.list_models()
        await provider.aclose()
    window = 131_072
    assert listed == (
        ModelInfo(
            id="llama3.1",
            display_name="llama3.1 (8B)",
            capabilities=Capabilities(
                context_tokens=window, vision=False, documents=False, structured_output=True
            ),
        ),
        ModelInfo(
            id="llava",
            display_name="llava (8B)",
            capabilities=Capabilities(documents=False, structured_output=True),
        ),
        ModelInfo(
            id="gpt-oss:20b",
            display_name="gpt-oss:20b (8B)",
            capabilities=Capabilities(
                context_tokens=window,
                tools=False,
                vision=False,
                documents=False,
                thinking=True,
                efforts=("low", "medium", "high"),
                structured_output=True,
            ),
        ),
    )


async def test_a_list_that_is_none_is_refused() -> None:
    with LoopbackServer([answer(200, "{}", content_type="application/json")]) as server:
        provider = make(server)
        with pytest.raises(BadResponse):
            await provider.list_models()
        await provider.aclose()


async def test_the_operators_wishes_reach_the_server() -> None:
    script = wire.Server([wire.exchange(wire.text("ok"))])
    with LoopbackServer(script, validator=StrictValidator(key="k")) as server:
        provider = make(server, api_key="k", extra={"num_ctx": "16384", "keep_alive": "10m"})
        await text(provider)
        await provider.aclose()
        body = server.requests[-1].json
    assert (body["options"]["num_ctx"], body["keep_alive"]) == (16_384, "10m")


@pytest.mark.parametrize(
    ("given", "root"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("[::1]", "http://[::1]:11434"),
        ("box", "http://box:11434"),
        ("box:80", "http://box:80"),
        ("box/ollama", "http://box:11434/ollama"),
        ("http://box", "http://box"),
        ("https://ollama.com/", "https://ollama.com"),
        ("http://box:1/api/chat", "http://box:1"),
        ('"http://box:1/v1/"', "http://box:1"),
    ],
)
def test_the_address_may_have_any_form_of_ollama_host(given: str | None, root: str) -> None:
    assert root_url(given) == root


@pytest.mark.parametrize("given", ["ftp://box", "http://", "http://[x", "a b", "box:port", "http://b?x=1"])
def test_what_is_no_address_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest):
        root_url(given)


@pytest.mark.parametrize("given", ["x", "-1", "10"])
def test_a_window_that_is_none_is_refused(given: str) -> None:
    with pytest.raises(InvalidRequest):
        OllamaFactory().create(ProviderOptions(extra={"num_ctx": given}))


def test_the_entry_point_states_its_facts() -> None:
    facts = (FACTORY.name, FACTORY.default_model, FACTORY.needs_key, FACTORY.base_url_env)
    assert facts == ("ollama", "llama3.1", False, ("OLLAMA_BASE_URL", "OLLAMA_HOST"))
