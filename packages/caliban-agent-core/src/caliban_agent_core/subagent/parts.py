"""What the sub-agents of one session share with the agent that starts them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from caliban_agent_core.gate import Gate
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Compactor
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_common.hook import Hooks
from caliban_common.message import NewId, new_id
from caliban_common.tool import ToolSource
from caliban_provider.provider import Provider


class ChildModel(Struct, frozen=True, kw_only=True):
    """What a sub-agent asks, for itself alone; as a `compactor` of `None` it is asked for summaries too."""

    provider: Provider
    model: str
    compactor: Compactor | None = None


class SubAgentParts(Struct, frozen=True, kw_only=True):
    """What sub-agents are made of.

    `model_for` gives what an agent asks, by the name of a model or `None` for that of its caller; the ledger
    is behind it. `refusal` says why a model that the one at work names may not be asked. `tools` are those of
    the caller without the tool that starts agents; `gate`, `hooks` and `options` are the caller's own, so
    that nothing is less checked. The first of the `definitions` is taken where none is named. `place` tells
    every agent where it works. Agents start others up to `max_depth` (≥ 1) below the session's own; of those
    on one level `max_at_once` (≥ 1) run at a time, the others wait.
    """

    model_for: Callable[[str | None], ChildModel]
    tools: ToolSource
    gate: Gate
    hooks: Hooks | None = None
    options: AgentOptions
    definitions: tuple[AgentDefinition, ...] = (GENERAL,)
    place: str = ""
    max_depth: int = 1
    max_at_once: int = 8
    new_id: NewId = new_id
    refusal: Callable[[str], str | None] | None = None
