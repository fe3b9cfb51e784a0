"""What a kind of sub-agent is."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from caliban_provider.request import Effort

MAX_TURNS = 20
"""Of one sub-agent, where its definition does not say (behaviours 2.6)."""

OWN_MODEL: Final = ("inherit", "default")
"""Words for the model of the caller."""
NICKNAMES: Final = ("sonnet", "opus", "haiku")
"""Names of models that only another harness knows: no provider has a model of one."""


class AgentDefinition(Struct, frozen=True, kw_only=True):
    """A kind of sub-agent. `description` tells the model when to take it, `prompt` is its system prompt.

    It may use the tools whose names match one of the patterns `tools` (`None`: all of its caller) and none
    of `denied_tools`; with `reads_only` only what reads. A `model` or `effort` of `None` is its caller's.
    `background` says that its calls run in the background unless they say otherwise; `initial_prompt` stands
    before what it is asked. One that `inherits_active` is shown the deferred tools that its caller had found,
    as far as it may use them. `skills` are those whose words it begins with: whoever makes agents puts them
    into the `prompt`. Of servers of tools it may use those named by `servers` (`None`: all of its caller).
    `source` is where it was written.
    """

    name: str
    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    denied_tools: tuple[str, ...] = ()
    reads_only: bool = False
    model: str | None = None
    effort: Effort | None = None
    max_turns: int = MAX_TURNS
    background: bool = False
    initial_prompt: str = ""
    inherits_active: bool = True
    skills: tuple[str, ...] = ()
    servers: tuple[str, ...] | None = None
    source: str = ""


GENERAL = AgentDefinition(name="general-purpose", description="any task of several steps")
"""The one that is there in any case."""
