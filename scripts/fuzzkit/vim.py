"""Keys of vim against vim itself, where it is installed."""

from __future__ import annotations

from fuzzkit.main import Miss


def differences(seed: int) -> list[Miss]:
    """Where a draft and vim's own text differ after the same keys."""
    return []
