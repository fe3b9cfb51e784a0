"""What the first reply will need, loaded while the model is thinking about it.

The code that judges a command and that runs it takes some 30 ms to load, and no request needs it. A model
takes longer than that to begin its answer, so the time is there; a reply that is already on its way is never
kept waiting for more than one module.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module

import anyio
from anyio.abc import TaskGroup

from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedCall, WrappedProvider

TASK = "load ahead"
"""The name of the task that loads."""

PAUSE_S = 0.005
"""Before each module that a reply may need: a server that answers at once is not kept waiting for them."""

PRICES = (
    "caliban_telemetry.account",
    "caliban_telemetry.meter",
    "caliban_telemetry.table:head",
    "caliban_telemetry.format",
    "caliban_telemetry.frames",
)
"""What every reply needs whose cost is told: loaded as soon as anything is waited for, a connection too."""

MODULES = (
    "caliban_permissions.side_effects.table",
    "caliban_permissions.readonly.programs",
    "caliban_permissions.commands.forms",
    "caliban_permissions.commands.simple",
    "caliban_permissions.commands.judge",
    "caliban_permissions.commands.below",
    "caliban_tools_builtin.shell.bash",
    "caliban_tools_builtin.fence",
    "caliban_process.environ",
    "caliban_process.orphans",
    "caliban_process.run",
    "caliban_process.prctl",
    "caliban_process.shield",
    "_ctypes",
    "resource",
    "caliban_permissions.audit.log",
    "caliban_permissions.audit.archive",
    "caliban_tools_builtin.fs.read",
    "caliban_tools_builtin.search.glob",
    "caliban_tools_builtin.search.grep",
    "caliban_tools_builtin.search.scan",
    "caliban_checkpoint.store",
    "caliban_checkpoint.recorder",
    "caliban.compose.recorder",
    "caliban.compose.rehearsal:judge_a_command",
    "caliban.compose.rehearsal:choose_an_environment",
)
"""In the order in which a reply that calls a tool needs them; those that others import come first.

Behind a colon stands a function that is called: it does in vain what a first call would otherwise wait for.
"""

GUARDED = frozenset({"caliban_permissions.commands.below"})
"""Those that are needed only where rules are about some files: to look for those that a command reaches."""


class LoadAhead:
    """`run` loads one module after the other, only while a request waits for its answer.

    The modules `at_once` come first, and without a pause.
    """

    def __init__(self, modules: Sequence[str] = MODULES, *, at_once: Sequence[str] = ()) -> None:
        self._left = deque((*at_once, *modules))
        self._later = len(modules)
        self._waiting = anyio.Event()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to load."""
        return not self._left

    def asked(self) -> None:
        """A request goes out."""
        self._waiting.set()

    def answered(self) -> None:
        """Its answer begins, or it failed."""
        if self._waiting.is_set():
            self._waiting = anyio.Event()

    async def run(self) -> None:
        """Load everything, however many requests that takes."""
        while self._left:
            if _is_there(self._left[0]):
                self._left.popleft()
                continue
            await self._waiting.wait()
            await anyio.sleep(PAUSE_S if len(self._left) <= self._later else 0)
            if self._waiting.is_set():
                _load(self._left.popleft())


class LoadingProvider(WrappedProvider):
    """`inner`, which tells `ahead` when a request waits for its answer."""

    def __init__(self, inner: Provider, ahead: LoadAhead) -> None:
        super().__init__(inner)
        self._ahead = ahead

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        call = self._inner.stream(request)
        return call if self._ahead.done else _WaitedCall(call, self._ahead)


class _WaitedCall(WrappedCall):
    """A call whose answer is waited for while it is entered."""

    __slots__ = ("_ahead",)

    def __init__(
        self, call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]], ahead: LoadAhead
    ) -> None:
        super().__init__(call)
        self._ahead = ahead

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        self._ahead.asked()
        try:
            return await self._call.__aenter__()
        finally:
            self._ahead.answered()


def load_while_asked(provider: Provider, tasks: TaskGroup | None, *, prices: bool, guarded: bool) -> Provider:
    """`provider`, while whose requests wait `tasks` loads the modules; as it is without tasks.

    With `prices` that includes what tells the cost of a reply, with `guarded` what rules for files need.
    """
    if tasks is None:
        return provider
    modules = [name for name in MODULES if guarded or name not in GUARDED]
    ahead = LoadAhead(modules, at_once=PRICES if prices else ())
    tasks.start_soon(ahead.run, name=TASK)
    return LoadingProvider(provider, ahead)


def _is_there(name: str) -> bool:
    """Whether something else has loaded that module by now; a function is always called."""
    return name in sys.modules


def _load(name: str) -> None:
    module, _, function = name.partition(":")
    with suppress(ImportError):  # one of the standard library that this system has not
        loaded = import_module(module)
        if function:
            getattr(loaded, function)()
