"""An agent behind server-sent events: `curl -N 'http://127.0.0.1:8080/?Why+is+the+sky+blue'`."""

import json
import sys
from contextlib import suppress
from functools import partial
from urllib.parse import unquote_plus

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from caliban_agent_core import Agent, connect, event_to_json

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
GONE = (anyio.BrokenResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound)


async def answer(agent: Agent, client: SocketStream) -> None:
    with suppress(*GONE):  # a reader who leaves ends the run that was theirs, and no other
        async with client:
            request = await BufferedByteReceiveStream(client).receive_until(b"\r\n\r\n", 65_536)
            prompt = unquote_plus(request.split()[1].decode().partition("?")[2])
            await client.send(HEAD)
            async with agent.run(prompt) as run:
                async for event in run.events:
                    await client.send(f"data: {json.dumps(event_to_json(event))}\n\n".encode())


async def main() -> None:
    async with Agent(connect("anthropic"), "claude-sonnet-4-6") as agent:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=int(sys.argv[1]))
        print(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/", flush=True)
        await listener.serve(partial(answer, agent))


anyio.run(main)
