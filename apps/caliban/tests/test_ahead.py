"""What is loaded while a model thinks, and that nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec

import anyio
import pytest
from hang_guard import HANG_S

from caliban.compose.ahead import GUARDED, MODULES, PRICES, LoadAhead, LoadingProvider, load_while_asked
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.testing.contract import ask
from caliban_provider.testing.scripted import ScriptedProvider, reply
from caliban_provider.wrapped import WrappedProvider

REQUEST = ask("hi", model="m")
FEW = ("colorsys", "this_is_no_module", "sndhdr_is_none_either", "stringprep")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", [*PRICES, *MODULES])
def test_every_module_is_there(name: str) -> None:
    module, _, function = name.partition(":")
    assert find_spec(module) is not None or module == "resource"
    assert not function or callable(getattr(import_module(module), function))
    assert set(MODULES) >= GUARDED


def test_an_app_that_is_composed_has_loaded_none_of_ours() -> None:
    code = "import caliban.faces.headless, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "caliban.compose.ahead" in loaded
    assert [name for name in (*PRICES, *MODULES) if name.partition(":")[0] in loaded] == []


@pytest.mark.anyio
async def test_is_loaded_while_a_request_waits_whatever_cannot_be() -> None:
    for name in FEW:
        sys.modules.pop(name, None)
    ahead = LoadAhead(FEW)
    async with anyio.create_task_group() as group:
        group.start_soon(ahead.run)
        await anyio.wait_all_tasks_blocked()
        assert "colorsys" not in sys.modules
        ahead.asked()
    assert ahead.done
    assert {"colorsys", "stringprep"} <= sys.modules.keys()


@pytest.mark.anyio
async def test_what_every_reply_needs_is_loaded_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caliban.compose.ahead.PAUSE_S", 10 * HANG_S)
    for name in FEW:
        sys.modules.pop(name, None)
    ahead = LoadAhead(("stringprep",), at_once=("this_is_no_module", "colorsys"))
    async with anyio.create_task_group() as group:
        group.start_soon(ahead.run)
        await anyio.wait_all_tasks_blocked()
        ahead.asked()
        await anyio.wait_all_tasks_blocked()
        assert ("colorsys" in sys.modules, "stringprep" in sys.modules) == (True, False)
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_nothing_is_loaded_once_the_answer_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caliban.compose.ahead.PAUSE_S", 0)  # what is to be loaded is loaded at once
    sys.modules.pop("colorsys", None)
    ahead = LoadAhead(("colorsys",))
    async with anyio.create_task_group() as group:
        group.start_soon(ahead.run)
        await anyio.wait_all_tasks_blocked()
        ahead.asked()
        ahead.answered()
        for _ in range(5):
            await anyio.wait_all_tasks_blocked()
        assert "colorsys" not in sys.modules and not ahead.done
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_the_provider_tells_when_it_waits_and_answers_as_it_would() -> None:
    order: list[str] = []

    class Told(LoadAhead):
        def asked(self) -> None:
            order.append("asked")

        def answered(self) -> None:
            order.append("answered")

    plain = ScriptedProvider([reply("Hello."), reply("Hello.")])
    provider = LoadingProvider(plain, Told(("colorsys",)))
    async with provider.stream(REQUEST) as events:
        order.append("streaming")
        watched = [event async for event in events]
    async with plain.stream(REQUEST) as events:
        assert [type(event) for event in watched] == [type(event) async for event in events]
    assert order == ["asked", "answered", "streaming"]


@pytest.mark.anyio
@pytest.mark.parametrize("guarded", [True, False])
async def test_what_rules_for_files_need_is_loaded_where_there_are_some(
    monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    monkeypatch.setattr("caliban.compose.ahead.PAUSE_S", 0)
    monkeypatch.setattr("caliban.compose.ahead.GUARDED", {"colorsys"})
    monkeypatch.setattr("caliban.compose.ahead.MODULES", ("colorsys", "stringprep"))
    for name in FEW:
        sys.modules.pop(name, None)

    class Slow(WrappedProvider):
        @asynccontextmanager
        async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
            while "stringprep" not in sys.modules:  # the last to be loaded
                await anyio.sleep(0)
            async with self._inner.stream(request) as events:
                yield events

    async with anyio.create_task_group() as group:
        slow = Slow(ScriptedProvider([reply("Hello.")]))
        provider = load_while_asked(slow, group, prices=False, guarded=guarded)
        async with provider.stream(REQUEST):
            assert ("colorsys" in sys.modules) == guarded
        group.cancel_scope.cancel()
