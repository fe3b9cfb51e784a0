"""The example of a third party's provider, by its path: what it promises, it keeps."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.registry import find
from caliban_provider.stream import TextDelta
from caliban_provider.testing.contract import ask, ask_with_history, assembled, collect, contract_checks

EXAMPLE = Path(__file__).parents[1] / "examples" / "caliban-provider-echo"


@pytest.fixture
def factory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(EXAMPLE / "src"))
    entries = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    yield find("echo", entries["caliban.providers"])
    sys.modules.pop("caliban_provider_echo", None)


def test_the_example_is_small() -> None:
    lines = [
        line
        for path in EXAMPLE.rglob("*")
        if path.suffix in (".py", ".toml")
        for line in path.read_text().splitlines()
    ]
    assert len(lines) <= 120


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("number", range(5))
def test_it_keeps_the_contract(factory: Any, number: int, backend: str) -> None:
    def make() -> Provider:
        return factory.create(ProviderOptions())

    contract_checks(make, model=factory.default_model)[number].run(backend)


def test_it_says_back_the_last_thing_it_heard_word_by_word(factory: Any) -> None:
    provider = factory.create(ProviderOptions())
    events = anyio.run(collect, provider, ask("hello  big world", model="echo-1"))
    assert [event.text for event in events if isinstance(event, TextDelta)] == [
        "hello",
        " ",
        " big",
        " world",
    ]
    history = anyio.run(collect, provider, ask_with_history(model="echo-1"))
    assert assembled(history).message("echo", "m").text == "Thank you. And now?"
