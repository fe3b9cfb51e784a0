"""The sub-agents of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options, SettingsOptions
from caliban.compose.agent import Judges, agent_options
from caliban.compose.masked import MaskedProvider
from caliban.compose.memory.run import RunMemory
from caliban.compose.permissions import Permissions
from caliban.compose.project import ALLOWED, Project
from caliban.compose.resolved import ResolvedModel
from caliban.compose.supplied import ProjectFile, may_hold
from caliban.compose.wiring import USUAL, Wiring
from caliban_agent_core.options import EPHEMERAL
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_agent_core.subagent.parts import ChildModel, SubAgentParts
from caliban_agent_core.subagent.tool import AgentTool, ToolsWithAgents
from caliban_common.mask import Masker
from caliban_common.near import did_you_mean
from caliban_common.paths import config_dir, home
from caliban_common.text import one_line
from caliban_common.tool import ToolSource
from caliban_drive.notice import Notice, Report
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_agent_core.toolsearch.active import ActiveTools


class AgentInputs(Struct, frozen=True, kw_only=True):
    """What sub-agents share with the agent of the run; `model` is not masked yet.

    `coming` gives the names of tools that come and go, where there may be some; `server_cap_chars` is the cap
    on the results of servers, where it is one of its own.
    """

    definitions: tuple[AgentDefinition, ...]
    model: ResolvedModel
    masker: Masker
    permissions: Permissions
    workspace: Path
    memory: RunMemory
    wiring: Wiring = USUAL
    coming: Callable[[], Collection[str]] | None = None
    server_cap_chars: int | None = None


def agent_kinds(options: Options, project: Project, report: Report) -> tuple[AgentDefinition, ...]:
    """The kinds of sub-agents that a run may start, first the one that is taken where none is named.

    Those of the project are taken where it is trusted: they say what models are asked, and in which words.
    """
    if options.extensions.no_sub_agent or options.workspace.no_tools:
        return ()
    kinds = {GENERAL.name: GENERAL}
    if not options.settings.bare:
        files = _of_project(options.settings, project, report)
        folders = _folders(options.settings)
        if files or any(map(may_hold, folders)):
            from caliban_agent_core.subagent.files import find_agents

            read = find_agents(folders, [(file.path, file.data) for file in files])
            for problem in read.problems:
                report(Notice(subtype="agent_file", message=problem))
            kinds |= {kind.name: kind for kind in read.definitions}
        if project.plugins:
            from caliban.compose.plugins.parts import plugin_agents

            kinds |= {kind.name: kind for kind in plugin_agents(project.plugins, report)}
    return _led(tuple(kinds.values()), project.settings.get("agent"), report)


def _folders(options: SettingsOptions) -> tuple[Path, ...]:
    """Where a person's own files of agents are."""
    sources = None if options.setting_sources is None else options.setting_sources.split(",")
    if sources is not None and "user" not in sources:
        return ()
    return (config_dir() / "agents", home() / ".claude" / "agents")


def _of_project(options: SettingsOptions, project: Project, report: Report) -> tuple[ProjectFile, ...]:
    """The files of the project, which stand before a person's own."""
    sources = None if options.setting_sources is None else options.setting_sources.split(",")
    if sources is not None and "project" not in sources:
        return ()
    if project.trust.counts:
        return project.files.agents
    for folder in dict.fromkeys(file.path.parent for file in project.files.agents):
        message = f"the agents in {folder} are not used {ALLOWED}"
        report(Notice(subtype="untrusted_agents", message=message))
    return ()


def _led(
    kinds: tuple[AgentDefinition, ...], first: str | None, report: Report
) -> tuple[AgentDefinition, ...]:
    """`kinds` with the one that the setting `agent` names in front."""
    if first is None:
        return kinds
    named = tuple(kind for kind in kinds if kind.name == first)
    if not named:
        names = [kind.name for kind in kinds]
        message = (
            f"agent: there is no agent {one_line(first)!r}; {did_you_mean(first, names) or 'it does nothing'}"
        )
        report(Notice(subtype="agent_file", message=message))
    return (*named, *(kind for kind in kinds if kind.name != first))


def with_agents(
    tools: ToolSource,
    inputs: AgentInputs,
    judges: Judges,
    options: Options,
    settings: Settings,
    active: ActiveTools | None,
) -> ToolSource:
    """`tools`, and the one that starts agents, where there are some to be started and no rule denies it.

    It stands before those that come and go. What the session has `active` of deferred tools its agents begin
    with.
    """
    if not inputs.definitions:
        return tools
    limits = agent_options(options.model, options.workspace, settings, EPHEMERAL)
    limits = replace(limits, masker=inputs.masker, server_result_cap_chars=inputs.server_cap_chars)
    wiring, memory = inputs.wiring, inputs.memory
    parts = SubAgentParts(
        model_for=wiring.children(child_models(inputs.model, inputs.masker)),
        refusal=None if inputs.model.others is None else inputs.model.others.refusal,
        tools=tools,
        gate=judges.gate,
        hooks=judges.hooks,
        options=wiring.options(limits),
        definitions=inputs.definitions,
        **agent_limits(inputs.workspace, settings, memory.agent_text()),
        new_id=wiring.new_id,
    )
    tool = AgentTool(parts).called_with(active)
    if not inputs.permissions.offers(tool.spec):
        return tools
    if inputs.coming is None:
        return ToolsWithAgents(tools, tool)
    coming = inputs.coming()
    return ToolsWithAgents(tools, tool, sum(1 for one in tools.tools() if one.spec.name not in coming))


def agent_limits(workspace: Path, settings: Settings, memory: str) -> dict[str, Any]:
    """What sub-agents are told of their place and of memory, and how many there may be."""
    place = f"Working directory: {workspace}"
    return {
        "place": f"{place}\n\n{memory}" if memory else place,
        "max_depth": settings.get("agents.max_depth", 1),
        "max_at_once": settings.get("agents.max_at_once", 8),
    }


def child_models(model: ResolvedModel, masker: Masker) -> Callable[[str | None], ChildModel]:
    """What sub-agents ask: each its own view of it, for a view remembers one history."""

    def model_for(wanted: str | None) -> ChildModel:
        other = model.others.of(wanted) if wanted and model.others is not None else None
        if other is not None:
            provider, name = other
            return ChildModel(provider=MaskedProvider(provider, masker), model=name)
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
