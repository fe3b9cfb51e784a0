"""How often one prompt can be asked: the bound of docs/adr/0010, computed from the options of a run.

A rung that is new or allowed more stands here, in the record's table, and in the scripts of
`test_request_bound.py`, or that test fails.
"""

from __future__ import annotations

from msgspec import Struct

from caliban_agent_core import AgentOptions
from caliban_agent_core.reply import MAX_MALFORMED

RENEWAL = 2
"""Calls of a provider for one that was asked for: the second with other credentials, after a refusal."""

CONNECTION = 2
"""Sends of one HTTP request: the second on a new connection, after a kept one ended without a byte."""


class Ladder(Struct, frozen=True, kw_only=True):
    """What a run asks again by; `repairs` are those of a structured answer, `routes` those of a router."""

    options: AgentOptions
    routes: int = 1
    repairs: int = 0

    @property
    def turn(self) -> int:
        """Replies asked for in one turn, without what happens once in a run."""
        options = self.options
        compaction = 1 if options.auto_compact_threshold else 0
        retries = options.retry.max_retries + options.retry.max_told_retries
        return 1 + compaction + self._escalation + retries + MAX_MALFORMED

    @property
    def run(self) -> int:
        """Replies asked for in one run: those of its turns, a prompt that is too long, a refused schema."""
        schema = 1 if self.options.response_schema is not None else 0
        # The one reaction to a prompt that is too long: a summary, the turn again, and in it either more room
        # or no schema once again. Both would need the turn to have ended and not to have ended.
        reaction = 2 + max(self._escalation, schema)
        return self.options.max_turns * self.turn + reaction + schema

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
        return 1 if recovery.enabled and self.options.max_tokens < recovery.escalated_max_tokens else 0
