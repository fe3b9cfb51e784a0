"""The composition root of every face: what flags and settings come to, open for as long as the face runs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions, Options
from caliban.compose.agent import agent_options, build_agent
from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts, build_costs
from caliban.compose.permissions import Permissions, build_permissions
from caliban.compose.provider import ResolvedModel, close_provider
from caliban.compose.router import resolve_model
from caliban.compose.session import SavedSession, Sessions, find_sessions
from caliban.compose.settings import build_settings
from caliban.compose.system import build_system, is_default
from caliban.compose.tools import build_tools
from caliban.compose.workspace import build_workspace
from caliban_common.message import Message, TextBlock
from caliban_common.tool import Tool
from caliban_drive.notice import Notice, Report, Reporter, as_notice
from caliban_drive.session import Session, SessionParts
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import make_ready
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_drive.structured import AnswerSchema

FORMATS_WITH_COSTS = ("json", "stream-json")


class App(Struct, frozen=True, kw_only=True):
    """What a face works with. `reporter` is the road of every notice, also of what a session reports."""

    options: Options
    workspace: Path
    settings: Settings
    model: ResolvedModel
    tools: tuple[Tool, ...]
    permissions: Permissions
    costs: RunCosts
    sessions: Sessions
    reporter: Reporter

    def session(self, *, schema: AnswerSchema | None = None) -> Session:
        """The conversation that the flags name, open for writing; its answers are held to `schema`.

        Raises the errors of the store, and `MissingError` for a system prompt that is not there.
        """
        saved = self.sessions.open(provider=self.model.name, model=self.model.model)
        shape = schema.native if schema is not None else None
        limits = agent_options(self.options.model, self.options.workspace, self.settings, saved.id, shape)
        session = Session(
            build_agent(self.model, self.permissions, self.tools, limits),
            id=saved.id,
            messages=saved.messages,
            store=saved.store,
            prefix=saved.prefix,
            parts=SessionParts(costs=self.costs, reporter=self.reporter),
        )
        self._install_system(session, schema)
        return session

    def _install_system(self, session: Session, schema: AnswerSchema | None) -> None:
        """Put the system prompt in front; a resumed session keeps one that a flag once said."""
        options = self.options.system
        resumed = any(message.role != "system" for message in session.messages)
        if resumed and not options.is_given and schema is None and not is_default(session.messages):
            return
        message = build_system(options, self.workspace, [tool.spec for tool in self.tools])
        session.set_system(message if schema is None else _with_instruction(message, schema))


@asynccontextmanager
async def open_app(options: Options, report: Report) -> AsyncIterator[App]:
    """The app that `options` ask for, its provider ready to be asked; `report` hears of it meanwhile.

    Raises the errors of flags, settings, sessions, rules and keys, before anything is sent or written.
    """
    reporter = Reporter(report)
    workspace = build_workspace(options.workspace.workspace)
    settings = build_settings(options.settings, workspace)
    sessions = find_sessions(options.session)
    for warning in (*settings.warnings, *sessions.saved.warnings):
        reporter(Notice(subtype="warning", message=warning))
    permissions = build_permissions(
        options.permissions, settings, workspace, trusted=options.settings.trust_project
    )
    told = options.output.output_format in FORMATS_WITH_COSTS
    costs = build_costs(options.model.max_budget_usd, settings, os.environ, told=told)
    inputs = ModelInputs(
        options=as_before(options.model, sessions.saved),
        settings=settings,
        environ=os.environ,
        workspace=workspace,
        sources=options.settings,
    )
    try:
        model = resolve_model(inputs, costs, lambda warning: reporter(as_notice(warning)), reporter)
    except UnknownProvider as error:
        raise _gone(error, options.model, sessions.saved) from error
    try:
        await make_ready(model.provider)
        tools = build_tools(options.workspace, settings, workspace, permissions)
        yield App(
            options=options,
            workspace=workspace,
            settings=settings,
            model=model,
            tools=_usable(tools, model, reporter),
            permissions=permissions,
            costs=costs,
            sessions=sessions,
            reporter=reporter,
        )
    finally:
        await close_provider(model.provider, reporter)


def as_before(options: ModelOptions, saved: SavedSession) -> ModelOptions:
    """A resumed session goes on with its provider and model unless the flags say otherwise."""
    if not saved.resumed or options.provider not in (None, saved.provider):
        return options
    return replace(options, provider=saved.provider, model=options.model or saved.model)


def _gone(error: UnknownProvider, options: ModelOptions, saved: SavedSession) -> UnknownProvider:
    """`error`, in words that fit where nobody but the session named the provider."""
    if options.provider is not None or saved.provider is None:
        return error
    return UnknownProvider(
        f"the session {saved.id!r} was with the provider {saved.provider!r}, which is not there any more",
        hint=f"go on with another one by --provider NAME. {error.hint or ''}".strip(),
    )


def _usable(tools: tuple[Tool, ...], model: ResolvedModel, report: Report) -> tuple[Tool, ...]:
    """None of `tools` for a model that cannot call any."""
    if not tools or model.provider.capabilities(model.model).tools:
        return tools
    report(Notice(subtype="no_tools", message=f"{model.model} cannot call tools; it answers without them"))
    return ()


def _with_instruction(message: Message | None, schema: AnswerSchema) -> Message:
    text = f"{message.text}\n\n{schema.instruction()}" if message is not None else schema.instruction()
    return Message(role="system", content=(TextBlock(text=text),))
