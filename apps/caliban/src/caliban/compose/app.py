"""The composition root of every face: what flags and settings come to, open for as long as the face runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.agent import Judges, agent_options, build_agent, build_judges
from caliban.compose.agents import AgentInputs, with_agents
from caliban.compose.ahead import load_while_asked
from caliban.compose.board import Board
from caliban.compose.checkpoints import with_checkpoints
from caliban.compose.choice import is_strict
from caliban.compose.context import ContextInputs, ContextPiece, context_pieces
from caliban.compose.costs import RunCosts
from caliban.compose.extensions import Extensions
from caliban.compose.hooks import make_hooks
from caliban.compose.host import Host, this_host
from caliban.compose.masked import MaskedProvider, MaskedStore, mask_error
from caliban.compose.memory import NoteRules, RunMemory, WatchedTools
from caliban.compose.opening import Opening, open_run
from caliban.compose.permissions import Permissions
from caliban.compose.provider import close_provider
from caliban.compose.remarks import say_all, say_what_is_left_out
from caliban.compose.resolved import ResolvedModel
from caliban.compose.serving import run_servers, with_servers
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.sessionstore import cleanup_days
from caliban.compose.system import build_system, is_default
from caliban.compose.toolnames import check_tool_names, unknown_of_agents
from caliban.compose.tools import ToolInputs, build_tools
from caliban.compose.wiring import USUAL, Wiring
from caliban_common.hook import Hooks, SessionStart
from caliban_common.mask import Masker
from caliban_common.message import Message, TextBlock
from caliban_common.tool import FilteredTools, FixedTools, HeldTools, ToolSource
from caliban_drive.conversation import SessionParts
from caliban_drive.notice import Notice, Report, Reporter, as_notice
from caliban_drive.session import Session
from caliban_provider.provider import make_ready
from caliban_settings import Settings
from caliban_tools_builtin.specs import NOTE_TOOLS

if TYPE_CHECKING:
    from caliban.compose.asking.rules import AutoMode
    from caliban.compose.servers.build import RunServers
    from caliban_agent_core.ports import Approver, Rules
    from caliban_agent_core.toolsearch.active import ActiveTools
    from caliban_drive.structured import AnswerSchema
    from caliban_hooks import ConfiguredHooks
    from caliban_images import MediaLimits


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
    memory: RunMemory
    reporter: Reporter
    masker: Masker
    strict_media: bool = True
    wiring: Wiring = USUAL
    auto: AutoMode | None = None
    extensions: Extensions
    servers: RunServers | None = None

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
        judged = NoteRules(
            self._known(self.wiring.rules(self._rules(asks=approver is not None))), self.memory
        )
        judges = build_judges(judged, self.hooks, approver, self.permissions.log)
        self.memory.begin(saved.messages, (tool.spec for tool in self.tools.tools()))
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

    def _known(self, rules: Rules) -> Rules:
        """`rules`, which do not mean tools of servers that nobody has looked at, unless by their names."""
        if self.servers is None:
            return rules
        from caliban.compose.servers.rules import NewToolRules

        return NewToolRules(rules, self.servers.fleet)

    def _offered(self, judges: Judges) -> ToolSource:
        """The tools of a session. What it finds of deferred ones is its own, and ends with it."""
        if not _calls_tools(self.model):
            return self.tools
        active, held = self.active_tools(), self.held_tools()
        shown = FilteredTools(self.tools, lambda spec: spec.name not in held) if held else self.tools
        tools = with_agents(shown, self.agents, judges, self.options, self.settings, active)
        if active is not None:
            from caliban.compose.deferred import hold_back

            tools = hold_back(tools, active)
        more = tuple(tool for tool in self.tools.tools() if tool.spec.name in held)
        return HeldTools(tools, more) if more else tools

    def active_tools(self) -> ActiveTools | None:
        """Where a session notes which deferred tools it is shown; `None` where none are held back."""
        held = self.held_tools()
        shown = (tool.spec for tool in self.tools.tools() if tool.spec.name not in held)
        if self.servers is None and not any(spec.deferred for spec in shown):
            return None
        from caliban.compose.deferred import build_active

        return build_active(self.permissions, self.model, self.settings)

    def held_tools(self) -> frozenset[str]:
        """Those that are not shown before they are called: the tools for notes, while there are no notes."""
        if self.memory.shows_notes:
            return frozenset()
        return frozenset(NOTE_TOOLS)

    def context(self) -> tuple[ContextPiece, ...]:
        """The pieces of the system prompt. Raises `MissingError`, `UsageError` for the file of a flag."""
        inputs = ContextInputs(
            options=self.options.system,
            workspace=self.workspace,
            memory=self.memory,
            style=self.extensions.style,
            has_tools=bool(self.tools.tools()),
        )
        return context_pieces(inputs)

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
        message = build_system(self.context())
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
    opening = open_run(options, report, host or this_host(), wiring)
    options, reporter, settings = opening.options, opening.reporter, opening.settings
    asked, costs = opening.model_inputs(), opening.costs
    plain = wiring.resolve(asked, costs, lambda warning: reporter(as_notice(warning)), reporter)
    model = _wired(plain, opening.host, tasks, wiring)
    tools = _tool_inputs(opening, model, tasks)
    hooks = make_hooks(opening.hooks, tools, plain)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_running(model, hooks, opening))
        await stack.enter_async_context(opening.box.opened(reporter, tasks))
        servers = run_servers(opening) if wiring.servers and _calls_tools(model) else None
        if servers is not None:
            tools.board.announce(servers.news)
            await stack.enter_async_context(servers.opened(tasks))
        say_what_is_left_out(options, settings, model, reporter)
        yield App(
            options=options,
            workspace=opening.workspace,
            settings=settings,
            model=model,
            tools=wiring.tools(_all_tools(tools, opening, model, servers)),
            agents=_agents(opening, plain, wiring, servers),
            board=tools.board,
            hooks=hooks,
            permissions=opening.permissions,
            costs=costs,
            sessions=opening.sessions,
            memory=opening.memory,
            reporter=reporter,
            masker=opening.host.masker,
            strict_media=is_strict(opening.host.environ),
            wiring=wiring,
            auto=_auto(opening, plain) if opening.classifies else None,
            extensions=opening.extensions,
            servers=servers,
        )
    _expire_sessions(options, settings, wiring, reporter)


def _expire_sessions(options: Options, settings: Settings, wiring: Wiring, report: Report) -> None:
    """Let go of old sessions, where somebody asked for that and this run is no replay."""
    days = cleanup_days(settings)
    if days is None or options.session.no_save or not wiring.logs:
        return
    from caliban.compose.retention import expire_sessions

    expire_sessions(options.session, days, report)


def _auto(opening: Opening, model: ResolvedModel) -> AutoMode:
    """The auto mode of the run; its model is told no secret. Raises `ConfigError`."""
    from caliban.compose.asking.classifier import Classifier
    from caliban.compose.asking.lists import read_auto_lists
    from caliban.compose.asking.rules import AutoMode

    lists = read_auto_lists(opening.options.settings, opening.workspace, opening.reporter)
    judge = model if model.classifier is None else model.classifier()
    provider = MaskedProvider(judge.provider, opening.host.masker)
    return AutoMode(lists, Classifier(provider=provider, model=judge.model), opening.reporter)


@asynccontextmanager
async def _running(
    model: ResolvedModel, hooks: ConfiguredHooks | None, opening: Opening
) -> AsyncIterator[None]:
    """Make the provider ready, and close what a run has opened; no error that leaves holds a secret."""
    try:
        await make_ready(model.provider)
        yield
    except Exception as error:
        mask_error(error, opening.host.masker)
        raise
    finally:
        if hooks is not None:
            await hooks.aclose()
        await close_provider(model.provider, opening.reporter)
        await opening.permissions.close()


def _agents(
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


def _tool_inputs(opening: Opening, model: ResolvedModel, tasks: TaskGroup | None) -> ToolInputs:
    """What tools are made of; what is told beside the turns of a run comes by their board."""
    board = Board(opening.permissions)
    board.announce(opening.memory.news)
    return ToolInputs(
        options=opening.options,
        settings=opening.settings,
        workspace=opening.workspace,
        permissions=opening.permissions,
        host=opening.host,
        box=opening.box,
        board=board,
        tasks=tasks,
        report=opening.reporter,
        media=lambda: limits_of(model, opening.settings),
        notes=opening.memory.notes_dir,
        skills=opening.extensions.skills,
    )


def _wired(plain: ResolvedModel, host: Host, tasks: TaskGroup | None, wiring: Wiring) -> ResolvedModel:
    """The model as the agent of the run is given it."""
    model = wiring.model(replace(plain, provider=MaskedProvider(plain.provider, host.masker)))
    return replace(model, provider=load_while_asked(model.provider, tasks))


def limits_of(model: ResolvedModel, settings: Settings) -> MediaLimits:
    """What `model` takes of images and PDFs; looked at when there is one."""
    from caliban.compose.media import media_limits

    return media_limits(model, settings)


def _all_tools(
    inputs: ToolInputs, opening: Opening, model: ResolvedModel, servers: RunServers | None
) -> ToolSource:
    """The tools of the run, watched and kept within what rules and the model allow."""
    return with_checkpoints(_usable(_offered(inputs, opening, servers), model, inputs.report), inputs)


def _offered(inputs: ToolInputs, opening: Opening, servers: RunServers | None) -> ToolSource:
    """The tools that rules do not deny altogether; a rule that names none is told of."""
    installed = with_servers(build_tools(inputs), servers)
    names = {tool.spec.name for tool in installed.tools()}
    rules = check_tool_names(inputs.options.permissions, inputs.settings, names)
    say_all((*rules, *unknown_of_agents(opening.extensions.kinds, names)), "unknown_tool", inputs.report)
    return WatchedTools(FilteredTools(installed, inputs.permissions.offers), opening.memory)


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
