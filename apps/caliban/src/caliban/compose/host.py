"""What a run is given by the process that it is part of: environment, secrets, what starts programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from caliban_common.mask import Masker
from caliban_process import Runner

if TYPE_CHECKING:
    from caliban_mcp_client.hosted import HostPipe
    from caliban_tools_builtin.session.ports import Asker


class Host(Struct, frozen=True, kw_only=True):
    """The environment, and the one runner of this process: what wraps it wraps every child.

    `masker` knows the keys that were read so far. `asker` is a person who answers what a model asks.
    `hosted` gives the way to MCP servers that live in the program on the other end.
    """

    environ: Mapping[str, str]
    runner: Runner
    masker: Masker = field(default_factory=Masker)
    asker: Asker | None = None
    hosted: Callable[[str], HostPipe] | None = None


def this_host() -> Host:
    """The host of this process: called once for each run or subcommand.

    Before it starts its first program it hides its memory, and the keys in its environment, from that.
    """
    environ, masker = dict(os.environ), Masker()
    runner = Runner(prepare=lambda: _hide(environ, masker), adopts=True)
    return Host(environ=environ, runner=runner, masker=masker)


def _hide(environ: Mapping[str, str], masker: Masker) -> None:
    """What was read of the environment by now need not stay in it: `environ` has a copy."""
    from caliban_process.environ import private_variables, secret_variables
    from caliban_process.shield import shield_process

    for name, value in environ.items():
        if masker.knows(value):
            os.environ.pop(name, None)
    shield_process(private_variables(environ))
    learn(masker, secret_variables(environ))


def learn(masker: Masker, secrets: Mapping[str, str]) -> None:
    """Let `masker` know what variables hold, and the password of a URL by itself; a key file is no key."""
    for value in secrets.values():
        password = re.search(r"://[^/\s:@]*:([^/\s@]+)@", value)
        if password is not None:
            masker.add(password[1])
        if not value.startswith(("/", "~", ".", "unix:")) or value.count("/") < 2:
            masker.add(value)
