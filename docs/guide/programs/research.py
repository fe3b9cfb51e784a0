"""An agent with five tools that answers a question from the texts of a folder, and says where it read it.

python research.py FOLDER QUESTION
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from caliban_agent_core import Agent, ToolCallReady, ToolContext, connect, tool


@dataclass
class Desk:
    """What the tools of one run share: the texts, and the notes taken so far."""

    texts: dict[str, list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass
class Report:
    answer: str
    sources: list[str]


@tool
async def list_texts(context: ToolContext) -> dict[str, int]:
    """All texts, with their number of lines."""
    desk: Desk = context.context
    return {name: len(lines) for name, lines in desk.texts.items()}


@tool
async def search(pattern: str, context: ToolContext) -> list[str]:
    """Lines that match, as `text:line: words`, at most fifty.

    Args:
        pattern: a regular expression; capitals do not count
    """
    desk: Desk = context.context
    lines = [
        (f"{name}:{at}: {line}", line) for name in desk.texts for at, line in enumerate(desk.texts[name])
    ]
    return [shown for shown, line in lines if re.search(pattern, line, re.IGNORECASE)][:50]


@tool
async def read(text: str, context: ToolContext, first: int = 0, count: int = 100) -> str:
    """Some lines of one text.

    Args:
        text: its name, as list_texts gives it
        first: the number of the first line, from 0
        count: how many lines
    """
    desk: Desk = context.context
    return "\n".join(desk.texts[text][first : first + count])


@tool
async def take_note(claim: str, text: str, context: ToolContext) -> None:
    """Keep a claim, and the text that it stands in."""
    context.context.notes.append(f"{claim} ({text})")


@tool
async def read_notes(context: ToolContext) -> list[str]:
    """The notes taken so far."""
    notes: list[str] = context.context.notes
    return notes


async def main(folder: Path, question: str) -> None:
    desk = Desk({path.name: path.read_text("utf-8").splitlines() for path in sorted(folder.glob("*.txt"))})
    agent = Agent(
        connect("anthropic"),
        "claude-sonnet-4-6",
        system="Answer from the texts alone. Take notes, and read them before you answer.",
        tools=[list_texts, search, read, take_note, read_notes],
    )
    async with agent, agent.run(question, context=desk, output_type=Report) as run:
        async for event in run.events:
            if isinstance(event, ToolCallReady):
                print(event.call.name, dict(event.call.input), file=sys.stderr)
    run.outcome.raise_for_stop()
    print(run.outcome.output.answer, *run.outcome.output.sources, sep="\n- ")


anyio.run(main, Path(sys.argv[1]), sys.argv[2])
