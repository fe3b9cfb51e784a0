"""What a run is given by the process that it is part of: the environment, and what starts programs."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from caliban_process import Runner


class Host(Struct, frozen=True, kw_only=True):
    """The environment, and the one runner of this process: what wraps it wraps every child."""

    environ: Mapping[str, str]
    runner: Runner


def this_host() -> Host:
    """The host of this process: called once for each run or subcommand."""
    return Host(environ=os.environ, runner=Runner())
