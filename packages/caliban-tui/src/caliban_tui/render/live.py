"""The open end of a transcript as lines of the live region: what is being said, and what is at work."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.draw import OPEN_CHARS, markdown_lines, plain_lines
from caliban_tui.markdown.splitter import OpenReply
from caliban_tui.markdown.words import broken, flat
from caliban_tui.render.ends import compact, seconds
from caliban_tui.render.todos import todo_line
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.view import ConversationView, RunningCall
from caliban_tui.width import cut

PROGRESS_LINES: Final = 3
MAX_DEPTH: Final = 4
MAX_CHILDREN: Final = 3
MAX_TODOS: Final = 5
THINKING_LINES: Final = 2


def open_lines(view: ConversationView, size: ScreenSize, now_s: float) -> list[ScreenLine]:
    """The lines of all that is open, at most half the screen, each cut to the width."""
    room = max(size.rows // 2, 1)
    below = list(_work(view, size.columns, now_s))
    if len(below) > max(room * 2 // 3, 1):
        kept = max(room * 2 // 3, 1) - 1
        more = plain(f"… {len(below) - kept} more lines", "dim")
        below = [*below[:kept], cut(more, size.columns)]
    above = list(_said(view, size, room - len(below), now_s))
    if above and below and len(above) + len(below) < room:
        above.append(())
    return [*above[-max(room - len(below), 0) :], *below] if room > len(below) else below[:room]


def spoken_lines(view: ConversationView) -> list[ScreenLine]:
    """What is at work, in words that stay the same while it is: for screen readers."""
    lines: list[ScreenLine] = []
    for call in view.calls:
        if call.state != "written":
            waits = " waits for your answer" if call.state == "waiting" else ""
            lines.append(plain(f"working: {flat(call.summary)}{waits}"))
    return lines


def _said(view: ConversationView, size: ScreenSize, room: int, now_s: float) -> Iterator[ScreenLine]:
    """What the model says or thinks now."""
    if view.thinking.tail:
        took = seconds(max(now_s - view.thinking.since_s, 0.0))
        yield cut(plain(f"thinking {took}", "reasoning"), size.columns)
        words = " ".join(neutral(view.thinking.tail[-4 * size.columns :]).split())
        for line in plain_lines(words, max(size.columns - 2, 1), "reasoning", hard=True)[-THINKING_LINES:]:
            yield cut((StyledText("  "), *line), size.columns)
    if view.reply.text.strip():
        if not view.reply.block.is_joined:
            yield ()
        yield from _reply_rows(view.reply, size.columns, room)


@lru_cache(maxsize=2)
def _reply_rows(reply: OpenReply, columns: int, room: int) -> tuple[ScreenLine, ...]:
    """The last rows of the open block, as they will stand once it is closed, as far as that can be told."""
    block = reply.block
    text = reply.text.rstrip("\n")
    if len(text) > OPEN_CHARS or block.kind == "table":
        tail = text[-max(room, 1) * columns * 2 :]
        lines = plain_lines(neutral(tail), columns, hard=True)
    else:
        fence = block.opening if block.is_rest and block.kind == "fence" else ""
        ordinal = block.ordinal if block.kind == "item" else 0
        lines = markdown_lines(
            text, columns, ordinal=ordinal, fence=fence, references=reply.references, hard=True
        )
    rows = [row for line in lines[-max(room, 1) :] for row in broken(line, columns)]
    return tuple(rows[-max(room, 1) :])


def _work(view: ConversationView, columns: int, now_s: float) -> Iterator[ScreenLine]:
    """Calls, what goes on in the background, and the list of tasks."""
    for call in view.calls:
        yield from _call(call, columns, now_s, 0)
    for task in view.tasks:
        yield from _call(task, columns, now_s, 0, mark="⧗")
    if view.is_working and view.todos:
        yield from _todos(view, columns)


def _call(
    call: RunningCall, columns: int, now_s: float, depth: int, *, mark: str = "○"
) -> Iterator[ScreenLine]:
    """A call with what it last said, and below it what an agent of it does."""
    indent = "  " * depth
    name, _, rest = flat(call.summary).partition(" ")
    line = [
        StyledText(f"{indent}{mark} ", "tool"),
        StyledText(name, "tool"),
        StyledText(f" {rest}" if rest else ""),
    ]
    match call.state:
        case "written":
            facts = f"being written, {compact(call.input_chars)} characters" if call.input_chars else "begins"
        case "waiting":
            facts = "waits for your answer"
        case _:
            facts = seconds(max(now_s - call.began_s, 0.0)) if now_s - call.began_s >= 1 else ""
    if call.inner_count and call.child is not None:
        facts += f", {call.inner_count} steps"
    fact = StyledText(f"  {facts}" if facts else "", "warning" if call.state == "waiting" else "dim")
    room = max(columns - len(fact.text), columns // 2)
    yield cut((*cut(tuple(line), room), fact), columns)
    for words in neutral(call.progress).rstrip("\n").split("\n")[-PROGRESS_LINES:] if call.progress else ():
        yield cut((StyledText(f"{indent}  "), StyledText(words, "dim")), columns)
    child = call.child
    if child is None or depth >= MAX_DEPTH:
        return
    for inner in child.calls[-MAX_CHILDREN:]:
        yield from _call(inner, columns, now_s, depth + 1, mark="└")
    if not child.calls and (child.thinking.tail or child.reply.text):
        words = "thinks" if child.thinking.tail else "writes"
        yield cut(plain(f"{indent}  └ {words}", "dim"), columns)


def _todos(view: ConversationView, columns: int) -> Iterator[ScreenLine]:
    """What is left of the list of tasks, what is at work first."""
    done = sum(row.status == "completed" for row in view.todos)
    left = [row for row in view.todos if row.status not in ("completed", "cancelled")]
    left.sort(key=lambda row: row.status != "in_progress")
    if not left:
        return
    yield cut(plain(f"tasks: {done} of {len(view.todos)} done", "dim"), columns)
    for row in left[:MAX_TODOS]:
        yield todo_line(row, columns)
    if len(left) > MAX_TODOS:
        yield cut(plain(f"    … {len(left) - MAX_TODOS} more", "dim"), columns)
