"""The composition root of every face: what flags and settings come to, open for as long as the face runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.formats import output_format
from caliban.cli.options import Options
from caliban.cli.variables import about_variables
from caliban.compose.agent import Judges, agent_options, build_agent, build_judges
from caliban.compose.agents import AgentInputs, agent_kinds, with_agents
from caliban.compose.ahead import load_while_asked
from caliban.compose.audit import build_log
from caliban.compose.board import Board
from caliban.compose.choice import ModelInputs, is_strict
from caliban.compose.costs import RunCosts, build_costs
from caliban.compose.hooks import ask_models, find_hooks, make_hooks
from caliban.compose.host import Host, this_host
from caliban.compose.masked import MaskedProvider, MaskedStore, mask_error, masked_notice
from caliban.compose.permissions import Permissions, build_permissions
from caliban.compose.project import Project, open_project
from caliban.compose.provider import close_provider
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.settings import check_unbuilt
from caliban.compose.system import build_system, is_default
from caliban.compose.toolnames import check_tool_names, unknown_of_agents
from caliban.compose.tools import ToolInputs, build_tools
from caliban.compose.wiring import USUAL, Wiring
from caliban.compose.workspace import build_workspace
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.hook import Hooks, SessionStart
from caliban_common.mask import Masker
from caliban_common.message import Message, TextBlock
from caliban_common.tool import FilteredTools, FixedTools, ToolSource
from caliban_drive.conversation import SessionParts
from caliban_drive.notice import Notice, Report, Reporter, as_notice
from caliban_drive.session import Session
from caliban_provider.provider import make_ready
from caliban_provider.request import nearest_effort
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban.compose.asking.rules import AutoMode
    from caliban_agent_core.ports import Approver, Rules
    from caliban_agent_core.toolsearch.active import ActiveTools
    from caliban_drive.structured import AnswerSchema
    from caliban_hooks import ConfiguredHooks
    from caliban_images import MediaLimits


PLANNING = Notice(
    subtype="plan_mode",
    message="the session is in plan mode: it only reads",
    hint="--permission-mode acceptEdits carries the plan out",
)


class App(Struct, frozen=True, kw_only=True):
    """What a face works with. `reporter` is the road of every notice, also of what a session reports.

    `hooks` are asked in every session, by its sub-agents too. `tools` are those of the run itself: a session
    adds the one that starts `agents`, and the one that finds deferred tools.
    """

    options: Options
    workspace: Path
    settings: Settings
    model: ResolvedModel
    tools: ToolSource
    agents: AgentInputs
    board: Board
    hooks: Hooks | None = None
    permissions: Permissions
    costs: RunCosts
    sessions: Sessions
    reporter: Reporter
    masker: Masker
    strict_media: bool = True
    wiring: Wiring = USUAL
    auto: AutoMode | None = None

    def media(self) -> MediaLimits:
        """What the model takes of images and PDFs."""
        return limits_of(self.model, self.settings)

    def session(self, *, schema: AnswerSchema | None = None, approver: Approver | None = None) -> Session:
        """The conversation that the flags name, open for writing; its answers are held to `schema`.

        The `approver` is asked where rules leave a call to a person, also one of a sub-agent; without one
        such a call is denied. Raises the errors of the store, and `MissingError` for a system prompt that is
        not there.
        """
        saved = self.sessions.open(provider=self.model.name, model=self.model.model)
        shape = schema.native if schema is not None else None
        limits = agent_options(self.options.model, self.options.workspace, self.settings, saved.id, shape)
        limits = replace(limits, masker=self.masker, strict_media=self.strict_media)
        rules = self._rules(asks=approver is not None)
        judges = build_judges(self.wiring.rules(rules), self.hooks, approver, self.permissions.log)
        limits, new_id = self.wiring.options(limits), self.wiring.new_id
        session = Session(
            build_agent(self.model, self._offered(judges), judges, limits, new_id=new_id),
            id=saved.id,
            messages=saved.messages,
            store=None if saved.store is None else MaskedStore(saved.store, self.masker),
            prefix=saved.prefix,
            parts=SessionParts(
                start=self._start(saved),
                costs=self.wiring.costs(self.costs),
                reporter=self.reporter,
                new_id=new_id,
                news=self.wiring.news(self.board.news),
                pending=saved.pending,
            ),
        )
        self._install_system(session, schema)
        if self.permissions.log is not None:
            self.permissions.log.session_id = saved.id
        self.board.session = session
        if saved.plan_mode and not self.permissions.plan_mode:
            session.note(plan_mode=False)
        return session

    def _rules(self, *, asks: bool) -> Rules:
        """The rules of a session; in the auto mode what they leave open is answered before a person is."""
        if self.auto is None:
            return self.permissions.asking() if asks else self.permissions
        from caliban.compose.asking.rules import AutoRules

        return AutoRules(self.permissions, self.auto, interactive=asks)

    def _offered(self, judges: Judges) -> ToolSource:
        """The tools of a session. What it finds of deferred ones is its own, and ends with it."""
        if not _calls_tools(self.model):
            return self.tools
        active = self.active_tools()
        tools = with_agents(self.tools, self.agents, judges, self.options, self.settings, active)
        if active is None:
            return tools
        from caliban.compose.deferred import hold_back

        return hold_back(tools, active)

    def active_tools(self) -> ActiveTools | None:
        """Where a session notes which deferred tools it is shown; `None` where none are held back."""
        if not any(tool.spec.deferred for tool in self.tools.tools()):
            return None
        from caliban.compose.deferred import build_active

        return build_active(self.permissions, self.model, self.settings)

    def _start(self, saved: SavedSession) -> SessionStart:
        """What hooks are told of the session."""
        is_fork = self.options.session.fork_session
        return SessionStart(
            session_id=saved.id,
            cwd=str(self.workspace),
            provider=self.model.name,
            model=self.model.model,
            source="fork" if is_fork else "resume" if saved.resumed else "startup",
        )

    def _install_system(self, session: Session, schema: AnswerSchema | None) -> None:
        """Put the system prompt in front; a resumed session keeps one that a flag once said."""
        options = self.options.system
        resumed = any(message.role != "system" for message in session.messages)
        if resumed and not options.is_given and schema is None and not is_default(session.messages):
            return
        message = build_system(options, self.workspace, has_tools=bool(self.tools.tools()))
        session.set_system(message if schema is None else _with_instruction(message, schema))


@asynccontextmanager
async def open_app(
    options: Options,
    report: Report,
    host: Host | None = None,
    *,
    tasks: TaskGroup | None = None,
    wiring: Wiring = USUAL,
) -> AsyncIterator[App]:
    """The app that `options` ask for, its provider ready to be asked; `report` hears of it meanwhile.

    `tasks` holds what goes on beside the run. Raises the errors of all that was asked for, before it is sent.
    """
    host = host or this_host()
    reporter = wiring.reporter(lambda notice: report(masked_notice(notice, host.masker)))
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    settings = project.settings
    sessions = wiring.sessions(options.session, workspace)
    _say_warnings(options, settings, host, sessions.saved, reporter)
    kinds = agent_kinds(options, project, reporter)
    permissions = _permissions(options, project, workspace, sessions.saved, kinds, reporter)
    permissions.log = build_log(settings, host.masker, reporter) if wiring.logs else None
    costs = _costs(options, settings, host)
    found = find_hooks(options, settings) if wiring.hooks else None
    classifies = permissions.mode == "auto" and not options.permissions.disable_auto_mode
    asked = _model_inputs(options, project, host, workspace, sessions.saved, classifies or ask_models(found))
    plain = wiring.resolve(asked, costs, lambda warning: reporter(as_notice(warning)), reporter)
    model = _wired(plain, host, tasks, wiring)
    tools = ToolInputs(
        options=options,
        settings=settings,
        workspace=workspace,
        permissions=permissions,
        host=host,
        board=Board(permissions),
        tasks=tasks,
        report=reporter,
        media=lambda: limits_of(model, settings),
    )
    hooks = make_hooks(found, tools, plain)
    async with _running(model, permissions, hooks, host, reporter):
        _say_what_is_left_out(options, settings, model, reporter)
        yield App(
            options=options,
            workspace=workspace,
            settings=settings,
            model=model,
            tools=wiring.tools(_usable(_offered(tools, kinds), model, reporter)),
            agents=_agents(kinds, plain, tools, wiring),
            board=tools.board,
            hooks=hooks,
            permissions=permissions,
            costs=costs,
            sessions=sessions,
            reporter=reporter,
            masker=host.masker,
            strict_media=is_strict(host.environ),
            wiring=wiring,
            auto=_auto(options, workspace, plain, host, reporter) if classifies else None,
        )


def _auto(options: Options, workspace: Path, model: ResolvedModel, host: Host, report: Report) -> AutoMode:
    """The auto mode of the run; its model is told no secret. Raises `ConfigError`."""
    from caliban.compose.asking.classifier import Classifier
    from caliban.compose.asking.lists import read_auto_lists
    from caliban.compose.asking.rules import AutoMode

    lists = read_auto_lists(options.settings, workspace, report)
    judge = model if model.classifier is None else model.classifier()
    provider = MaskedProvider(judge.provider, host.masker)
    return AutoMode(lists, Classifier(provider=provider, model=judge.model), report)


@asynccontextmanager
async def _running(
    model: ResolvedModel, permissions: Permissions, hooks: ConfiguredHooks | None, host: Host, report: Report
) -> AsyncIterator[None]:
    """Make the provider ready, and close what a run has opened; no error that leaves holds a secret."""
    try:
        await make_ready(model.provider)
        yield
    except Exception as error:
        mask_error(error, host.masker)
        raise
    finally:
        if hooks is not None:
            await hooks.aclose()
        await close_provider(model.provider, report)
        await permissions.close()


def _say_warnings(
    options: Options, settings: Settings, host: Host, saved: SavedSession, report: Report
) -> None:
    """Name what somebody asked for in vain. Raises `ConfigError` for what guards a run."""
    in_vain = check_unbuilt(settings, options.extensions)
    warnings = (*about_variables(host.environ), *settings.warnings, *in_vain, *saved.warnings)
    _say_all(warnings, "warning", report)


def _costs(options: Options, settings: Settings, host: Host) -> RunCosts:
    shows_costs = output_format(options.output.output_format).is_data or not options.output.quiet
    return build_costs(options.model.max_budget_usd, settings, host.environ, are_shown=shows_costs)


def _agents(
    kinds: tuple[AgentDefinition, ...], model: ResolvedModel, inputs: ToolInputs, wiring: Wiring
) -> AgentInputs:
    """What the sub-agents of the run have in common with it."""
    return AgentInputs(
        definitions=kinds,
        model=model,
        masker=inputs.host.masker,
        permissions=inputs.permissions,
        workspace=inputs.workspace,
        wiring=wiring,
    )


def _wired(plain: ResolvedModel, host: Host, tasks: TaskGroup | None, wiring: Wiring) -> ResolvedModel:
    """The model as the agent of the run is given it."""
    model = wiring.model(replace(plain, provider=MaskedProvider(plain.provider, host.masker)))
    return replace(model, provider=load_while_asked(model.provider, tasks))


def limits_of(model: ResolvedModel, settings: Settings) -> MediaLimits:
    """What `model` takes of images and PDFs; looked at when there is one."""
    from caliban.compose.media import media_limits

    return media_limits(model, settings)


def _model_inputs(
    options: Options, project: Project, host: Host, workspace: Path, saved: SavedSession, classifies: bool
) -> ModelInputs:
    return ModelInputs(
        options=options.model,
        settings=project.settings,
        host=host,
        workspace=workspace,
        sources=options.settings,
        project=project,
        session=saved.model_before,
        classifies=classifies,
    )


def _permissions(
    options: Options,
    project: Project,
    workspace: Path,
    saved: SavedSession,
    kinds: tuple[AgentDefinition, ...],
    report: Report,
) -> Permissions:
    """The rules of the run; a session that goes on in plan mode says so."""
    permissions = build_permissions(
        options.permissions,
        project.settings,
        workspace,
        trusted=project.trust.counts,
        planning=saved.plan_mode,
        vouched=(agent_spec(kinds),),
    )
    if saved.plan_mode and permissions.plan_mode:
        report(PLANNING)
    return permissions


def _offered(inputs: ToolInputs, kinds: tuple[AgentDefinition, ...]) -> ToolSource:
    """The tools that rules do not deny altogether; a rule that names none is told of."""
    installed = build_tools(inputs)
    names = {tool.spec.name for tool in installed.tools()}
    rules = check_tool_names(inputs.options.permissions, inputs.settings, names)
    _say_all((*rules, *unknown_of_agents(kinds, names)), "unknown_tool", inputs.report)
    return FilteredTools(installed, inputs.permissions.offers)


def _say_all(warnings: Iterable[str], subtype: str, report: Report) -> None:
    for warning in warnings:
        report(Notice(subtype=subtype, message=warning))


def _say_what_is_left_out(options: Options, settings: Settings, model: ResolvedModel, report: Report) -> None:
    """Name what was asked for and the model cannot do."""
    effort = settings.get("effort")
    able = model.provider.capabilities(model.model)
    if effort in (None, "auto"):
        return
    if able.efforts is None:
        nearest = effort if able.thinking else None
    else:
        nearest = nearest_effort(effort, able.efforts)
    if nearest is None:
        message = f"{model.model} is not known to take an effort; the setting `effort` may do nothing"
        report(Notice(subtype="no_effort", message=message))
    elif nearest != effort:
        message = f"{model.model} takes no effort {effort}; it is asked for {nearest}"
        report(Notice(subtype="lower_effort", message=message))


def _usable(tools: ToolSource, model: ResolvedModel, report: Report) -> ToolSource:
    """None of `tools` for a model that cannot call any."""
    if not tools.tools() or _calls_tools(model):
        return tools
    report(Notice(subtype="no_tools", message=f"{model.model} cannot call tools; it answers without them"))
    return FixedTools()


def _calls_tools(model: ResolvedModel) -> bool:
    return model.provider.capabilities(model.model).tools


def _with_instruction(message: Message | None, schema: AnswerSchema) -> Message:
    text = f"{message.text}\n\n{schema.instruction()}" if message is not None else schema.instruction()
    return Message(role="system", content=(TextBlock(text=text),))
