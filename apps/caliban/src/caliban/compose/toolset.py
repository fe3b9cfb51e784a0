"""The tools of a run: all that there are, kept within what rules and its model allow."""

from __future__ import annotations

from caliban.compose.memory.run import WatchedTools
from caliban.compose.opening import Opening
from caliban.compose.remarks import say_all
from caliban.compose.resolved import ResolvedModel
from caliban.compose.serving import ServerSlot, with_servers
from caliban.compose.toolnames import check_tool_names, unknown_of_agents
from caliban.compose.tools import ToolInputs, build_tools
from caliban_common.tool import FilteredTools, FixedTools, ToolSource
from caliban_drive.notice import Notice, Report


def all_tools(
    inputs: ToolInputs, opening: Opening, model: ResolvedModel, slot: ServerSlot | None
) -> ToolSource:
    """The tools of the run, kept within what rules and the model allow."""
    return _usable(_offered(inputs, opening, slot), model, inputs.report)


def _offered(inputs: ToolInputs, opening: Opening, slot: ServerSlot | None) -> ToolSource:
    """The tools that rules do not deny altogether; a rule that names none is told of."""
    installed = with_servers(build_tools(inputs), slot)
    names = {tool.spec.name for tool in installed.tools()}
    rules = check_tool_names(inputs.options.permissions, inputs.settings, names)
    say_all((*rules, *unknown_of_agents(opening.extensions.kinds, names)), "unknown_tool", inputs.report)
    offers, asked = inputs.permissions.offers, inputs.options.permissions.permission_prompt_tool
    # Whoever answers for a person is not called by the model.
    shown = offers if asked is None else lambda spec: spec.name != asked and offers(spec)
    return WatchedTools(FilteredTools(installed, shown), opening.memory)


def _usable(tools: ToolSource, model: ResolvedModel, report: Report) -> ToolSource:
    """None of `tools` for a model that cannot call any."""
    if not tools.tools() or calls_tools(model):
        return tools
    report(Notice(subtype="no_tools", message=f"{model.model} cannot call tools; it answers without them"))
    return FixedTools()


def calls_tools(model: ResolvedModel) -> bool:
    """Whether a model can call tools at all."""
    return model.provider.capabilities(model.model).tools
