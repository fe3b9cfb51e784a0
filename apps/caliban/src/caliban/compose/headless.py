"""The headless face, put together and run."""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.agent import agent_options, build_agent
from caliban.compose.cancel_target import CancelTarget, alone
from caliban.compose.costs import build_costs
from caliban.compose.permissions import build_permissions
from caliban.compose.prompt import read_prompt
from caliban.compose.provider import ResolvedModel, close_provider
from caliban.compose.router import resolve_model
from caliban.compose.session import SessionStart, find_session, open_session
from caliban.compose.settings import build_settings
from caliban.compose.system import build_system, is_default, says_system
from caliban.compose.tools import build_tools
from caliban.compose.workspace import build_workspace
from caliban.early_signals import EarlySignals
from caliban_common.event import Warned
from caliban_common.message import Message, TextBlock
from caliban_common.tool import Tool
from caliban_drive.session import Session
from caliban_headless import exit_codes
from caliban_headless.errors import Cancelled
from caliban_headless.frames import Init
from caliban_headless.input import FrameSource, OnePrompt
from caliban_headless.json import JsonEncoder
from caliban_headless.notices import Notices
from caliban_headless.output import Output
from caliban_headless.run import Driver, OutputEncoder, print_notice
from caliban_headless.signals import watch_signals
from caliban_headless.stdin import Stdin
from caliban_headless.stream import StreamEncoder, StreamOptions
from caliban_headless.text import TextEncoder
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import make_ready

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


async def _answer(options: Options, signals: EarlySignals) -> int:
    code = exit_codes.INTERRUPTED
    target = CancelTarget()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, target.stop, group.cancel_scope.cancel, signals.numbers)
        code = await _compose(options, target)
        group.cancel_scope.cancel()
    return code


async def _compose(options: Options, target: CancelTarget) -> int:
    workspace = build_workspace(options)
    settings = build_settings(options, workspace)
    schema = _load_schema(options)
    found = find_session(options)
    for warning in (*settings.warnings, *found.warnings):
        print_notice(f"[caliban: {warning}]\n")
    said, options = options, _as_before(options, found)
    permissions = build_permissions(options, settings, workspace)
    costs = build_costs(options, settings, os.environ)
    warnings: deque[Warned] = deque()
    try:
        resolved = resolve_model(
            options, settings, os.environ, workspace, costs=costs, on_warning=warnings.append
        )
    except UnknownProvider as error:
        raise _gone(error, said, found) from error
    try:
        await _ready(resolved, target)
        tools = _usable_tools(resolved, build_tools(options, settings, workspace, permissions))
        prompt = await _prompt(options, workspace, target)
        remembered = open_session(options, found, provider=resolved.name, model=resolved.model)
        shape = schema.native if schema is not None else None
        agent = build_agent(
            resolved, permissions, tools, agent_options(options, settings, remembered.id, shape)
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
            encoder=_encoder(options),
            output=Output(),
            init=Init(
                session_id=session.id,
                model=f"{resolved.name}/{resolved.model}",
                tools=tuple(tool.spec.name for tool in tools),
                setting_sources=settings.sources,
                bare=options.bare,
                cwd=str(workspace),
                permission_mode=permissions.mode,
            ),
            model=resolved.model,
            notices=_notices(options, tools),
            schema=schema,
            costs=costs,
            warnings=warnings,
        )
        target.stops(driver.cancel)
        return await _drive(driver, prompt)
    finally:
        await close_provider(resolved.provider)


async def _ready(resolved: ResolvedModel, target: CancelTarget) -> None:
    """Have the first key fetched, where a program gives it. Raises `KeyFailed` and `Cancelled`."""
    with anyio.CancelScope() as scope:
        target.stops(scope.cancel)
        await make_ready(resolved.provider)
        return
    raise Cancelled("cancelled before there was a key")


async def _prompt(options: Options, workspace: Path, target: CancelTarget) -> Message | None:
    """The prompt, or `None` where frames bring the prompts. Raises `Cancelled`."""
    if options.input_format == "stream-json":
        return None
    with anyio.CancelScope() as scope:
        target.stops(scope.cancel)
        return await read_prompt(options, workspace)
    raise Cancelled("cancelled before there was a prompt")


def _load_schema(options: Options) -> Schema | None:
    if options.json_schema is None:
        return None
    from caliban_headless.structured import load_schema

    return load_schema(options.json_schema)


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


def _as_before(options: Options, found: SessionStart) -> Options:
    """A resumed session goes on with its provider and model unless the flags say otherwise."""
    if not found.resumed or options.provider not in (None, found.provider):
        return options
    model = options.model or found.model
    return replace(options, provider=found.provider, model=model)


def _gone(error: UnknownProvider, said: Options, found: SessionStart) -> UnknownProvider:
    """`error`, in words that fit where nobody but the session named the provider."""
    if said.provider is not None or found.provider is None:
        return error
    return UnknownProvider(
        f"the session {found.id!r} was with the provider {found.provider!r}, which is not there any more",
        hint=f"go on with another one by --provider NAME. {error.hint or ''}".strip(),
    )


def _usable_tools(resolved: ResolvedModel, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    if tools and not resolved.provider.capabilities(resolved.model).tools:
        print_notice(f"[caliban: {resolved.model} cannot call tools; it answers without them]\n")
        return ()
    return tools


def _install_system(
    session: Session, options: Options, workspace: Path, tools: tuple[Tool, ...], schema: Schema | None
) -> None:
    """Put the system prompt in front; a resumed session keeps one that a flag once said."""
    resumed = any(message.role != "system" for message in session.messages)
    if resumed and not says_system(options) and schema is None and not is_default(session.messages):
        return
    message = build_system(options, workspace, [tool.spec for tool in tools])
    if schema is not None:
        message = _with_instruction(message, schema)
    session.set_system(message)


def _with_instruction(message: Message | None, schema: Schema) -> Message:
    text = f"{message.text}\n\n{schema.instruction()}" if message is not None else schema.instruction()
    return Message(role="system", content=(TextBlock(text=text),))


def _encoder(options: Options) -> OutputEncoder:
    if options.output_format == "json":
        return JsonEncoder()
    if options.output_format == "stream-json":
        return StreamEncoder(
            StreamOptions(
                partial=options.include_partial_messages,
                hooks=options.include_hook_events,
                dispatch=options.include_dispatch_events,
                replay_user=options.replay_user_messages,
            )
        )
    return TextEncoder()


def _notices(options: Options, tools: tuple[Tool, ...]) -> Notices | None:
    """Words for a person go to standard error, except beside frames, which say it all."""
    if options.output_format == "stream-json":
        return None
    return Notices(
        announce=not options.quiet and options.output_format != "json" and sys.stderr is not None,
        main_arguments={tool.spec.name: tool.spec.main_argument for tool in tools},
    )
