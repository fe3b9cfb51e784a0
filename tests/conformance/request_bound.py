"""How often one prompt can be asked: the bound of docs/adr/0010, computed from the options of a run.

A rung that is new or allowed more stands here, in the record's table, and in the scripts of
`test_request_bound.py`, or that test fails.
"""

from __future__ import annotations

from msgspec import Struct

from caliban_agent_core import AgentOptions
from caliban_agent_core.compact.summarize import MAX_CALLS
from caliban_agent_core.compact.trigger import MAX_REACTIONS
from caliban_agent_core.options import DEFAULT_MAX_TOKENS
from caliban_agent_core.reply import MAX_MALFORMED

RENEWAL = 2
"""Calls of a provider for one that was asked for: the second with other credentials, after a refusal."""

CONNECTION = 2
"""Sends of one HTTP request: the second on a new connection, after a kept one ended without a byte."""


class Ladder(Struct, frozen=True, kw_only=True):
    """What a run asks again by; `repairs` are those of a structured answer, `routes` those of a router.

    `reactions` and `summary_calls` bound what a history that is too long can cost.
    """

    options: AgentOptions
    routes: int = 1
    repairs: int = 0
    reactions: int = MAX_REACTIONS
    summary_calls: int = MAX_CALLS

    @property
    def turn(self) -> int:
        """Replies asked for in one turn, without what happens once in a run."""
        options = self.options
        compaction = self.summary_calls if options.auto_compact_threshold else 0
        retries = options.retry.max_retries + options.retry.max_told_retries
        return 1 + compaction + self._escalation + retries + MAX_MALFORMED

    @property
    def run(self) -> int:
        """Replies asked for in one run: those of its turns, a prompt that is too long, a refused schema."""
        schema = 1 if self.options.response_schema is not None else 0
        # A reaction to a prompt that is too long: a summary, the turn again, and in it more room or no schema
        # once again. One that follows on another has ended the turn between them.
        reactions = self.reactions * (self.summary_calls + 1 + max(self._escalation, schema))
        images = 1
        return self.options.max_turns * self.turn + reactions + images + schema

    @property
    def replies(self) -> int:
        """Replies asked for until the prompt has its answer; as many can be billed by each route."""
        return (1 + self.repairs) * self.run

    @property
    def calls(self) -> int:
        """Calls of providers: a router asks each route once for a reply, one after the other or in a race."""
        return self.replies * self.routes

    @property
    def requests(self) -> int:
        """Requests that can reach a server."""
        return self.calls * RENEWAL * CONNECTION

    @property
    def _escalation(self) -> int:
        recovery = self.options.recovery
        if self.options.max_tokens is not None:
            return 0  # what somebody asked for is not exceeded
        return 1 if recovery.enabled and recovery.escalated_max_tokens > DEFAULT_MAX_TOKENS else 0
