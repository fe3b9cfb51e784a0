"""A chat that remembers: every prompt goes on from the history that the one before ended with."""

import sys

import anyio

from caliban_agent_core import Agent, Message, connect, user


async def main() -> None:
    history: tuple[Message, ...] = ()
    async with Agent(connect("anthropic"), "claude-sonnet-4-6", system="Be brief.") as agent:
        for line in sys.stdin:
            end = await agent.run_to_end((*history, user(line.strip())))
            end.raise_for_stop()
            history = end.messages
            print(end.text, flush=True)


anyio.run(main)
