"""What is put around a program so that it finds the proxy: arguments before its own, and variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_sandbox.egress.proxy import USER
from caliban_sandbox.egress.values import Egress
from caliban_sandbox.errors import SandboxError

BRIDGE_PORT: Final = 3128
"""Where the bridge listens inside of the sandbox, which has ports of its own."""

_LOOPBACK: Final = "localhost,127.0.0.1,::1"


class Launch(Struct, frozen=True, kw_only=True):
    """`prefix` goes before the arguments of the program, and `environment` over its variables.

    `needed` are paths that the prefix reads inside of the sandbox: they must be visible there, and no program
    in it may ever have been able to write them, as they are run before Unix sockets are shut.
    """

    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    needed: tuple[str, ...] = ()


def launch(egress: Egress, *, socket: str | None = None, filter_path: str | None = None) -> Launch:
    """How a program is started so that its requests go by `egress`.

    Over a socket the prefix is a program that stands in the network namespace with it (`egress.launch`):
    `socket` is where the sandbox shows the one of `egress`, and `filter_path`, seen from inside, holds the
    instructions of a seccomp filter that is installed once the bridge has been started.
    """
    if egress.socket is None:
        return Launch(environment=proxy_variables(f"http://{USER}:{egress.token}@127.0.0.1:{egress.port}"))
    python = os.path.realpath(sys.executable or "")
    if not Path(python).is_file():
        raise SandboxError("the way to the proxy needs a Python of its own, and this one has no path")
    program = os.path.realpath(Path(__file__).with_name("launch.py"))
    options = ["--listen", str(BRIDGE_PORT), "--socket", socket or egress.socket]
    if filter_path is not None:
        options += ["--filter", filter_path]
    return Launch(
        prefix=(python, "-I", "-S", program, *options, "--"),
        environment=proxy_variables(f"http://127.0.0.1:{BRIDGE_PORT}"),
        needed=(python, os.path.realpath(sys.base_prefix), program),
    )


def proxy_variables(url: str) -> dict[str, str]:
    """The variables by which HTTP clients find a proxy, in both spellings; loopback is asked directly."""
    named = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": _LOOPBACK}
    return named | {name.lower(): value for name, value in named.items()}
