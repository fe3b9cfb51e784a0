"""What an app is made of: its model, tools and agents, as flags and settings want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.compose.agent import server_cap_chars
from caliban.compose.agents import AgentInputs
from caliban.compose.ahead import load_while_asked
from caliban.compose.board import Board
from caliban.compose.live import LiveSettings
from caliban.compose.masked import MaskedProvider
from caliban.compose.opening import Opening
from caliban.compose.resolved import ResolvedModel
from caliban.compose.serving import ServerSlot
from caliban.compose.tools import ToolInputs
from caliban.compose.wiring import Wiring
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_images import MediaLimits


def agent_inputs(
    opening: Opening, model: ResolvedModel, wiring: Wiring, slot: ServerSlot | None
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
        coming=slot.tool_names if slot is not None and slot.counts else None,
        server_cap_chars=server_cap_chars(opening.host.environ),
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


def wired(plain: ResolvedModel, opening: Opening, tasks: TaskGroup | None, wiring: Wiring) -> ResolvedModel:
    """The model as the agent of the run is given it."""
    masked = MaskedProvider(plain.provider, opening.host.masker)
    model = wiring.model(replace(plain, provider=masked))
    prices, guarded = opening.costs.are_told, opening.permissions.guards_files
    return replace(model, provider=load_while_asked(model.provider, tasks, prices=prices, guarded=guarded))


def limits_of(model: ResolvedModel, settings: Settings) -> MediaLimits:
    """What `model` takes of images and PDFs; looked at when there is one."""
    from caliban.compose.media import media_limits

    return media_limits(model, settings)
