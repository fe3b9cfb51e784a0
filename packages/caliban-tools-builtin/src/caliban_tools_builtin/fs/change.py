"""What a call changed in a file, for a screen: the model reads none of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_common.hunks import text_change
from caliban_tools_builtin.fs.text import readable

MAX_BYTES: Final = 2_000_000
"""Larger files are not compared: nobody reads that on a screen."""


def shown_change(old: bytes | None, new: bytes) -> Mapping[str, Any]:
    """What `details` say of the change under `change`: see `TextChange.details`."""
    if len(old or b"") + len(new) > MAX_BYTES:
        return {}
    return text_change(readable(old or b""), readable(new)).details()
