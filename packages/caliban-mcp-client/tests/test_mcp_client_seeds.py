"""A share of the conversations that `scripts/fuzz mcp` has by the thousand."""

from __future__ import annotations

import os

import anyio
import pytest

from caliban_mcp_client.testing.seeds import faults_of, play_of
from caliban_process import Runner

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name != "posix", reason="needs a POSIX system")]


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("first", [0, 6])
async def test_whatever_a_server_does_nothing_hangs_stays_or_is_wrong(first):
    faults: list[str] = []
    runner = Runner()

    async def play(seed: int) -> None:
        faults.extend(await faults_of(seed, runner))

    async with anyio.create_task_group() as group:
        for seed in range(first, first + 6):
            group.start_soon(play, seed)
    assert faults == []


async def test_a_seed_means_the_same_each_time():
    assert play_of(11) == play_of(11)
    assert len({play_of(seed).words for seed in range(50)}) > 40
