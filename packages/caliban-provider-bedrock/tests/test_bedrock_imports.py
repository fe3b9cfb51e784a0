"""What importing costs: nothing that a first request does not need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpx", "pydantic", "asyncio", "trio", "anthropic", "botocore", "importlib.metadata")


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
    modules = loaded("from caliban_provider_bedrock.factory import FACTORY; FACTORY.key_env")
    assert not modules & {*HEAVY, "anyio", "ssl", "json"}


def test_framing_and_signing_need_no_event_loop() -> None:
    modules = loaded("import caliban_provider_bedrock.framing, caliban_provider_bedrock.eventstream")
    assert not modules & {*HEAVY, "anyio"}


def test_a_provider_with_given_keys_never_loads_the_vendors_library() -> None:
    modules = loaded(
        "from caliban_provider.provider import ProviderOptions\n"
        "from caliban_provider_bedrock.factory import BedrockFactory\n"
        "environ = {'AWS_ACCESS_KEY_ID': 'a', 'AWS_SECRET_ACCESS_KEY': 's', 'AWS_REGION': 'us-east-1'}\n"
        "BedrockFactory(environ=environ).create(ProviderOptions())"
    )
    assert not modules & set(HEAVY)
