"""Agents that judge for hooks: they look for themselves, with tools that read, and say what they think."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.agents import child_models
from caliban.compose.resolved import ResolvedModel
from caliban_agent_core.agent import Agent
from caliban_agent_core.attributed import AttributedProvider
from caliban_agent_core.gate import Gate
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Rules
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.reach import may_use
from caliban_common.mask import Masker
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_common.tool import FilteredTools, ToolSource
from caliban_hooks import AgentTask, HookFailed

USUAL: Final = AgentDefinition(
    name="hooks",
    description="judges an event for a hook",
    prompt=(
        "You judge an event of another agent's session, for a rule of the person's. Look at the files that "
        "matter with your tools before you say anything; nobody answers questions. Your last message is one "
        "JSON object, as the question says, and nothing else."
    ),
)


class InvestigatorParts(Struct, frozen=True, kw_only=True):
    """What such agents are made of; `tools` are those of the run, known once it has begun."""

    model: ResolvedModel
    masker: Masker
    rules: Rules
    options: AgentOptions
    kinds: Sequence[AgentDefinition]
    tools: Callable[[], ToolSource]
    place: str


class Investigator:
    """An `Investigate`. Its agents only read, whatever their kind may use otherwise.

    What they spend counts as what the run spends, a person's word that rules want is a refusal, and no hook
    is told of what they do: a hook that had itself judged by a hook need not end.
    """

    def __init__(self, parts: InvestigatorParts) -> None:
        self._parts = parts

    def check(self, name: str) -> AgentDefinition:
        """The kind of agent `name`. Raises `HookFailed` where there is none."""
        if not name:
            return USUAL
        kinds = {kind.name: kind for kind in self._parts.kinds}
        if name not in kinds:
            meant = did_you_mean(name, tuple(kinds)) or f"there are {', '.join(kinds) or 'none'}"
            raise HookFailed(f"there is no agent {one_line(name, max_chars=80)!r}; {meant}")
        return kinds[name]

    async def __call__(self, task: AgentTask) -> str:
        """The last message of an agent; see `Investigate`. Raises `HookFailed` and what the provider does."""
        agent = self._agent(self.check(task.agent), task.model)
        with anyio.move_on_after(task.timeout_s):
            end = await agent.run_to_end(task.question)
            if not end.stop.ok:
                raise HookFailed(f"the agent ended before it was done: {one_line(end.stop.message)}")
            return end.text
        raise HookFailed(f"the agent gave no verdict within {task.timeout_s:g} s")

    def _agent(self, kind: AgentDefinition, model: str) -> Agent:
        parts = self._parts
        asked = child_models(parts.model, parts.masker)(model or kind.model)
        options = replace(
            parts.options,
            agent=USUAL.name,
            max_turns=min(kind.max_turns, parts.options.max_turns),
            effort=kind.effort or parts.options.effort,
            response_schema=None,
            no_edit_nudge_turns=0,
            overflow_dir=None,
        )
        prompt = kind.prompt if kind is USUAL else f"{kind.prompt}\n\n{USUAL.prompt}"
        reads = replace(kind, reads_only=True)
        return Agent(
            AttributedProvider(asked.provider, USUAL.name),
            asked.model,
            system=f"{prompt}\n\n{parts.place}",
            tools=FilteredTools(parts.tools(), lambda spec: may_use(reads, spec)),
            gate=Gate(rules=parts.rules),
            options=options,
            compactor=asked.compactor,
        )
