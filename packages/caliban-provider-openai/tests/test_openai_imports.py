"""What importing costs: nothing that a first request does not need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpx", "pydantic", "asyncio", "trio", "openai", "email", "importlib.metadata", "subprocess")


def loaded(code: str) -> set[str]:
    show = "import sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}\n{show}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_factory_is_cheap_to_ask() -> None:
    modules = loaded("from caliban_provider_openai.factory import FACTORY; FACTORY.key_env")
    assert not modules & {*HEAVY, "anyio", "ssl", "json"}


def test_encoding_and_decoding_need_no_event_loop() -> None:
    modules = loaded("import caliban_provider_openai.chat.encode, caliban_provider_openai.responses.decode")
    assert not modules & {*HEAVY, "anyio"}


def test_the_kit_for_tests_needs_no_event_loop() -> None:
    modules = loaded(
        "import caliban_provider_openai.testing.chat, caliban_provider_openai.testing.strict_responses"
    )
    assert not modules & {*HEAVY, "anyio"}


def test_the_provider_loads_no_http_library_before_it_is_used() -> None:
    modules = loaded("import caliban_provider_openai.provider, caliban_provider_openai.transport")
    assert not modules & {"httpx", "pydantic", "asyncio", "trio", "openai"}
