"""One row of `caliban doctor`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.text import one_line

State: TypeAlias = Literal["pass", "warn", "fail"]


class Check(Struct, frozen=True, kw_only=True):
    """One row: what was looked at, how it is, and what to know or do."""

    name: str
    state: State
    hint: str


def check_row(name: str, state: State, hint: str) -> Check:
    """A row, its hint on one line."""
    return Check(name=name, state=state, hint=one_line(hint, max_chars=300))
