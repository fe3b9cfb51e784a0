"""One hook as it is configured, and everything that is fixed about it before anything happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

HookKind: TypeAlias = Literal["command", "http", "prompt"]
"""A program that is run, an address that is asked, a model that judges."""

FailurePolicy: TypeAlias = Literal["default", "block", "allow"]
"""What a hook that cannot answer means. `default`: where the event can be blocked it is, and a program that
ran and ended with an odd code allows with a warning. `block`: that blocks, too. `allow`: nothing blocks."""


class HookSpec(Struct, frozen=True, kw_only=True):
    """One hook at one event.

    `place` says where it is written and what it is, for words about it. `condition` is a permission pattern
    that the call must fit. With `args` the command is a program and those are its arguments; without, it is
    a line for a shell. A `background` hook is told and not waited for; one that runs `once` does so once in
    a session.
    """

    event: str
    kind: HookKind
    place: str
    matcher: str = ""
    condition: str = ""
    timeout_s: float = 30.0
    background: bool = False
    once: bool = False
    on_failure: FailurePolicy = "default"
    command: str = ""
    args: tuple[str, ...] | None = None
    shell: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    model: str = ""

    @property
    def identity(self) -> tuple[Any, ...]:
        """What two hooks have in common that are the same one, written twice."""
        return (
            self.event,
            self.kind,
            self.command,
            self.args,
            self.shell,
            tuple(sorted(self.env.items())),
            self.url,
            tuple(sorted(self.headers.items())),
            self.prompt,
            self.model,
        )
