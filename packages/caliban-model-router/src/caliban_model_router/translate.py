"""A request made for one route into a request for another.

The history is repaired for the model that will read it: thinking, signatures and opaque state of other models
are dropped. Ids of calls take a form that every vendor accepts. What only the first provider understands
(`extra`) stays behind, and a route that takes over for the first time gets no cache markers: it has no prefix
to find, and the next request may go elsewhere again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import is_

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.digest import sha256
from caliban_common.history import Repairer, TargetModel
from caliban_common.message import Block, Message, ToolResultBlock, ToolUseBlock
from caliban_model_router.effort import with_effort
from caliban_model_router.route import Route
from caliban_provider.capabilities import Capabilities
from caliban_provider.request import CompletionRequest

_DIGEST_CHARS = 12
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


class IdLimits(Struct, frozen=True, kw_only=True):
    """Which ids of tool calls a wire takes: letters, digits, `_` and `-`, at most `max_chars` ≥ 16."""

    max_chars: int = 40


COMMON_IDS = IdLimits()
"""What every vendor with free ids takes; 40 is the bound of the strictest."""


def wire_id(raw: str, limits: IdLimits = COMMON_IDS) -> str:
    """`raw` where it is within `limits`, else an id that is as unique; the same for the same text, always."""
    if raw and len(raw) <= limits.max_chars and not _FOREIGN.search(raw):
        return raw
    digest = sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    kept = _FOREIGN.sub("_", raw or "call")[: limits.max_chars - _DIGEST_CHARS - 1]
    return f"{kept}_{digest}"


class Translator:
    """Histories for one reader. A history that grows costs what is new, and its beginning stays the same."""

    def __init__(self, reader: TargetModel, limits: IdLimits = COMMON_IDS) -> None:
        self._repairer = Repairer(reader)
        self._limits = limits
        self._before: list[Message] = []
        self._after: list[Message] = []

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """`messages` as the reader can take them; the same object where there is nothing to change."""
        view = self._repairer.view(messages)
        common = 0
        for seen, message in zip(self._before, view, strict=False):
            if seen is not message:
                break
            common += 1
        self._before[common:] = view[common:]
        self._after[common:] = [_with_ids(message, self._limits) for message in view[common:]]
        return view if all(map(is_, self._after, view)) else tuple(self._after)


def adapt(
    request: CompletionRequest,
    route: Route,
    capabilities: Capabilities,
    messages: tuple[Message, ...],
    *,
    is_home: bool,
    is_new: bool,
) -> CompletionRequest:
    """`request` for `route`, whose model can do `capabilities`, with translated `messages`.

    `is_home` says that the request was written for this route's provider, `is_new` that the route takes
    over for the first time.
    """
    made = with_effort(
        replace(
            request,
            model=route.model,
            messages=messages,
            cache=request.cache and not is_new,
            extra=request.extra if is_home else {},
        ),
        route,
    )
    return replace(made, max_tokens=_max_tokens(made, capabilities))


def _max_tokens(request: CompletionRequest, capabilities: Capabilities) -> int:
    """The bound on a reply. Thinking counts towards it: a budget that would fill it comes on top."""
    wanted, budget = request.max_tokens, request.thinking_tokens or 0
    if capabilities.thinking and budget >= wanted:
        wanted += budget
    most = capabilities.max_output_tokens
    return wanted if most is None else min(wanted, most)


def _with_ids(message: Message, limits: IdLimits) -> Message:
    content = tuple(_with_id(block, limits) for block in message.content)
    return message if all(map(is_, content, message.content)) else replace(message, content=content)


def _with_id(block: Block, limits: IdLimits) -> Block:
    match block:
        case ToolUseBlock(id=id) if (fine := wire_id(id, limits)) != id:
            return replace(block, id=fine)
        case ToolResultBlock(tool_use_id=id) if (fine := wire_id(id, limits)) != id:
            return replace(block, tool_use_id=fine)
        case _:
            return block
