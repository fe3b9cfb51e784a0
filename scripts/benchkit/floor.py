"""The least that a harness can do with eight commands, for the row that ours is held against.

One request over a bare socket, the calls read out of the whole reply, a shell for each with its output in
pipes, one request with the results: asyncio and json alone, no permissions, no log, no limits. It talks to
the same server, which takes the same two moments of it as of ours.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from typing import Any
from urllib.parse import urlsplit

Message = dict[str, Any]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def converse(url: str) -> None:
    """A turn with the calls of the server, and one with their results."""
    address = urlsplit(url)
    streams = await asyncio.open_connection(address.hostname, address.port)
    messages: list[Message] = [{"role": "user", "content": "Go on."}]
    calls = calls_in(await asked(streams, address.path, messages))
    results = await asyncio.gather(*(result(call) for call in calls))
    messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    await asked(streams, address.path, messages)
    streams[1].close()


async def asked(streams: Streams, path: str, messages: list[Message]) -> bytes:
    """The body of the answer to one request."""
    reader, writer = streams
    body = json.dumps({"model": "mock", "max_tokens": 1000, "stream": True, "messages": messages}).encode()
    head = f"POST {path}/v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    fields = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    size = next(int(field.partition(":")[2]) for field in fields if field.startswith("content-length:"))
    return await reader.readexactly(size)


def calls_in(body: bytes) -> list[Message]:
    """The calls of a reply, each with its arguments."""
    calls: list[Message] = []
    for line in body.splitlines():
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[len(b"data: ") :])
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            calls.append(event["content_block"])
        elif event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            calls[-1]["input"] = json.loads(event["delta"]["partial_json"])
    return calls


async def result(call: Message) -> Message:
    """Run the command of a call, and say what it printed."""
    shell = ("bash", "--noprofile", "--norc", "-c", call["input"]["command"])
    process = await asyncio.create_subprocess_exec(*shell, stdout=PIPE, stderr=PIPE)
    printed, complained = await process.communicate()
    text = f"{printed.decode()}{complained.decode()}exit code {process.returncode}"
    return {"type": "tool_result", "tool_use_id": call["id"], "content": text}


if __name__ == "__main__":
    asyncio.run(converse(sys.argv[1]))
