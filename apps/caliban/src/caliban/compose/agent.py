"""The agent of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from caliban.cli.options import ModelOptions, WorkspaceOptions
from caliban.compose.resolved import ResolvedModel
from caliban.errors import ConfigError
from caliban_agent_core.agent import Agent
from caliban_agent_core.gate import Gate
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Approver, DecisionLog, Rules
from caliban_common.hook import Hooks
from caliban_common.message import NewId, new_id
from caliban_common.paths import cache_dir
from caliban_common.tool import ToolSource
from caliban_settings import Settings

NO_EDIT_NUDGE_TURNS = 10
SERVER_CAP: Final = "CALIBAN_MAX_MCP_OUTPUT_TOKENS"
MAX_SERVER_TOKENS: Final = 10_000_000
TOKEN_CHARS: Final = 4
"""So many characters are taken for a token where nobody counts."""


class Judges(Struct, frozen=True, kw_only=True):
    """Who judges the calls of all agents of one session."""

    gate: Gate
    hooks: Hooks | None = None


def build_judges(
    rules: Rules, hooks: Hooks | None, approver: Approver | None, log: DecisionLog | None
) -> Judges:
    """The judges of a session; what the `rules` leave to a person goes to the `approver`, if there is one."""
    return Judges(gate=Gate(rules=rules, approver=approver, log=log), hooks=hooks)


def build_agent(
    resolved: ResolvedModel,
    tools: ToolSource,
    judges: Judges,
    options: AgentOptions,
    *,
    new_id: NewId = new_id,
) -> Agent:
    """The agent behind one session."""
    return Agent(
        resolved.provider,
        resolved.model,
        tools=tools,
        gate=judges.gate,
        hooks=judges.hooks,
        options=options,
        compactor=resolved.compactor,
        new_id=new_id,
    )


def agent_options(
    model: ModelOptions,
    tools: WorkspaceOptions,
    settings: Settings,
    session_id: str,
    schema: Mapping[str, Any] | None = None,
) -> AgentOptions:
    """The bridge from flags and settings to the agent's own options; `schema` is that of the answer."""
    base = AgentOptions()
    threshold = settings.get("auto_compact_threshold", base.auto_compact_threshold)
    effort = settings.get("effort")
    return AgentOptions(
        session_id=session_id,
        max_turns=_said(model.max_turns, settings.get("max_turns"), base.max_turns),
        max_tokens=model.max_tokens if model.max_tokens is not None else settings.get("max_tokens"),
        temperature=model.temperature,
        effort=None if effort == "auto" else effort,
        response_schema=schema,
        prompt_cache=not model.no_prompt_cache,
        min_cache_tokens=_said(settings.get("min_cache_block_tokens"), None, base.min_cache_tokens),
        parallel_limit=1
        if tools.no_parallel_tools
        else _said(tools.parallel_tool_limit, None, base.parallel_limit),
        tool_result_cap_chars=_said(settings.get("tool_result_cap_chars"), None, base.tool_result_cap_chars),
        overflow_dir=cache_dir() / "tool-overflows",
        auto_compact_threshold=threshold,
        micro_compact=settings.get("micro_compact_enabled", base.micro_compact),
        max_calls_per_reply=_said(settings.get("max_tool_calls_per_reply"), None, base.max_calls_per_reply),
        no_edit_nudge_turns=_said(settings.get("no_edit_nudge_turns"), None, NO_EDIT_NUDGE_TURNS),
    )


def server_cap_chars(environ: Mapping[str, str]) -> int | None:
    """How much of a result of an MCP server a model reads at most, where a variable says it.

    Raises `ConfigError`.
    """
    text = environ.get(SERVER_CAP, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_SERVER_TOKENS):
        raise ConfigError(f"{SERVER_CAP} must be a number of tokens, not {text[:40]!r}")
    return int(text) * TOKEN_CHARS


def _said(first: int | None, second: int | None, default: int) -> int:
    """The first that was said."""
    return next((value for value in (first, second) if value is not None), default)
