"""The program: `python program.py BEHAVIOUR,BEHAVIOUR…` speaks on standard input and output.

`plain` is legacy, `modern` and `dual` are what they say; every other word is one thing that real servers get
wrong. With `seed=N` those that leave something to chance do the same each time. It runs with the standard
library alone (`python -S -E`), for each of many tests starts one: so the packages that it lies in are not
imported, only passed through.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType


def _pass_through(name: str, folder: str) -> None:
    """Let modules of the package `name` be imported, without what the package itself imports."""
    package = ModuleType(name)
    package.__path__ = [folder]
    sys.modules[name] = package


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs a start
    for name in ("caliban_mcp_client.testing.rude", "caliban_mcp_client.testing", "caliban_mcp_client"):
        _pass_through(name, here)
        here = os.path.dirname(here)  # noqa: PTH120
    from caliban_mcp_client.testing.rude.server import RudeServer

    RudeServer(sys.argv[1].split(",")).run()
