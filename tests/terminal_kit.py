"""The real command on a pseudo-terminal."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from command_kit import Cli
from hang_guard import HANG_S


def on_terminal(cli: Cli, *args: str) -> str:
    """What a terminal is sent, standard output and standard error together."""
    ours, theirs = os.openpty()
    process = cli.begin(*args, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    chunks: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 1 << 16):
                chunks.append(chunk)
        except OSError:
            pass

    reader = threading.Thread(target=read)
    reader.start()
    process.wait(HANG_S)
    reader.join(HANG_S)
    os.close(ours)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def at_question(cli: Cli, answer: str, *args: str, meanwhile: Callable[[], None] | None = None) -> str:
    """The same for a command that asks: once it has, `meanwhile` is done, and `answer` typed."""
    ours, theirs = os.openpty()
    process = cli.begin(*args, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            seen += chunk
            if answer and seen.endswith(b"] "):
                if meanwhile is not None:
                    meanwhile()
                os.write(ours, answer.encode())
                answer = ""
    except OSError:
        pass
    process.wait(HANG_S)
    os.close(ours)
    return seen.decode().replace("\r\n", "\n")
