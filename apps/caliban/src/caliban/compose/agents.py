"""The sub-agents of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.agent import agent_options
from caliban.compose.masked import MaskedProvider
from caliban.compose.permissions import Permissions
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import EPHEMERAL
from caliban_agent_core.gate import Gate
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_agent_core.subagent.parts import ChildModel, SubAgentParts
from caliban_agent_core.subagent.tool import AgentTool, ToolsWithAgents
from caliban_common.hook import Hooks
from caliban_common.mask import Masker
from caliban_common.tool import ToolSource
from caliban_settings import Settings


class AgentInputs(Struct, frozen=True, kw_only=True):
    """What sub-agents share with the agent of the run; `model` is not masked yet."""

    definitions: tuple[AgentDefinition, ...]
    model: ResolvedModel
    masker: Masker
    permissions: Permissions
    hooks: Hooks | None = None
    workspace: Path


def agent_kinds(options: Options) -> tuple[AgentDefinition, ...]:
    """The kinds of sub-agents that a run may start."""
    return () if options.extensions.no_sub_agent or options.workspace.no_tools else (GENERAL,)


def with_agents(tools: ToolSource, inputs: AgentInputs, options: Options, settings: Settings) -> ToolSource:
    """`tools`, and the one that starts agents, where there are some to be started and no rule denies it."""
    if not inputs.definitions:
        return tools
    limits = agent_options(options.model, options.workspace, settings, EPHEMERAL)
    parts = SubAgentParts(
        model_for=child_models(inputs.model, inputs.masker),
        tools=tools,
        gate=Gate(rules=inputs.permissions),
        hooks=inputs.hooks,
        options=replace(limits, masker=inputs.masker),
        definitions=inputs.definitions,
        place=f"Working directory: {inputs.workspace}",
        max_depth=settings.get("agents.max_depth", 1),
        max_at_once=settings.get("agents.max_at_once", 8),
    )
    tool = AgentTool(parts)
    return ToolsWithAgents(tools, tool) if inputs.permissions.offers(tool.spec) else tools


def child_models(model: ResolvedModel, masker: Masker) -> Callable[[str | None], ChildModel]:
    """What sub-agents ask: each its own view of it, for a view remembers one history."""

    def model_for(wanted: str | None) -> ChildModel:
        if model.child is None:
            return ChildModel(
                provider=MaskedProvider(model.provider, masker),
                model=_named(wanted, model.name) or model.model,
            )
        child = model.child(_named(wanted, model.name))
        return ChildModel(
            provider=MaskedProvider(child.provider, masker), model=child.model, compactor=child.compactor
        )

    return model_for


def _named(wanted: str | None, provider: str) -> str | None:
    """The model in `wanted`, which may begin with the name of its own `provider`."""
    return wanted.removeprefix(f"{provider}/") if wanted else None
