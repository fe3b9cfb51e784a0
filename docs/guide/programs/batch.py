"""Many questions, a line each on standard input, ten at a time; the answers come as lines of JSON."""

import json
import sys

import anyio

from caliban_agent_core import Agent, connect


async def main() -> None:
    limiter = anyio.CapacityLimiter(10)

    async def ask(number: int, question: str) -> None:
        async with limiter:
            end = await agent.run_to_end(question)
        print(json.dumps({"line": number, "ok": end.stop.ok, "answer": end.text}))

    async with Agent(connect("anthropic"), "claude-haiku-4-5") as agent, anyio.create_task_group() as group:
        for number, line in enumerate(sys.stdin):
            group.start_soon(ask, number, line.strip())


anyio.run(main)
