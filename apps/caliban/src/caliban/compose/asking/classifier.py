"""The model that judges calls in the auto mode: one question, one answer, and every failure is an ask."""

from __future__ import annotations

from typing import Final

import anyio
from msgspec import Struct

from caliban_common.message import system, user
from caliban_permissions.auto.question import INSTRUCTIONS
from caliban_permissions.auto.verdict import SCHEMA, ClassifierVerdict, read_verdict
from caliban_permissions.errors import BadVerdict
from caliban_provider.assemble import Assembler
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest

TIMEOUT_S: Final = 30.0
"""How long a call waits for its verdict."""

MAX_TOKENS: Final = 1024
"""Room for an answer of two members, and for models that think before they say anything."""

AGENT: Final = "auto-mode"
"""In whose name the ledger books it."""

WHOLE: Final = ("end_turn", "stop_sequence")


class Classifier(Struct, frozen=True, kw_only=True):
    """Asks `model` of `provider` for verdicts. Nothing is asked twice; a router may turn to another route."""

    provider: Provider
    model: str
    timeout_s: float = TIMEOUT_S

    async def ask(self, question: str) -> ClassifierVerdict:
        """The verdict on a question. Raises `BadVerdict` and what the provider does."""
        reply = Assembler()
        with anyio.move_on_after(self.timeout_s) as waiting:
            async with self.provider.stream(self._request(question)) as events:
                async for event in events:
                    reply.add(event)
        if waiting.cancelled_caught:
            raise BadVerdict(f"the classifier gave no verdict within {self.timeout_s:g} s")
        if reply.stop_reason not in WHOLE:
            why = reply.stop_reason or "the connection was lost"
            raise BadVerdict(f"the classifier's answer did not come to its end: {why}")
        message = reply.message(self.provider.family, self.model)
        if message.tool_uses:
            raise BadVerdict("the classifier made a call instead of an answer")
        return read_verdict(message.text)

    def _request(self, question: str) -> CompletionRequest:
        held = self.provider.capabilities(self.model).structured_output
        return CompletionRequest(
            model=self.model,
            messages=(system(INSTRUCTIONS), user(question)),
            max_tokens=MAX_TOKENS,
            response_schema=SCHEMA if held else None,
            cache=False,
            agent=AGENT,
        )
