"""The composition root of every face: what flags and settings come to, open for as long as the face runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.agent import Judges, agent_options, build_agent, build_judges
from caliban.compose.agents import AgentInputs, with_agents
from caliban.compose.board import Board
from caliban.compose.checkpoints import with_checkpoints
from caliban.compose.choice import is_strict
from caliban.compose.context import ContextInputs, ContextPiece, context_pieces
from caliban.compose.costs import RunCosts
from caliban.compose.extensions import Extensions
from caliban.compose.hooks import make_hooks, tracked
from caliban.compose.host import Host, this_host
from caliban.compose.live import LiveHooks, LiveSettings
from caliban.compose.masked import MaskedProvider, MaskedStore, mask_error
from caliban.compose.memory.run import NoteRules, RunMemory
from caliban.compose.opening import Opening, expire_old, open_run
from caliban.compose.parts import agent_inputs, limits_of, tool_inputs, wired
from caliban.compose.permissions import Permissions
from caliban.compose.provider import close_provider
from caliban.compose.remarks import say_what_is_left_out
from caliban.compose.resolved import ResolvedModel
from caliban.compose.serving import ServerSlot
from caliban.compose.session import SavedSession, Sessions
from caliban.compose.sessionstore import cleanup_days
from caliban.compose.system import build_system, is_default
from caliban.compose.toolset import all_tools, calls_tools
from caliban.compose.wiring import USUAL, Wiring
from caliban_common.hook import Hooks, InstructionsLoaded, SessionStart
from caliban_common.mask import Masker
from caliban_common.message import Message, TextBlock
from caliban_common.tool import FilteredTools, HeldTools, ToolSource
from caliban_drive.conversation import SessionParts
from caliban_drive.notice import Report, Reporter, as_notice
from caliban_drive.session import Session
from caliban_drive.store import Store
from caliban_provider.provider import make_ready
from caliban_settings import Settings
from caliban_tools_builtin.specs import NOTE_TOOLS

if TYPE_CHECKING:
    from caliban.compose.asking.rules import AutoMode
    from caliban.compose.servers.build import RunServers
    from caliban_agent_core.options import AgentOptions
    from caliban_agent_core.ports import Approver, Rules
    from caliban_agent_core.toolsearch.active import ActiveTools
    from caliban_drive.structured import AnswerSchema
    from caliban_images import MediaLimits
    from caliban_mcp.elicit import Elicitor
    from caliban_plugins import Plugin


class App(Struct, frozen=True, kw_only=True):
    """What a face works with. `reporter` is the road of every notice, also of what a session reports.

    `hooks` are asked in every session, by its sub-agents too. `tools` are those of the run itself: a session
    adds the one that starts `agents`, and the one that finds deferred tools. `environ` are the
    variables of the process.
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
    environ: Mapping[str, str] = MappingProxyType({})
    wiring: Wiring = USUAL
    auto: AutoMode | None = None
    extensions: Extensions
    plugins: tuple[Plugin, ...] = ()
    live: LiveSettings
    slot: ServerSlot | None = None

    @property
    def servers(self) -> RunServers | None:
        """The MCP servers of the run, where it has some."""
        return None if self.slot is None else self.slot.run

    def media(self) -> MediaLimits:
        """What the model takes of images and PDFs."""
        return limits_of(self.model, self.live.now)

    def session(self, *, schema: AnswerSchema | None = None, approver: Approver | None = None) -> Session:
        """The conversation that the flags name, open for writing; its answers are held to `schema`.

        The `approver` is asked where rules leave a call to a person, also one of a sub-agent; without one
        such a call is denied. Raises the errors of the store, and `MissingError` for a system prompt that is
        not there.
        """
        if self.extensions.command is not None:
            from caliban.compose.slash import effort_of

            self.board.chosen |= effort_of(self.extensions.command)
        saved = self.sessions.open(provider=self.model.name, model=self.model.model)
        shape = schema.native if schema is not None else None
        limits = self._limits(self.live.now, saved.id, shape)
        judged = NoteRules(
            self._known(self.wiring.rules(self._rules(asks=approver is not None))), self.memory
        )
        judges = build_judges(judged, self.hooks, approver, self.permissions.log)
        self.memory.begin(saved.messages, (tool.spec for tool in self.tools.tools()))
        new_id = self.wiring.new_id
        session = Session(
            build_agent(self.model, self._offered(judges), judges, limits, new_id=new_id),
            id=saved.id,
            messages=saved.messages,
            store=self._store(saved),
            prefix=saved.prefix,
            parts=SessionParts(
                start=self._start(saved),
                costs=self.wiring.costs(self.costs),
                reporter=self.reporter,
                new_id=new_id,
                news=self.wiring.news(self.board.news),
                refresh=self._refresh if self.wiring is USUAL else None,
                pending=saved.pending,
                instructions=self._instructions(saved.id),
                called=self._called(),
            ),
        )
        self._install_system(session, schema)
        if self.permissions.log is not None:
            self.permissions.log.session_id = saved.id
        self.board.session, self.board.writer = session, saved.writer
        if saved.plan_mode and not self.permissions.plan_mode:
            session.note(plan_mode=False)
        return session

    async def _refresh(self) -> None:
        """Take over what has changed outside since the last turn."""
        await self.live.refresh(self)
        if self.servers is not None:
            await self.servers.refresh()

    def limits(self, settings: Settings) -> AgentOptions:
        """What the agent of the session at work may do from its next prompt on, by other `settings`."""
        session = self.board.session
        shape = None if session is None else session.agent.options.response_schema
        return self._limits(settings, "" if session is None else session.id, shape)

    def _limits(self, settings: Settings, session_id: str, shape: Mapping[str, Any] | None) -> AgentOptions:
        limits = agent_options(self.options.model, self.options.workspace, settings, session_id, shape)
        limits = replace(
            limits,
            masker=self.masker,
            strict_media=self.strict_media,
            cwd=str(self.workspace),
            server_result_cap_chars=self.agents.server_cap_chars,
        )
        if self.board.chosen:
            limits = replace(limits, **self.board.chosen)
        return self.wiring.options(limits)

    def _rules(self, *, asks: bool) -> Rules:
        """The rules of a session; in the auto mode what they leave open is answered before a person is."""
        if self.auto is None:
            return self.permissions.asking() if asks else self.permissions
        from caliban.compose.asking.rules import AutoRules

        return AutoRules(self.permissions, self.auto, interactive=asks)

    def _known(self, rules: Rules) -> Rules:
        """`rules`, which do not mean tools of servers that nobody has looked at, unless by their names."""
        if self.slot is None or not self.slot.counts:
            return rules
        from caliban.compose.servers.known import NewToolRules

        return NewToolRules(rules, self.slot.is_new)

    def _offered(self, judges: Judges) -> ToolSource:
        """The tools of a session. What it finds of deferred ones is its own, and ends with it."""
        if not calls_tools(self.model):
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

    def _instructions(self, session_id: str) -> tuple[InstructionsLoaded, ...]:
        """What hooks are told of the files that the model is told."""
        self.memory.hooks = self.hooks
        return () if self.hooks is None else self.memory.loaded(session_id)

    def _store(self, saved: SavedSession) -> Store | None:
        """Where the session is kept, given no secret; with its mirror, where that is asked for."""
        if saved.store is None:
            return None
        kept = saved.store
        if self.options.session.mirror:
            from caliban.compose.mirror import mirrored

            config = self.environ.get("CLAUDE_CONFIG_DIR", "")
            kept = mirrored(kept, self.options.session, config, self.board, self.reporter)
        return MaskedStore(kept, self.masker)

    def _called(self) -> tuple[str, str]:
        """The command that was typed, and what was said to it."""
        called = self.extensions.command
        return ("", "") if called is None else (called.file.name, called.arguments)

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
    elicitor: Elicitor | None = None,
) -> AsyncIterator[App]:
    """The app that `options` ask for, its provider ready to be asked; `report` hears of it meanwhile.

    `tasks` holds what goes on beside the run; an `elicitor` puts to a person what MCP servers ask. Raises the
    errors of all that was asked for, before it is sent.
    """
    opening = open_run(options, report, host or this_host(), wiring)
    # What is no number is refused before anything is sent.
    cleanup_days(opening.settings, opening.host.environ)
    options, reporter, settings = opening.options, opening.reporter, opening.settings
    asked, costs = opening.model_inputs(), opening.costs
    plain = wiring.resolve(asked, costs, lambda warning: reporter(as_notice(warning)), reporter)
    model = wired(plain, opening, tasks, wiring)
    live = LiveSettings(options, opening.workspace, opening.project)
    tools = tool_inputs(opening, model, tasks, live)
    live.inputs, live.model = tools, plain
    hooks = live.hooks = LiveHooks(make_hooks(opening.hooks, tools, plain, opening.extensions.kinds))
    live.tracks = opening.hooks is not None and "FileChanged" in opening.hooks.counts
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_running(model, hooks, opening, tools.board.opened))
        await stack.enter_async_context(opening.box.opened(reporter, tasks))
        slot = ServerSlot(opening, tools, hooks, elicitor) if _takes_servers(wiring, model) else None
        if slot is not None:
            await slot.open(stack, tasks, connects=wiring.connects)
        say_what_is_left_out(settings, model, reporter)
        usable = tracked(all_tools(tools, opening, model, slot), opening.hooks, tools, hooks)
        tools.board.tools = wiring.tools(with_checkpoints(usable, tools))
        yield App(
            options=options,
            workspace=opening.workspace,
            settings=settings,
            model=model,
            tools=tools.board.tools,
            agents=agent_inputs(opening, plain, wiring, slot),
            board=tools.board,
            hooks=hooks,
            permissions=opening.permissions,
            costs=costs,
            sessions=opening.sessions,
            memory=opening.memory,
            reporter=reporter,
            masker=opening.host.masker,
            strict_media=is_strict(opening.host.environ),
            environ=opening.host.environ,
            wiring=wiring,
            auto=_auto(opening, plain) if opening.classifies else None,
            extensions=opening.extensions,
            live=live,
            plugins=opening.project.plugins,
            slot=slot,
        )
    expire_old(opening, live.now, wiring)


def _takes_servers(wiring: Wiring, model: ResolvedModel) -> bool:
    """Whether servers of tools are of any use to the run."""
    return wiring.servers and calls_tools(model)


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
    model: ResolvedModel, hooks: LiveHooks, opening: Opening, opened: list[ResolvedModel]
) -> AsyncIterator[None]:
    """Make the provider ready, and close what a run has opened; no error that leaves holds a secret.

    `opened` are the models that it has switched to by then.
    """
    try:
        await make_ready(model.provider)
        yield
    except Exception as error:
        mask_error(error, opening.host.masker)
        raise
    finally:
        await hooks.aclose()
        for one in (model, *opened):
            for provider in one.providers:
                await close_provider(provider, opening.reporter)
        await opening.permissions.close()


def _with_instruction(message: Message | None, schema: AnswerSchema) -> Message:
    text = f"{message.text}\n\n{schema.instruction()}" if message is not None else schema.instruction()
    return Message(role="system", content=(TextBlock(text=text),))
