"""Whatever a model, a person and the machine do: what the model is sent next is a history that it takes.

One run of this test is a conversation of several prompts in one saved session. The replies are drawn from
everything that has gone wrong with one (calls that fail, are denied, garbled, cut or unknown, replies that
break, end nowhere or are refused, prompts that are too long), a sub-agent among them. Prompts are
interrupted, single calls stopped, words said in between, and a process is killed: the next prompt then begins
from the files as they lay at that moment. The server refuses what the vendor would refuse.

`CALIBAN_HISTORIES=300` has more of them than the dozen that a check of the project needs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from caliban.cli.options import Options, PermissionOptions, SessionOptions
from caliban.compose.app import App, open_app
from caliban_common.event import AgentEvent
from caliban_common.message import user
from caliban_drive.session import Session
from caliban_provider.testing.exchange import Exchange, Request
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

numbers = count(1)


def call(name: str, **args: object) -> wire.WireBlock:
    return wire.tool_use(name, args, id=f"toolu_{next(numbers)}")


def read(path: str = "note.txt") -> wire.WireBlock:
    return call("Read", path=path)


SLOW = "sleep 1000"
"""Never waited for: it is stopped, or the agent that made the call."""

SIGNED = wire.thinking("hm", signature="U2ln")
REPLIES = {
    "text": lambda: wire.exchange(wire.text("done")),
    "thinking": lambda: wire.exchange(SIGNED, wire.text("done")),
    "call": lambda: wire.exchange(wire.text("I look."), read()),
    "thoughtful call": lambda: wire.exchange(SIGNED, read()),
    "two calls": lambda: wire.exchange(read(), read("missing.txt")),
    "same id": lambda: wire.exchange(wire.tool_use("Read", {"path": "note.txt"}, id="toolu_same")),
    "long result": lambda: wire.exchange(read("long.txt")),
    "failing": lambda: wire.exchange(call("Bash", command="false")),
    "slow": lambda: wire.exchange(call("Bash", command=SLOW)),
    "denied": lambda: wire.exchange(call("Bash", command="touch made"), read()),
    "unknown": lambda: wire.exchange(call("Nope", x=1)),
    "garbled": lambda: wire.exchange(wire.tool_use("Read", '{"path": "no', id=f"toolu_{next(numbers)}")),
    "todo": lambda: wire.exchange(call("TodoWrite", todos=[{"content": "a", "status": "pending"}])),
    "agent": lambda: wire.exchange(call("Agent", description="a look", prompt="look"), read()),
    "background agent": lambda: wire.exchange(
        call("Agent", description="a look", prompt="look", run_in_background=True)
    ),
    "background": lambda: wire.exchange(call("Bash", command="true", run_in_background=True)),
    "nothing": wire.exchange,
    "blank": lambda: wire.exchange(wire.text(" \n")),
    "cut": lambda: wire.exchange(wire.text("half of"), stop_reason="max_tokens"),
    "cut call": lambda: wire.exchange(read(), stop_reason="max_tokens"),
    "refusal": lambda: wire.exchange(wire.text("no"), stop_reason="refusal"),
    "paused": lambda: wire.exchange(wire.text("wait"), stop_reason="pause_turn"),
    "broken": lambda: wire.broken(wire.text("Hel", "lo"), after=4),
    "broken call": lambda: wire.broken(wire.text("I look."), read(), after=7),
    "fault": lambda: wire.failure(500, "api_error", "oh", retry_after_ms="1"),
    "busy": lambda: wire.failure(529, "overloaded_error", "busy", retry_after_ms="1"),
    "too long": lambda: wire.failure(400, "invalid_request_error", "prompt is too long: 9000 > 8000"),
}


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt: the replies while it lasts, and what happens at which of its events."""

    replies: tuple[str, ...]
    interrupt_at: int | None
    steer_at: int | None
    stop_call_at: int | None
    killed_at: int | None


moments = st.none() | st.integers(0, 40)
prompts = st.builds(
    Prompt,
    replies=st.lists(st.sampled_from(sorted(REPLIES)), max_size=5).map(tuple),
    interrupt_at=moments,
    steer_at=moments,
    stop_call_at=moments,
    killed_at=moments,
)


class World:
    """A server that plays the replies of the prompt at work, and notes what it refused."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.waiting: list[str] = []
        self.strict = StrictValidator()
        self.server = LoopbackServer(self.play, validator=self.judge)

    def judge(self, request: Request) -> tuple[int, bytes] | None:
        refusal = self.strict(request)
        if refusal is not None:
            self.refused.append(f"{refusal[1].decode()} for {request.body.decode()[:3000]}")
        return refusal

    def play(self, request: Request) -> Exchange:
        name = self.waiting.pop(0) if self.waiting else "text"
        return REPLIES[name]()


async def converse(world: World, folder: Path, script: list[Prompt]) -> None:
    """The whole conversation."""
    kept = folder / "sessions"
    for number, prompt in enumerate(script):
        world.waiting = list(prompt.replies)
        how = {"session": "s"} if not (kept / "s.json").exists() else {"resume": "s"}
        options = Options(
            session=SessionOptions(sessions_dir=str(kept), **how),
            permissions=PermissionOptions(allow=("Bash:sleep *", "Bash:true", "Bash:false")),
        )
        snapshot = folder / f"killed{number}"
        async with anyio.create_task_group() as tasks:
            async with open_app(options, lambda notice: None, tasks=tasks) as app:
                await submit(app, prompt, number, kept, snapshot)
            tasks.cancel_scope.cancel()
        if snapshot.exists():  # what a process that was killed then would have left
            shutil.rmtree(kept)
            shutil.copytree(snapshot, kept)


async def submit(app: App, prompt: Prompt, number: int, kept: Path, snapshot: Path) -> None:
    session = app.session()
    calls: list[str] = []
    async with (
        anyio.create_task_group() as stopping,
        session.submit(user(f"prompt {number}")) as submission,
    ):
        at = 0
        async for event in submission.events:
            if event.type == "tool_call_ready":
                calls.append(event.call.id)
            if at == prompt.steer_at:
                session.steer(user(f"and mind this, {number}"))
            if at == prompt.stop_call_at and calls:
                session.stop_call(calls[-1])
            if at == prompt.interrupt_at or (prompt.interrupt_at is None and at == 60):
                session.interrupt()
            if at == prompt.killed_at and kept.exists():
                shutil.copytree(kept, snapshot, ignore=shutil.ignore_patterns("*.lock"))
            at += 1
            slow = slow_call(event)
            if slow is not None:
                stopping.start_soon(stop_call, session, slow)
        stopping.cancel_scope.cancel()
    await session.aclose()


def slow_call(event: AgentEvent) -> str | None:
    """The call to stop where the event is the beginning of one that takes too long, in whatever agent."""
    inner = event.event if event.type == "child_event" else event
    if inner.type != "tool_call_ready" or inner.call.input.get("command") != SLOW:
        return None
    return event.tool_use_id if event.type == "child_event" else inner.call.id


async def stop_call(session: Session, tool_use_id: str) -> None:
    """Stop a call as soon as it runs: it is shown before."""
    while not session.stop_call(tool_use_id):
        await anyio.sleep(0.01)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a workspace: the working directory of this module's tests."""
    home = tmp_path_factory.mktemp("home")
    work = home / "work"
    work.mkdir()
    (work / "note.txt").write_text("a note\n")
    (work / "long.txt").write_text("many words " * 3000)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.setenv("HOME", str(home))
        patch.setenv("ANTHROPIC_API_KEY", "test-key")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CALIBAN_ROUTER_CONFIG"):
            patch.delenv(name, raising=False)
        yield home


@settings(max_examples=int(os.environ.get("CALIBAN_HISTORIES", "12")))
@given(script=st.lists(prompts, min_size=1, max_size=4))
def test_no_history_that_is_sent_is_one_that_the_vendor_refuses(home: Path, script: list[Prompt]) -> None:
    world = World()

    async def whole(folder: str) -> None:
        with anyio.fail_after(HANG_S):
            await converse(world, Path(folder), script)

    with (
        world.server as server,
        tempfile.TemporaryDirectory(dir=home) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("ANTHROPIC_BASE_URL", server.url)
        anyio.run(whole, folder)
    assert world.refused == []
