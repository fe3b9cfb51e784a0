"""A served `OAuthWorld`, and `caliban mcp login` with a person before it."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hang_guard import HANG_S

from caliban_mcp_client.testing.oauth import OAuthRules, OAuthWorld
from caliban_provider.testing.loopback import Exchange, LoopbackServer, Request, Send

World = TypeVar("World", bound=OAuthWorld)


@contextmanager
def served(
    rules: OAuthRules | None = None,
    change: Callable[[Any], OAuthRules] | None = None,
    make: Callable[[str, OAuthRules | None], World] = OAuthWorld,  # type: ignore[assignment]
) -> Iterator[World]:
    """A world at a real address; `change` makes its rules once the address is known."""
    world: World | None = None

    def reply(request: Request) -> Exchange:
        assert world is not None
        status, headers, body = world.answer(request.method, request.path, request.headers, request.body)
        return Exchange(status=status, headers=headers, steps=(Send(body),))

    with LoopbackServer(reply) as server:
        world = make(server.url, rules)
        if change is not None:
            world.rules = change(world)
        yield world


def log_in(
    cli: Any, world: OAuthWorld, *args: str, pastes: bool = False, env: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Run `caliban mcp login` and agree in the browser; exit code, output and errors."""
    process = cli.begin("mcp", "login", *args, stdin=subprocess.PIPE, env=env)
    seen = b""
    for line in process.stderr:
        seen += line
        if line.startswith(b"http"):
            place = world.browse(line.decode().strip())
            if pastes:
                process.stdin.write(f"nonsense\n{place}\n".encode())
                process.stdin.flush()
            else:
                with urllib.request.urlopen(place, timeout=HANG_S) as page:
                    seen += page.read()
            break
    out, err = process.communicate(timeout=HANG_S)
    return process.returncode, out.decode(), (seen + err).decode()
