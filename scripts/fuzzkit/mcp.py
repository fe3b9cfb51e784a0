"""Servers of MCP with bad manners: no hang, no orphan, no wrong answer, no error that is none of ours."""

from __future__ import annotations

import random
from collections.abc import Iterator

import anyio

from caliban_mcp_client.testing.seeds import faults_of
from caliban_process import Runner
from fuzzkit.main import Miss

_ROUND = 20


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Conversations side by side, on both event loops in turn."""
    backend, runner = "asyncio", Runner()
    while True:
        seeds = [pick.randrange(1 << 30) for _ in range(_ROUND)]
        misses: list[Miss] = []

        async def play(seed: int, misses: list[Miss] = misses) -> None:
            misses += [Miss(f"seed {seed}", fault) for fault in await faults_of(seed, runner)]

        async def main(seeds: list[int] = seeds) -> None:
            async with anyio.create_task_group() as group:
                for seed in seeds:
                    group.start_soon(play, seed)

        anyio.run(main, backend=backend)
        backend = "trio" if backend == "asyncio" else "asyncio"
        yield len(seeds), misses
