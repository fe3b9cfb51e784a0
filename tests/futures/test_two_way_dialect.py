"""A two-way dialect is one value with read, write and ask: here, words on lines, both ways on one stream.

    > prompt TEXT          < text TEXT     < ask ID NAME     < done SUBTYPE
    > yes ID | no ID

It is a source of prompts, an encoder and an approver at once; nothing else of the house knows of it.
"""

from __future__ import annotations

import os
from collections import deque

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent, Gate
from caliban_agent_core.ports import ApprovalRequest
from caliban_common.event import AgentEvent, AssistantTextDelta
from caliban_common.message import Message, user
from caliban_common.permission import Decision
from caliban_common.tool import ToolOutput, ToolSpec
from caliban_drive import PromptResult, Session
from caliban_headless import Driver, Init, Output
from caliban_headless.stdin import Stdin
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio

INIT = Init(
    session_id="s", model="p/m", tools=(), setting_sources=(), bare=True, cwd="/", permission_mode="default"
)


class Lines:
    """The dialect. `pump` reads beside the runs; answers go to whoever asked, prompts wait in a queue."""

    def __init__(self, stdin: Stdin, output: Output) -> None:
        self._stdin = stdin
        self._output = output
        self._prompts: deque[Message] = deque()
        self._answers: dict[str, bool] = {}
        self._ended = False
        self._news = anyio.Event()

    async def pump(self) -> None:
        buffer = b""
        while (chunk := await self._stdin.read()) is not None:
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                self._take(line.decode())
        self._ended = True
        self._wake()

    # read

    async def next(self) -> Message | None:
        while not self._prompts:
            if self._ended:
                return None
            await self._news.wait()
        return self._prompts.popleft()

    async def last(self) -> bool:
        return False

    # write

    def begin(self, init: Init) -> bytes:
        return b""

    def prompt(self, message: Message) -> bytes:
        return b""

    def event(self, event: AgentEvent) -> bytes:
        return f"text {event.text}\n".encode() if isinstance(event, AssistantTextDelta) else b""

    def result(self, result: PromptResult) -> bytes:
        return f"done {result.subtype}\n".encode()

    # ask

    async def approve(self, request: ApprovalRequest) -> Decision:
        self._output.write(f"ask {request.call.id} {request.call.name}\n".encode())
        await self._output.flush()
        while request.call.id not in self._answers:
            await self._news.wait()
        return Decision(action="allow" if self._answers[request.call.id] else "deny", reason="as said")

    def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "prompt":
            self._prompts.append(user(rest))
        else:
            self._answers[rest] = word == "yes"
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class AskAlways:
    """Rules that leave every call to a person."""

    def decide(self, tool: ToolSpec, args: object) -> Decision:
        return Decision(action="ask", reason="it is important")


class Ring:
    """A tool that counts how often it rang."""

    spec = ToolSpec(name="Ring", description="Ring.", input_schema={"type": "object"})
    rung = 0

    def conflict_key(self, args: object) -> None:
        return None

    async def invoke(self, args: object, context: object) -> ToolOutput:
        self.rung += 1
        return ToolOutput.of("rung")


@pytest.mark.parametrize(("answer", "rung"), [("yes", 1), ("no", 0)])
async def test_prompts_events_and_approvals_share_one_stream(answer: str, rung: int):
    (inbox, client_out), (client_in, outbox) = os.pipe(), os.pipe()
    output, ring = Output(outbox), Ring()
    dialect = Lines(Stdin(inbox), output)
    provider = ScriptedProvider([reply(tool_call("Ring", id="t1")), reply("Fine."), reply("Bye.")])
    agent = Agent(provider, "m", tools=[ring], gate=Gate(rules=AskAlways(), approver=dialect))
    driver = Driver(Session(agent, id="s"), dialect, output, init=INIT)
    client, seen = Stdin(client_in), b""

    async def read_until(mark: bytes) -> None:
        nonlocal seen
        while mark not in seen:
            seen += await client.read() or b""

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            group.start_soon(dialect.pump)
            group.start_soon(driver.run, dialect)
            os.write(client_out, b"prompt ring please\n")
            await read_until(b"ask t1 Ring\n")
            os.write(client_out, f"{answer} t1\n".encode())
            await read_until(b"done success\n")
            os.write(client_out, b"prompt bye\n")
            await read_until(b"Bye.\ndone success\n")
            os.close(client_out)
    assert (seen, ring.rung) == (b"ask t1 Ring\ntext Fine.\ndone success\ntext Bye.\ndone success\n", rung)
    for descriptor in (inbox, client_in, outbox):
        os.close(descriptor)
