"""The README's examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from caliban_provider.errors import RateLimited, StreamInterrupted
from caliban_provider.provider import ProviderOptions
from caliban_provider.testing.contract import ask, collect
from caliban_provider.testing.loopback import LoopbackServer, answer, sse

PACKAGE = Path(__file__).parents[1]


def test_the_examples_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL):
        exec(block, names)
    assert capsys.readouterr().out == "I look. notes.txt tool_use\n"


def test_the_provider_of_the_readme_asks_and_reads() -> None:
    names: dict[str, Any] = {"encode": lambda request, options: (options.base_url, {}, b"{}")}
    *_, block = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL)
    exec(block, names)
    with LoopbackServer([sse("data: 1\n\n"), answer(429, b"slow down")]) as server:
        for error in (StreamInterrupted, RateLimited):
            provider = names["MyProvider"](ProviderOptions(base_url=server.url))
            with pytest.raises(error):
                anyio.run(collect, provider, ask("Hi", model="m"))


def test_the_readme_names_every_module() -> None:
    text = (PACKAGE / "README.md").read_text("utf-8")
    modules = {path.stem for path in (PACKAGE / "src" / "caliban_provider").glob("[a-z]*.py")}
    assert {module for module in modules if f"`{module}`" not in text} == set()
