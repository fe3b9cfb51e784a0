"""One hook as configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

HookKind: TypeAlias = Literal["command", "http", "prompt", "agent", "mcp"]
"""A program that is run, an address that is asked, a model that judges, an agent that looks for itself first,
a tool of an MCP server that is called."""

FailurePolicy: TypeAlias = Literal["default", "block", "allow"]
"""What a hook that cannot answer means. `default`: where the event can be blocked it is, and a program that
ran and ended with an odd code allows with a warning. `block`: that blocks, too. `allow`: nothing blocks."""


class HookSpec(Struct, frozen=True, kw_only=True):
    """One hook at one event.

    `place` says where it is written and what it is, for words about it. `condition` is a permission pattern
    that the call must fit. With `args` the command is a program and those are its arguments; without, it is
    a line for a shell. A `background` hook is told and not waited for; one that runs `once` does so once in
    a session. `agent` names the kind of agent that judges, empty for the usual one. A hook of the kind `mcp`
    calls the tool `tool` of the server `server` with `input`, empty for the event itself.
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
    agent: str = ""
    server: str = ""
    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for two hooks that are the same one, written twice."""
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
            self.agent,
            self.server,
            self.tool,
            repr(self.input),
        )
