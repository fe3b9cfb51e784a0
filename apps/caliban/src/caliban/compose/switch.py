"""Another model, or another way to ask it, within a run: what counts from the next prompt on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from msgspec.structs import replace

from caliban.compose.app import App
from caliban.compose.catalog import provider_tables
from caliban.compose.choice import ModelInputs, SessionModel, may_be_routed, split_model
from caliban.compose.masked import MaskedProvider
from caliban.compose.model import resolve_model
from caliban.compose.provider import close_provider, list_models
from caliban.compose.resolved import ResolvedModel
from caliban.compose.slash import AUTO
from caliban.errors import UsageError
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_drive.notice import as_notice
from caliban_drive.session import Session
from caliban_provider.provider import make_ready

LIST_S: Final = 10.0
MAX_NAME_CHARS: Final = 200


def inputs_of(app: App, session: Session, *, classifies: bool = False) -> ModelInputs:
    """What the choice of a model goes by in a run at work: the model of now counts as its session's."""
    assert app.live.inputs is not None, "the app is open"
    return ModelInputs(
        options=app.options.model,
        settings=app.live.now,
        host=app.live.inputs.host,
        workspace=app.workspace,
        sources=app.options.settings,
        project=app.live.read,
        session=SessionModel(session_id=session.id, provider=provider_of(app), model=session.agent.model),
        classifies=classifies,
    )


def provider_of(app: App) -> str:
    """What the operator calls the provider that is asked now."""
    return app.board.opened[-1].name if app.board.opened else app.model.name


async def set_model(app: App, session: Session, wanted: str) -> str:
    """Ask `wanted`, a model or `provider/model`, from the next prompt on; its name as `provider/model`.

    Sub-agents keep theirs. Raises `UsageError` for what is no name, `UnknownProvider`, and the errors of a
    key that is missing.
    """
    await _use(app, session, wanted)
    if app.board.writer is not None:
        app.board.writer.note(provider=provider_of(app), model=session.agent.model)
    return f"{provider_of(app)}/{session.agent.model}"


@asynccontextmanager
async def asked_as(app: App, session: Session, model: str, effort: str) -> AsyncIterator[None]:
    """Ask `model`, with `effort`, for the length of the block, then who was asked before.

    Empty, either stays. Raises, before the block, what `set_model` raises.
    """
    agent, board = session.agent, app.board
    before, chosen = (agent.provider, agent.model, agent.compactor), dict(board.chosen)
    was, opened = agent.options.effort, len(board.opened)
    if model:
        await _use(app, session, model)
    if effort:
        set_options(app, session, {"effort": None if effort == AUTO else effort})
    try:
        yield
    finally:
        if effort:
            board.chosen.clear()
            board.chosen.update(chosen)
            agent.options = replace(agent.options, effort=was)
        if model:
            agent.use_model(*before)
            for resolved in board.opened[opened:]:
                board.opened.remove(resolved)
                with anyio.CancelScope(shield=True):
                    for provider in resolved.providers:
                        await close_provider(provider, app.reporter)


async def _use(app: App, session: Session, wanted: str) -> None:
    name = wanted.strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable() or any(map(str.isspace, name)):
        raise UsageError(f"{one_line(name, max_chars=60)!r} is no name of a model")
    inputs = inputs_of(app, session)
    provider, model = split_model(name, provider_of(app), provider_tables(inputs.settings))
    if provider in (None, provider_of(app)) and not may_be_routed(inputs):
        session.agent.use_model(session.agent.provider, model or name)
    else:
        options = replace(inputs.options, provider=provider or provider_of(app), model=model or name)
        resolved = resolve_model(
            replace(inputs, options=options, session=None),
            app.costs,
            lambda warning: app.reporter(as_notice(warning)),
            app.reporter,
        )
        try:
            await make_ready(resolved.provider)
        except CalibanError:
            await close_provider(resolved.provider, app.reporter)
            raise
        app.board.opened.append(resolved)
        masked = MaskedProvider(resolved.provider, app.masker)
        session.agent.use_model(masked, resolved.model, resolved.compactor)


def set_options(app: App, session: Session, chosen: Mapping[str, Any]) -> None:
    """Options of the agent that a person sets for this run: they outlast a change of the settings."""
    app.board.chosen.update(chosen)
    session.agent.options = replace(session.agent.options, **chosen)


async def listed_models(app: App, session: Session) -> tuple[str, ...]:
    """The models that the provider lists, asked anew; what it listed last where it does not answer.

    Raises `CalibanError` where it never did.
    """
    try:
        with anyio.move_on_after(LIST_S):
            listed = await list_models(session.agent.provider)
            app.board.models = tuple(model.id for model in listed)
    except CalibanError:
        if not app.board.models:
            raise
    return app.board.models


def known_models(app: App, session: Session) -> tuple[str, ...]:
    """Names of models without asking anybody: the one of now, and those that the provider listed last."""
    return tuple(dict.fromkeys((session.agent.model, *app.board.models)))


def quick_model(app: App, session: Session) -> tuple[ResolvedModel, bool]:
    """What answers a question beside the conversation, and whether it was opened for that alone.

    It is what routes say of the purpose `fast_classifier`, or else the model of now; no secret reaches it.
    """
    inputs = inputs_of(app, session, classifies=True)
    if not may_be_routed(inputs):
        agent = session.agent
        return ResolvedModel(provider=agent.provider, model=agent.model, name=provider_of(app)), False
    resolved = resolve_model(
        inputs, app.costs, lambda warning: app.reporter(as_notice(warning)), app.reporter
    )
    quick = resolved if resolved.classifier is None else resolved.classifier()
    return replace(quick, provider=MaskedProvider(quick.provider, app.masker)), True
