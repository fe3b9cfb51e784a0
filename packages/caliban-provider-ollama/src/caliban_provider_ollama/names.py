"""Ids of calls: the wire has none, or did not for long, so they are made here."""

from __future__ import annotations

import re

_NOT_DIGIT = re.compile(r"\D")


def made_id(created_at: str, place: int) -> str:
    """The id of a reply's call number `place`, from the time at which the server began the reply.

    The same whenever the reply is decoded, and another for another reply.
    """
    digits = _NOT_DIGIT.sub("", created_at)[:24]
    return f"call_{digits}_{place}" if digits else f"call_{place}"
