"""What importing costs: nothing that a first request does not need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpx", "pydantic", "asyncio", "trio", "anthropic", "google.auth", "importlib.metadata")


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
    modules = loaded("from caliban_provider_vertex.factory import FACTORY; FACTORY.key_env")
    assert not modules & {*HEAVY, "anyio", "ssl", "json"}


def test_a_provider_with_a_given_token_never_loads_the_vendors_library() -> None:
    modules = loaded(
        "from caliban_provider.provider import ProviderOptions\n"
        "from caliban_provider_vertex.factory import VertexFactory\n"
        "VertexFactory(environ={'GOOGLE_CLOUD_PROJECT': 'p'}).create(ProviderOptions(api_key='t'))"
    )
    assert not modules & set(HEAVY)
