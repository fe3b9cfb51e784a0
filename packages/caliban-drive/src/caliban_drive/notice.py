"""What anything below a face has to say to a person: a value, for the face to show in its own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field


class Notice(Struct, frozen=True, kw_only=True):
    """One thing to know: `subtype` for programs, `message` and `hint` for people."""

    subtype: str
    message: str
    hint: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


Report: TypeAlias = Callable[[Notice], None]
"""Takes what there is to say; it must not fail and must not wait."""
