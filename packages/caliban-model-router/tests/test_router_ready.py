"""What a router gets ready before its first call."""

from __future__ import annotations

import pytest

from caliban_model_router import RouterProvider, router_config
from caliban_provider.provider import make_ready
from caliban_provider.testing.scripted import ScriptedProvider

pytestmark = pytest.mark.anyio


class Needy(ScriptedProvider):
    """Counts how often it was made ready."""

    times = 0

    async def ready(self) -> None:
        self.times += 1


async def test_only_the_provider_that_is_asked_first_is_made_ready() -> None:
    routes = [{"purpose": "main_loop", "provider": name, "model": "m", "id": name} for name in ("one", "two")]
    config = router_config({"router": {"route": routes}})
    assert config is not None
    providers = {"one": Needy(), "two": Needy()}
    await make_ready(RouterProvider(config, providers))
    assert [provider.times for provider in providers.values()] == [1, 0]
    await make_ready(RouterProvider(config, {"one": ScriptedProvider(), "two": Needy()}))
