"""What a run has under way beside its turns: calls that can be stopped one by one, and background work.

Work in the background belongs to the run: what it comes to is read by the model between two turns, a run does
not end well before its work does, and one that ends otherwise stops the work and says so in the history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

import anyio
from msgspec import Struct, field

from caliban_agent_core.background import Background
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.overflow import cap_output, is_free, marked
from caliban_agent_core.progress import CallProgress
from caliban_agent_core.state import RunState
from caliban_agent_core.walled import walled
from caliban_common.event import TaskChanged
from caliban_common.masked import masked_output
from caliban_common.message import Message, TextBlock, ToolUseBlock, user
from caliban_common.text import one_line
from caliban_common.tool import BackgroundWork, ToolOutput

MARK = "<background_result "
"""How a message begins that tells the model what became of its work."""

STOPPED = "It was stopped, for the run that started it has ended."
CANCELLED = "It was stopped by the user."

TaskStatus = Literal["completed", "failed", "stopped"]


class BackgroundTask(Struct, frozen=True, kw_only=True):
    """Work of the call `call`; `has_own_id` says that no other one has its id. `title` is for people."""

    call: ToolUseBlock
    has_own_id: bool
    title: str
    work: BackgroundWork
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class RunTasks:
    """The scopes of one run's calls, its background work, and what of that no turn has read yet."""

    def __init__(self, state: RunState, options: AgentOptions, hooks: HookCaller) -> None:
        self._state = state
        self._hooks = hooks
        self._options = options
        self._scopes: list[tuple[str, anyio.CancelScope]] = []  # two calls may carry one id
        self._running: dict[int, tuple[BackgroundTask, Background]] = {}
        self._results: deque[Message] = deque()
        self._news = anyio.Event()
        self._closing = False

    @contextmanager
    def stoppable(self, tool_use_id: str) -> Iterator[anyio.CancelScope]:
        """A scope around a call, by which `stop` can end it."""
        with anyio.CancelScope() as scope:
            entry = (tool_use_id, scope)
            self._scopes.append(entry)
            try:
                yield scope
            finally:
                self._scopes.remove(entry)

    def stop(self, tool_use_id: str) -> bool:
        """End what the call has under way, and nothing else; false where that is nothing."""
        scopes = [task.scope for task, _ in self._running.values() if task.call.id == tool_use_id]
        scopes += (scope for id, scope in self._scopes if id == tool_use_id)
        for scope in scopes:
            scope.cancel()
        return bool(scopes)

    def start(self, call: ToolUseBlock, title: str, work: BackgroundWork) -> None:
        """Begin `work`, which `call` has left to the background."""
        is_alone = self._options.is_alone and not self._state.generation
        has_own_id = is_free(call.id, self._state.messages, is_alone=is_alone)
        title = one_line(title, max_chars=200)
        task = BackgroundTask(call=call, has_own_id=has_own_id, title=title, work=work)
        number = max(self._running, default=0) + 1
        background = Background(partial(self._work, number, task))
        self._running[number] = (task, background)
        self._state.put(_changed(task, "started"))
        background.start()

    def take(self) -> tuple[Message, ...]:
        """What has come of the work since it was asked last, each once."""
        messages = tuple(self._results)
        self._results.clear()
        return messages

    async def wait(self) -> bool:
        """Wait until some work has come to something; false where none is left."""
        while self._running and not self._results:
            self._news = anyio.Event()
            await self._news.wait()
        return bool(self._results)

    async def close(self) -> tuple[Message, ...]:
        """Stop what is left; all that the model has not read. Not to be cancelled."""
        self._closing = True
        left = tuple(self._running.values())
        for task, _ in left:
            task.scope.cancel()
        for _, background in left:
            await background.wait()
        return self.take()

    async def _work(self, number: int, task: BackgroundTask) -> None:
        progress = CallProgress(self._state, task.call.id)
        output, status = ToolOutput.of(CANCELLED), "stopped"
        try:
            with task.scope:
                await self._hooks.task_created(task.call.id, task.title)
                output, _ = await walled(task.call.name, lambda: task.work(progress.emit))
                status = "failed" if output.is_error else "completed"
                await self._hooks.task_completed(task.call.id, task.title, failed=output.is_error)
        finally:
            progress.close()
            if status == "stopped" and self._closing:
                output = ToolOutput.of(STOPPED)
            self._results.append(self._message(task, output, status))
            self._state.put(_changed(task, status))
            self._running.pop(number, None)
            self._news.set()

    def _message(self, task: BackgroundTask, output: ToolOutput, status: str) -> Message:
        options = self._options
        if options.masker is not None:
            output = masked_output(output, options.masker)
        id = f"{task.call.id}-background"
        capped = cap_output(
            output,
            cap_chars=options.tool_result_cap_chars,
            directory=options.overflow_dir,
            session_id=options.session_id,
            tool_use_id=id if task.has_own_id else partial(marked, id),
            stores=options.keeps_overflow,
        )
        words = "".join(block.text for block in capped.content if isinstance(block, TextBlock))
        head = f'{MARK}tool_use_id="{task.call.id}" status="{status}" title="{_attribute(task.title)}">'
        return user(f"{head}\n{words}\n</background_result>", id=self._state.new_id())


def background_news(lines: tuple[str, ...], *, id: str) -> Message:
    """The message that tells the model what became of commands that it did not wait for."""
    return user("\n".join((f'{MARK}status="news">', *lines, "</background_result>")), id=id)


def is_background_result(text: str) -> bool:
    """Whether `text` is what came of background work, and so not what a user asked for."""
    return text.startswith(MARK)


def _attribute(text: str) -> str:
    return text.replace('"', "'")


def _changed(task: BackgroundTask, status: str) -> TaskChanged:
    return TaskChanged(
        tool_use_id=task.call.id,
        name=task.call.name,
        title=task.title,
        status=status,  # type: ignore[arg-type]
    )
