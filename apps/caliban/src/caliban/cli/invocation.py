"""What a command is called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from caliban.cli.options import Options
from caliban.early_signals import EarlySignals


class Invocation(Struct, frozen=True, kw_only=True):
    """A call of a command: the options that runs have too, the `values` of all its flags, and signals."""

    options: Options
    values: Mapping[str, Any]
    signals: EarlySignals
