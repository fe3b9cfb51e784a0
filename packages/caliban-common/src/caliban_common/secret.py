"""Values that hold a secret, printed without it."""

from __future__ import annotations

from msgspec import Struct


def masked_repr(value: Struct, *secrets: str) -> str:
    """`repr(value)` without the fields named in `secrets`: for the `__repr__` of what holds a key."""
    names = (name for name in value.__struct_fields__ if name not in secrets)
    shown = ", ".join(f"{name}={getattr(value, name)!r}" for name in names)
    return f"{type(value).__name__}({shown})"
