"""How the servers of a run are, and what a person should hear of them, as values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

ServerState: TypeAlias = Literal["pending", "connected", "failed", "needs-auth", "disabled"]
"""`pending`: it has not told its tools yet in this run. Faces show these words, which other harnesses have
too."""

EventKind: TypeAlias = Literal[
    "failed",
    "tools_held",
    "tools_new",
    "instructions_held",
    "pins_unusable",
    "declined",
    "answered",
    "problems",
]
"""What may happen: it cannot be used; tools of it wait for a look; they are new; its instructions wait;
what was accepted cannot be read; a question of it was declined, or answered by no person; its lists are
partly wrong."""


class ServerStatus(Struct, frozen=True, kw_only=True):
    """One server now. `words` say what is wrong; `tools` counts those that are offered."""

    name: str
    state: ServerState
    scope: str = ""
    words: str = ""
    hint: str = ""
    tools: int = 0
    is_cached: bool = False


class ServerNews(Struct, frozen=True, kw_only=True):
    """Something that a person should hear of; `names` are those of tools, as the server has them."""

    kind: EventKind
    server: str
    words: str = ""
    hint: str = ""
    names: tuple[str, ...] = ()
