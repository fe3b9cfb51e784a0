"""What an app is made of: its model, tools and agents, as flags and settings want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.compose.agents import AgentInputs
from caliban.compose.ahead import load_while_asked
from caliban.compose.board import Board
from caliban.compose.host import Host
from caliban.compose.live import LiveSettings
from caliban.compose.masked import MaskedProvider
from caliban.compose.memory import WatchedTools
from caliban.compose.opening import Opening
from caliban.compose.remarks import say_all
from caliban.compose.resolved import ResolvedModel
from caliban.compose.serving import with_servers
from caliban.compose.toolnames import check_tool_names, unknown_of_agents
from caliban.compose.tools import ToolInputs, build_tools
from caliban.compose.wiring import Wiring
from caliban_common.tool import FilteredTools, FixedTools, ToolSource
from caliban_drive.notice import Notice, Report
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban.compose.servers.build import RunServers
    from caliban_images import MediaLimits


def agent_inputs(
    opening: Opening, model: ResolvedModel, wiring: Wiring, servers: RunServers | None
) -> AgentInputs:
    """What the sub-agents of the run have in common with it."""
    return AgentInputs(
        definitions=opening.extensions.kinds,
        model=model,
        masker=opening.host.masker,
        permissions=opening.permissions,
        workspace=opening.workspace,
        memory=opening.memory,
        wiring=wiring,
        coming=None if servers is None else servers.tool_names,
    )


def tool_inputs(
    opening: Opening, model: ResolvedModel, tasks: TaskGroup | None, live: LiveSettings
) -> ToolInputs:
    """What tools are made of; what is told beside the turns of a run comes by their board."""
    board = Board(opening.permissions)
    board.announce(opening.memory.news)
    return ToolInputs(
        options=opening.options,
        settings=opening.settings,
        live=live,
        workspace=opening.workspace,
        permissions=opening.permissions,
        host=opening.host,
        box=opening.box,
        board=board,
        tasks=tasks,
        report=opening.reporter,
        media=lambda: limits_of(model, live.now),
        notes=opening.memory.notes_dir,
        skills=opening.extensions.skills,
    )


def wired(plain: ResolvedModel, host: Host, tasks: TaskGroup | None, wiring: Wiring) -> ResolvedModel:
    """The model as the agent of the run is given it."""
    model = wiring.model(replace(plain, provider=MaskedProvider(plain.provider, host.masker)))
    return replace(model, provider=load_while_asked(model.provider, tasks))


def limits_of(model: ResolvedModel, settings: Settings) -> MediaLimits:
    """What `model` takes of images and PDFs; looked at when there is one."""
    from caliban.compose.media import media_limits

    return media_limits(model, settings)


def all_tools(
    inputs: ToolInputs, opening: Opening, model: ResolvedModel, servers: RunServers | None
) -> ToolSource:
    """The tools of the run, kept within what rules and the model allow."""
    return _usable(_offered(inputs, opening, servers), model, inputs.report)


def _offered(inputs: ToolInputs, opening: Opening, servers: RunServers | None) -> ToolSource:
    """The tools that rules do not deny altogether; a rule that names none is told of."""
    installed = with_servers(build_tools(inputs), servers)
    names = {tool.spec.name for tool in installed.tools()}
    rules = check_tool_names(inputs.options.permissions, inputs.settings, names)
    say_all((*rules, *unknown_of_agents(opening.extensions.kinds, names)), "unknown_tool", inputs.report)
    return WatchedTools(FilteredTools(installed, inputs.permissions.offers), opening.memory)


def _usable(tools: ToolSource, model: ResolvedModel, report: Report) -> ToolSource:
    """None of `tools` for a model that cannot call any."""
    if not tools.tools() or calls_tools(model):
        return tools
    report(Notice(subtype="no_tools", message=f"{model.model} cannot call tools; it answers without them"))
    return FixedTools()


def calls_tools(model: ResolvedModel) -> bool:
    """Whether the model can be given tools."""
    return model.provider.capabilities(model.model).tools
