"""The headless face, put together and run."""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from caliban.cli.formats import input_format, output_format
from caliban.cli.options import Options
from caliban.compose.agent import agent_options, build_agent
from caliban.compose.cancel_target import CancelTarget, alone
from caliban.compose.choice import ModelInputs, SessionModel
from caliban.compose.costs import build_costs
from caliban.compose.model import resolve_model
from caliban.compose.permissions import build_permissions
from caliban.compose.prompt import read_prompt
from caliban.compose.provider import close_provider
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import SessionStart, find_session, open_session
from caliban.compose.settings import build_settings
from caliban.compose.system import build_system, is_default
from caliban.compose.tools import build_tools
from caliban.compose.workspace import build_workspace
from caliban.early_signals import EarlySignals
from caliban_common.event import Warned
from caliban_common.message import Message, TextBlock
from caliban_common.tool import Tool
from caliban_drive.notice import Notice
from caliban_drive.session import Session
from caliban_headless import exit_codes
from caliban_headless.errors import Cancelled
from caliban_headless.frames import Init
from caliban_headless.input import FrameSource, OnePrompt
from caliban_headless.notices import Notices
from caliban_headless.output import Output
from caliban_headless.run import Driver, print_notice
from caliban_headless.signals import watch_signals
from caliban_headless.stdin import Stdin
from caliban_provider.provider import make_ready
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_headless.structured import Schema


def answer(options: Options, signals: EarlySignals) -> int:
    """Run the headless face; the exit code. Raises `CalibanError` for what keeps it from starting."""
    try:
        return anyio.run(_answer, options, signals)
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype == "status" and (sys.stderr is None or not sys.stderr.isatty()):
        return
    hint = f"\n[hint: {notice.hint}]" if notice.hint else ""
    print_notice(f"[caliban: {notice.message}]{hint}\n")


async def _answer(options: Options, signals: EarlySignals) -> int:
    code = exit_codes.INTERRUPTED
    target = CancelTarget()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, target.stop, group.cancel_scope.cancel, signals.numbers)
        code = await _compose(options, target)
        group.cancel_scope.cancel()
    return code


async def _compose(options: Options, target: CancelTarget) -> int:
    workspace = build_workspace(options.workspace.workspace)
    settings = build_settings(options.settings, workspace)
    schema = _load_schema(options)
    found = find_session(options.session)
    for warning in (*settings.warnings, *found.warnings):
        report(Notice(subtype="warning", message=warning))
    trusted = options.settings.trust_project
    permissions = build_permissions(options.permissions, settings, workspace, trusted=trusted)
    told = output_format(options.output.output_format).is_data
    costs = build_costs(options.model.max_budget_usd, settings, os.environ, told=told)
    warnings: deque[Warned] = deque()
    resolved = resolve_model(_inputs(options, settings, workspace, found), costs, warnings.append, report)
    try:
        await _ready(resolved, target)
        tools = _usable_tools(resolved, build_tools(options.workspace, settings, workspace, permissions))
        prompt = await _prompt(options, workspace, target)
        remembered = open_session(options.session, found, provider=resolved.name, model=resolved.model)
        shape = schema.native if schema is not None else None
        agent = build_agent(
            resolved,
            permissions,
            tools,
            agent_options(options.model, options.workspace, settings, remembered.id, shape),
        )
        session = Session(
            agent,
            id=remembered.id,
            messages=remembered.messages,
            store=remembered.store,
            prefix=remembered.prefix,
        )
        _install_system(session, options, workspace, tools, schema)
        driver = Driver(
            session=session,
            encoder=output_format(options.output.output_format).load()(options.output),
            output=Output(),
            init=Init(
                session_id=session.id,
                model=f"{resolved.name}/{resolved.model}",
                tools=tuple(tool.spec.name for tool in tools),
                setting_sources=settings.sources,
                bare=options.settings.bare,
                cwd=str(workspace),
                permission_mode=permissions.mode,
            ),
            model=resolved.model,
            notices=_notices(options),
            schema=schema,
            costs=costs,
            warnings=warnings,
        )
        target.stops(driver.cancel)
        return await _drive(driver, prompt)
    finally:
        await close_provider(resolved.provider, report)


def _inputs(options: Options, settings: Settings, workspace: Path, found: SessionStart) -> ModelInputs:
    session = SessionModel(session_id=found.id, provider=found.provider, model=found.model)
    return ModelInputs(
        options=options.model,
        settings=settings,
        environ=os.environ,
        workspace=workspace,
        sources=options.settings,
        session=session if found.resumed else None,
    )


async def _ready(resolved: ResolvedModel, target: CancelTarget) -> None:
    """Have the first key fetched, where a program gives it. Raises `KeyFailed` and `Cancelled`."""
    with anyio.CancelScope() as scope:
        target.stops(scope.cancel)
        await make_ready(resolved.provider)
        return
    raise Cancelled("cancelled before there was a key")


async def _prompt(options: Options, workspace: Path, target: CancelTarget) -> Message | None:
    """The prompt, or `None` where frames bring the prompts. Raises `Cancelled`."""
    if input_format(options.output.input_format).is_framed:
        return None
    with anyio.CancelScope() as scope:
        target.stops(scope.cancel)
        return await read_prompt(options.prompt, workspace, report)
    raise Cancelled("cancelled before there was a prompt")


def _load_schema(options: Options) -> Schema | None:
    if options.output.json_schema is None:
        return None
    from caliban_headless.structured import load_schema

    return load_schema(options.output.json_schema)


async def _drive(driver: Driver, prompt: Message | None) -> int:
    gc.freeze()  # what is there now stays to the end
    gc.enable()
    if prompt is not None:
        return await driver.run(OnePrompt(prompt))
    async with anyio.create_task_group() as group:
        frames = FrameSource(Stdin(), driver.interrupt)
        group.start_soon(frames.pump)
        code = await driver.run(frames)
        group.cancel_scope.cancel()
    return code


def _usable_tools(resolved: ResolvedModel, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    if tools and not resolved.provider.capabilities(resolved.model).tools:
        message = f"{resolved.model} cannot call tools; it answers without them"
        report(Notice(subtype="no_tools", message=message))
        return ()
    return tools


def _install_system(
    session: Session, options: Options, workspace: Path, tools: tuple[Tool, ...], schema: Schema | None
) -> None:
    """Put the system prompt in front; a resumed session keeps one that a flag once said."""
    resumed = any(message.role != "system" for message in session.messages)
    if resumed and not options.system.is_given and schema is None and not is_default(session.messages):
        return
    message = build_system(options.system, workspace, [tool.spec for tool in tools])
    if schema is not None:
        message = _with_instruction(message, schema)
    session.set_system(message)


def _with_instruction(message: Message | None, schema: Schema) -> Message:
    text = f"{message.text}\n\n{schema.instruction()}" if message is not None else schema.instruction()
    return Message(role="system", content=(TextBlock(text=text),))


def _notices(options: Options) -> Notices | None:
    """Words for a person go to standard error, except beside frames, which say it all."""
    row = output_format(options.output.output_format)
    if row.holds_notices:
        return None
    return Notices(announce=not options.output.quiet and not row.is_data and sys.stderr is not None)
