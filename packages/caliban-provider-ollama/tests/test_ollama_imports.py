"""What importing costs: nothing that a first request does not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"httpx", "pydantic", "asyncio", "trio", "ollama", "email", "subprocess"}


def loaded(code: str) -> set[str]:
    show = "import sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}\n{show}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("from caliban_provider_ollama.factory import FACTORY; FACTORY.key_env", {"anyio", "ssl", "json"}),
        ("import caliban_provider_ollama.encode, caliban_provider_ollama.decode", {"anyio"}),
        ("import caliban_provider_ollama.testing.strict", {"anyio"}),
        ("import caliban_provider_ollama.provider", set()),
    ],
)
def test_importing_loads_nothing_heavy(code: str, unwanted: set[str]) -> None:
    assert not loaded(code) & (HEAVY | unwanted)
