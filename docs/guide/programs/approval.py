"""Calls that somebody else approves, by HTTP and whenever they like: a run waits in a file, not in memory.

python approval.py PORT FOLDER
POST /ask/RUN?PROMPT         starts a run; the answer says how it ended, and which calls wait
POST /allow/RUN, /deny/RUN   decides on the calls that wait; the run goes on, in this process or a later one
"""

import json
import sys
from functools import partial
from pathlib import Path
from urllib.parse import unquote_plus

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from caliban_agent_core import (
    Agent,
    ApprovalRequest,
    Decision,
    Gate,
    Provider,
    connect,
    message_from_json,
    message_to_json,
    tool,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
VERDICTS = {"ask": Decision(action="ask"), "allow": Decision(action="allow"), "deny": Decision(action="deny")}


class Answered:
    """The approver of one request: `ask` leaves the calls to a later one."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision

    async def approve(self, request: ApprovalRequest) -> Decision:
        return self.decision


@tool
async def refund(order: str, euros: int) -> str:
    """Pay a customer back."""
    return f"paid {euros} for {order}"


async def go_on(provider: Provider, file: Path, verb: str, prompt: str) -> bytes:
    agent = Agent(provider, "claude-sonnet-4-6", tools=[refund], gate=Gate(approver=Answered(VERDICTS[verb])))
    stored = [message_from_json(each) for each in json.loads(file.read_text())] if file.exists() else []
    end = await (agent.run_to_end(prompt) if verb == "ask" else agent.resume_to_end(stored))
    file.write_text(json.dumps([message_to_json(message) for message in end.messages]))
    waiting = [{"name": call.name, "input": dict(call.input)} for call in end.pending]
    return json.dumps({"stop": end.stop.kind, "text": end.text, "waiting": waiting}).encode()


async def serve(provider: Provider, folder: Path, client: SocketStream) -> None:
    async with client:
        request = await BufferedByteReceiveStream(client).receive_until(b"\r\n\r\n", 65_536)
        path, _, prompt = unquote_plus(request.split()[1].decode()).partition("?")
        _, verb, name = path.split("/")
        await client.send(HEAD + await go_on(provider, folder / f"{name}.json", verb, prompt))


async def main() -> None:
    provider = connect("anthropic")
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=int(sys.argv[1]))
    print(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}", flush=True)
    await listener.serve(partial(serve, provider, Path(sys.argv[2])))


anyio.run(main)
