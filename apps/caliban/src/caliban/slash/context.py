"""Commands about what fills the context window, and what it has cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from caliban.compose.app import App
from caliban.compose.spending import SavedPrices, spent_by
from caliban_commands.answer import CommandAnswer, OpenView, ShownTable, ShownText
from caliban_commands.builtin.session import no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.costs import cost_table
from caliban_common.estimate import message_tokens, tokens, tool_tokens
from caliban_common.message import Message
from caliban_common.text import one_line

LARGEST: Final = 10
PIECE_CHARS: Final = 60


async def context(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The estimated pieces of the next request, and the largest messages."""
    no_arguments("context", arguments)
    session = context.session
    agent = session.agent
    messages = [message for message in session.messages if message.role != "system"]
    summaries = [message for message in session.messages if message.role == "system"][1:]
    specs = [tool.spec for tool in agent.tools.tools()]
    window = agent.provider.capabilities(agent.model).prompt_tokens
    pieces = [(piece.kind, piece.tokens, one_line(piece.source, max_chars=200)) for piece in app.context()]
    if specs:
        pieces.append(("tools", tool_tokens(specs), f"{len(specs)} of them"))
    if summaries:
        pieces.append(("summaries", tokens(summaries), "of what was said before"))
    pieces.append(("conversation", tokens(messages), f"{len(messages)} messages"))
    total = sum(count for _, count, _ in pieces)
    rows = tuple((kind, f"{count:,}", _share(count, window), words) for kind, count, words in pieces)
    rows += (("total", f"{total:,}", _share(total, window), "four bytes make a token"),)
    if window is not None:
        rows += (("left", f"{max(0, window - total):,}", _share(window - total, window), f"of {window:,}"),)
    parts = [ShownTable(title=agent.model, columns=("", "Tokens", "", ""), rows=rows)]
    largest = sorted(_blocks(messages), key=lambda block: -block[0])[:LARGEST]
    if largest:
        lines = tuple((f"{count:,}", who, words) for count, who, words in largest)
        parts.append(ShownTable(title="the largest messages", columns=("Tokens", "Of", "Begins"), rows=lines))
    return CommandAnswer(parts=tuple(parts), effect=OpenView(view="context"))


def _share(count: int, window: int | None) -> str:
    return "" if not window else f"{max(0, count) / window:.1%}"


def _blocks(messages: list[Message]) -> Iterator[tuple[int, str, str]]:
    names = {call.id: call.name for message in messages for call in message.tool_uses}
    for message in messages:
        results = message.tool_results
        who: str = message.role
        if results:
            who = ", ".join(dict.fromkeys(names.get(result.tool_use_id, "a tool") for result in results))
        words = message.text or " ".join(
            getattr(part, "text", "") for result in results for part in result.content
        )
        words = words or " ".join(f"[{call.name}]" for call in message.tool_uses)
        yield message_tokens(message), one_line(who, max_chars=30), one_line(words, max_chars=PIECE_CHARS)


async def usage(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Tokens and cost of this run, and of the session since it began."""
    no_arguments("usage", arguments)
    parts = [cost_table(context.costs.by_model(), context.costs.total_usd(), title="this run")]
    writer = app.board.writer
    state = writer.state if writer is not None else None
    if state is None and app.sessions.saved.resumed:
        from caliban.compose.sessionstore import session_store

        state = session_store(app.options.session).load(context.session.id)
    if state is not None:
        spent = spent_by(state)
        prices, now = SavedPrices(app.live.now), datetime.now(UTC)
        rows = tuple((name, used, prices.total({name: used}, now)) for name, used in spent.items())
        parts.append(cost_table(rows, prices.total(spent, now), title=f"the session {state.name}"))
    note = "calls of models alone are counted; what tools cost is not"
    return CommandAnswer(parts=(*parts, ShownText(markdown=note)))


async def system(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The system prompt as the model reads it, without secrets."""
    no_arguments("system", arguments)
    first = next((message for message in context.session.messages if message.role == "system"), None)
    if first is None:
        return CommandAnswer.of("there is no system prompt")
    return CommandAnswer.of(app.masker.text(first.text))
