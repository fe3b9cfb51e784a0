"""How the parts of a run are wired to what is outside of it: as usual, onto a recording, or out of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec import Struct

from caliban.cli.options import SessionOptions
from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts
from caliban.compose.model import resolve_model
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import Sessions, find_sessions
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Rules
from caliban_agent_core.subagent.parts import ChildModel
from caliban_common.event import Warned
from caliban_common.message import NewId, new_id
from caliban_common.tool import ToolSource
from caliban_drive.notice import Report, Reporter
from caliban_drive.result import Costs

T = TypeVar("T")
Resolve: TypeAlias = Callable[[ModelInputs, RunCosts, Callable[[Warned], None], Report], ResolvedModel]
News: TypeAlias = Callable[[], tuple[str, ...]]
ModelFor: TypeAlias = Callable[[str | None], ChildModel]


def _as_it_is(part: T) -> T:
    return part


class Wiring(Struct, frozen=True, kw_only=True):
    """What finds sessions and models, and what is put around each part of a run.

    `logs` says that decisions on calls go to the log, `hooks` that those of the settings are asked, `servers`
    that there are those of tools: what a replay decides was decided before. Without `connects` servers offer
    what is remembered of them, and none is started.
    """

    sessions: Callable[[SessionOptions, Path], Sessions] = find_sessions
    resolve: Resolve = resolve_model
    model: Callable[[ResolvedModel], ResolvedModel] = _as_it_is
    children: Callable[[ModelFor], ModelFor] = _as_it_is
    tools: Callable[[ToolSource], ToolSource] = _as_it_is
    rules: Callable[[Rules], Rules] = _as_it_is
    costs: Callable[[Costs], Costs] = _as_it_is
    news: Callable[[News], News] = _as_it_is
    options: Callable[[AgentOptions], AgentOptions] = _as_it_is
    reporter: Callable[[Report], Reporter] = Reporter
    new_id: NewId = new_id
    logs: bool = True
    hooks: bool = True
    servers: bool = True
    connects: bool = True


USUAL = Wiring()
