"""A part of a conversation in the place of which a summary stands, because a person asks for it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from caliban_agent_core.agent import Agent
from caliban_agent_core.compact.summarize import Writer
from caliban_agent_core.compact.summary import PREFIX, REMINDER, system_prompt
from caliban_common.estimate import tokens
from caliban_common.message import Message, NewId, system, user
from caliban_common.usage import Usage

HistorySide: TypeAlias = Literal["before", "from"]
"""What is summarised of a history: what stands before a message, or that message and all behind it."""


async def summarised(
    agent: Agent, messages: tuple[Message, ...], place: int, side: HistorySide, new_id: NewId
) -> tuple[tuple[Message, ...], Usage]:
    """`messages` with a summary of one side of `place`, and what that cost.

    An earlier summary goes into the new one. What is summarised at the end of a history is told in a message,
    for system messages only lead. Raises `CompactionFailed`.
    """
    spent: list[Usage] = []
    writer = Writer(provider=agent.provider, model=agent.model, spent=spent.append)
    lead = system_prompt(messages)
    part = messages[place:] if side == "from" else tuple(m for m in messages[:place] if m not in lead)
    room = agent.provider.capabilities(agent.model).prompt_tokens or max(tokens(part), 1)
    text = await writer.summary(part, room)
    if side == "before":
        whole = (*lead, system(f"{PREFIX}\n{text}", id=new_id()), *messages[place:])
    else:
        note = f"{REMINDER}\nWhat was said and done after this is a summary now:\n{text}"
        whole = (*messages[:place], user(note, id=new_id()))
    usage = Usage()
    for item in spent:
        usage += item
    return whole, usage
