"""A run that is played again: its parts wired out of a recording, and nothing outside is touched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions, SessionOptions, SettingsOptions
from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts, build_costs
from caliban.compose.deferred import hold_back
from caliban.compose.host import Host
from caliban.compose.masked import MaskedProvider
from caliban.compose.model import resolve_model
from caliban.compose.project import open_project
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.wiring import Wiring
from caliban_agent_core.agent import Agent
from caliban_agent_core.gate import Gate
from caliban_agent_core.options import EPHEMERAL, AgentOptions
from caliban_agent_core.subagent.parts import ChildModel, SubAgentParts
from caliban_agent_core.subagent.spec import NAME
from caliban_agent_core.subagent.tool import AgentTool, ToolsWithAgents
from caliban_agent_core.timing import Timing
from caliban_agent_core.toolsearch.active import ActiveTools
from caliban_common.tool import FixedTools, HeldTools, ToolSource
from caliban_common.typed import typed
from caliban_drive.conversation import SessionParts
from caliban_drive.notice import Report, Reporter, as_notice
from caliban_drive.result import Costs
from caliban_drive.session import Session
from caliban_provider.provider import make_ready
from caliban_replay.provider import ReplayingCompactor, ReplayingProvider, SwappedProvider
from caliban_replay.replayer import ChildModels, Replay, ReplayedRules
from caliban_replay.tools import ReplayingTools, replaying_tools


class OtherModel(Struct, frozen=True, kw_only=True):
    """The model that goes on in a replay, and what it costs."""

    resolved: ResolvedModel
    costs: RunCosts


class ReplayedRun(Struct, frozen=True, kw_only=True):
    """A session that is played, and its tools."""

    session: Session
    tools: ToolSource


async def other_model(
    name: str, sources: SettingsOptions, host: Host, workspace: Path, report: Report, base_url: str | None
) -> OtherModel:
    """The model `name`, ready to be asked. Raises as `resolve_model` does."""
    project = open_project(sources, workspace)
    costs = build_costs(None, project.settings, host.environ, are_shown=True)
    inputs = ModelInputs(
        options=ModelOptions(model=name, base_url=base_url),
        settings=project.settings,
        host=host,
        workspace=workspace,
        sources=sources,
        project=project,
    )
    resolved = resolve_model(inputs, costs, lambda warning: report(as_notice(warning)), report)
    resolved = replace(resolved, provider=MaskedProvider(resolved.provider, host.masker))
    await make_ready(resolved.provider)
    return OtherModel(resolved=resolved, costs=costs)


def replayed_run(replay: Replay, reporter: Reporter, host: Host, other: OtherModel | None) -> ReplayedRun:
    """The session of a recording as it was, whatever is on this machine. Raises `DataError`."""
    scene = replay.recording.scene
    rules = ReplayedRules(replay.recording)
    options = _options(scene.options, replay, live=other is not None)
    options = replace(options, masker=host.masker)
    tools: ToolSource = FixedTools(
        replaying_tools((spec for spec in scene.tools if spec.name not in (NAME, *scene.held)), replay)
    )
    held = tuple(replaying_tools((spec for spec in scene.tools if spec.name in scene.held), replay))
    active = None if scene.deferral is None else ActiveTools(scene.deferral)
    if scene.agents is not None:
        agents = scene.agents
        parts = SubAgentParts(
            model_for=_children(replay, other),
            tools=tools,
            gate=Gate(rules=rules),
            options=replace(options, session_id=EPHEMERAL, response_schema=None),
            definitions=agents.definitions,
            place=agents.place,
            max_depth=agents.max_depth,
            max_at_once=agents.max_at_once,
            new_id=replay.new_id,
        )
        spec = next((spec for spec in scene.tools if spec.name == NAME), None)
        tools = ToolsWithAgents(tools, AgentTool(parts, spec=spec).called_with(active))
    if active is not None:
        tools = hold_back(tools, active)
    if held:
        tools = HeldTools(tools, held)
    played = ReplayingProvider(replay)
    agent = Agent(
        played if other is None else _swapped(replay, other, played),
        scene.model,
        tools=tools,
        gate=Gate(rules=rules),
        options=options,
        compactor=ReplayingCompactor(replay) if scene.has_summarizer and other is None else None,
        new_id=replay.new_id,
    )
    costs: Costs = replay.costs if other is None else other.costs
    session = Session(
        agent,
        id=scene.session_id,
        messages=scene.messages,
        prefix=scene.prefix,
        parts=SessionParts(costs=costs, reporter=reporter, new_id=replay.new_id, news=replay.news),
    )
    return ReplayedRun(session=session, tools=tools)


def replay_wiring(replay: Replay) -> Wiring:
    """What the program builds now, with the answers of a recording."""
    scene = replay.recording.scene

    def sessions(options: SessionOptions, workspace: Path) -> Sessions:
        saved = SavedSession(
            id=scene.session_id,
            messages=scene.messages,
            provider=scene.provider,
            model=scene.model,
            prefix=scene.prefix,
        )
        return Sessions(options=SessionOptions(no_save=True), workspace=str(workspace), saved=saved)

    def resolve(*_: object) -> ResolvedModel:
        return ResolvedModel(
            provider=ReplayingProvider(replay),
            model=scene.model,
            name=scene.provider,
            compactor=ReplayingCompactor(replay) if scene.has_summarizer else None,
        )

    return Wiring(
        sessions=sessions,
        resolve=resolve,
        children=lambda models: _children(replay, None),
        tools=lambda tools: ReplayingTools(tools, replay),
        rules=lambda rules: ReplayedRules(replay.recording),
        costs=lambda costs: replay.costs,
        news=lambda news: replay.news,
        options=lambda options: replace(options, timing=replay.timing, keeps_overflow=False),
        new_id=replay.new_id,
        logs=False,
        hooks=False,
        servers=False,
    )


def _children(replay: Replay, other: OtherModel | None) -> Callable[[str | None], ChildModel]:
    def make(model: str, has_summarizer: bool) -> ChildModel:
        played = ReplayingProvider(replay, None)
        if other is not None:
            return ChildModel(provider=_swapped(replay, other, played, is_main=False), model=model)
        compactor = ReplayingCompactor(replay, None) if has_summarizer else None
        return ChildModel(provider=played, model=model, compactor=compactor)

    return ChildModels(replay, make)


def _swapped(
    replay: Replay, other: OtherModel, played: ReplayingProvider, *, is_main: bool = True
) -> SwappedProvider:
    return SwappedProvider(replay, played, other.resolved.provider, other.resolved.model, is_main=is_main)


def _options(data: Mapping[str, Any], replay: Replay, *, live: bool) -> AgentOptions:
    """The options of the agent that was recorded; a `live` one measures time as it is. Raises `DataError`."""
    plain = {name: value for name, value in data.items() if name != "overflow_dir"}
    options = typed(plain, AgentOptions, what="the options of the agent")
    place = data.get("overflow_dir")
    return replace(
        options,
        overflow_dir=Path(place) if isinstance(place, str) else None,
        keeps_overflow=False,
        timing=Timing() if live else replay.timing,
    )
