"""Commands about sessions: resume, fork, rename, rewind, tasks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from anyio import to_thread

from caliban.commands.sessions.list import is_of, walk
from caliban.compose.app import App
from caliban.compose.sessionstore import session_store
from caliban_commands.answer import (
    ChoiceRow,
    CommandAnswer,
    OpenView,
    ShownChoice,
    ShownTable,
    SwitchSession,
)
from caliban_commands.builtin.session import has_said, no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments, CommandError, CommandNotHere
from caliban_common.near import did_you_mean
from caliban_common.text import one_line, plural
from caliban_sessions import SessionHead
from caliban_sessions.find import named
from caliban_sessions.tree import tree_of

MAX_ROWS: Final = 50
TITLE_CHARS: Final = 200
MARKS: Final[Mapping[str, str]] = MappingProxyType({"completed": "[x]", "in_progress": "[>]"})


def heads_here(app: App) -> list[SessionHead]:
    """The sessions of the workspace, the one used last first; damaged ones are left out."""
    store, here = session_store(app.options.session), str(app.workspace)
    return [head for head in store.list() if not head.problem and is_of(head, here)]


async def resume(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Resume a session by name, or list those that match."""
    heads = await to_thread.run_sync(heads_here, app, abandon_on_cancel=True)
    if arguments:
        exact = next((head for head in heads if arguments in (head.name, head.title)), None)
        if exact is not None:
            return _switch(context, exact)
        here, heads = heads, list(named(heads, arguments))
        if not heads:
            near = did_you_mean(arguments, [head.name for head in here])
            shown = one_line(arguments, max_chars=80)
            raise CommandError(f"no session here is like {shown!r}", hint=near or "/resume lists them")
    rows = tuple(
        ChoiceRow(
            label=head.updated_at.isoformat(" ", "minutes")[:16],
            line=f"/resume {head.name}",
            detail=one_line(head.shown_title, max_chars=80),
            is_current=head.name == context.session.id,
        )
        for head in heads[:MAX_ROWS]
    )
    if not rows:
        return CommandAnswer.of(f"there are no sessions in {app.workspace}")
    more = f" ({len(heads) - MAX_ROWS} more)" if len(heads) > MAX_ROWS else ""
    choice = ShownChoice(title=f"sessions of {one_line(str(app.workspace))}{more}", rows=rows)
    return CommandAnswer(parts=(choice,), effect=None if arguments else OpenView(view="sessions"))


def _switch(context: SlashContext, head: SessionHead) -> CommandAnswer:
    if head.name == context.session.id:
        return CommandAnswer.of(f"{head.name} is the session of now")
    return CommandAnswer(effect=SwitchSession(name=head.name))


async def fork(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Continue in a copy of the session."""
    no_arguments("fork", arguments)
    if app.board.writer is None:
        raise CommandError("this session is not saved: there is nothing to make a copy of")
    return CommandAnswer(effect=SwitchSession(name=context.session.id, fork=True))


async def tree(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the sessions with their forks below them."""
    no_arguments("tree", arguments)
    heads = await to_thread.run_sync(heads_here, app, abandon_on_cancel=True)
    rows = tuple(
        ChoiceRow(
            label="  " * depth + one_line(head.shown_title, max_chars=60),
            line=f"/resume {head.name}",
            detail=" ".join(f"#{label}" for label in head.labels),
            is_current=head.name == context.session.id,
        )
        for depth, head in walk(tree_of(heads))
    )
    choice = ShownChoice(title=plural(len(rows), "session"), rows=rows[:MAX_ROWS])
    return CommandAnswer(parts=(choice,), effect=OpenView(view="tree"))


async def rename(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Give the current session a title; the name that resumes it stays."""
    writer = app.board.writer
    if writer is None:
        raise CommandNotHere("/rename: no session is being written", hint="caliban sessions rename NAME …")
    if not arguments or len(arguments) > TITLE_CHARS:
        raise BadArguments(f"/rename takes a title of 1 to {TITLE_CHARS} characters")
    title = one_line(arguments, max_chars=TITLE_CHARS)
    writer.describe(title=title)
    return CommandAnswer.of(f"{context.session.id} is shown as {title!r}")


async def rewind(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the prompts that one can go back to, newest first."""
    no_arguments("rewind", arguments)
    if app.board.writer is None and not has_said(context.session):
        raise CommandError("nothing was said yet", hint="caliban -c -p /rewind looks at the last session")
    from caliban.compose.recorder import prompt_points

    points = prompt_points(context.session.messages, app.masker)
    rows = tuple((str(number), one_line(point.title, max_chars=80)) for number, point in enumerate(points, 1))
    if not rows:
        raise CommandError("there is no prompt to go back to")
    note = f"caliban rewind {context.session.id} --to NUMBER goes back to before one"
    table = ShownTable(columns=("", "Prompt"), rows=rows[::-1], notes=(note,))
    return CommandAnswer(parts=(table,), effect=OpenView(view="rewind"))


async def todos(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The list of tasks."""
    no_arguments("todos", arguments)
    rows = tuple(
        (MARKS.get(str(todo.get("status")), "[ ]"), one_line(str(todo.get("content", "")), max_chars=200))
        for todo in app.board.todos
    )
    if not rows:
        return CommandAnswer.of("the list of tasks is empty")
    return CommandAnswer(parts=(ShownTable(columns=("", ""), rows=rows),))


async def tasks(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Open the face's view of background tasks."""
    no_arguments("tasks", arguments)
    return CommandAnswer(effect=OpenView(view="tasks"))
