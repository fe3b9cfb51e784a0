"""What a run draws by chance, of one seed: the same seed gives the same ids and the same jitter."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from random import Random


def new_seed() -> str:
    """A seed that no other run has."""
    return os.urandom(8).hex()


class Draws:
    """Ids of twelve hexadecimal digits, as `new_id` gives them, and jitter from 0 to 1."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._count = 0
        self.jitter: Callable[[], float] = Random(seed).random

    def new_id(self) -> str:
        """The next id."""
        self._count += 1
        return blake2b(f"{self._seed} {self._count}".encode(), digest_size=6).hexdigest()
