"""The tools of a run that are held back until a search finds them: loaded where there are deferred ones."""

from __future__ import annotations

from caliban.compose.permissions import Permissions
from caliban.compose.resolved import ResolvedModel
from caliban_agent_core.toolsearch.active import MAX_ACTIVE, ActiveTools, Deferral
from caliban_agent_core.toolsearch.source import DeferredTools
from caliban_agent_core.toolsearch.spec import search_spec
from caliban_common.tool import ToolSource
from caliban_settings import Settings

SHARE = 0.05
"""Of the model's window: schemas that take more of it are held back, unless a setting says otherwise."""

WINDOW_TOKENS = 200_000
"""What is taken for the window where nobody knows it."""


def build_active(permissions: Permissions, model: ResolvedModel, settings: Settings) -> ActiveTools | None:
    """Where a session notes which deferred tools it is shown; `None` where it is shown all of them.

    That is so by `tools.lazy_mcp = false`, and where a rule denies the search.
    """
    lazy = settings.get("tools.lazy_mcp")
    if lazy is False or not permissions.offers(search_spec()):
        return None
    window = model.provider.capabilities(model.model).prompt_tokens or WINDOW_TOKENS
    deferral = Deferral(
        max_active=settings.get("tools.max_active_schemas", MAX_ACTIVE),
        over_tokens=0 if lazy else int(window * SHARE),
    )
    return ActiveTools(deferral)


def hold_back(tools: ToolSource, active: ActiveTools) -> ToolSource:
    """`tools`, the deferred ones among them shown as far as they are `active`."""
    return DeferredTools(tools, active)
