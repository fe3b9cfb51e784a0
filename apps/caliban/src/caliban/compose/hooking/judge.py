"""Asks a model what a hook wants to know: one question, no tools, and no answer that is not whole."""

from __future__ import annotations

from typing import Final

import anyio

from caliban.compose.agents import child_models
from caliban.compose.masked import MaskedProvider
from caliban.compose.resolved import ResolvedModel
from caliban_common.mask import Masker
from caliban_common.message import user
from caliban_hooks import HookFailed
from caliban_hooks.prompt import SCHEMA
from caliban_provider.assemble import Assembler
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest

AGENT: Final = "hooks"
"""In whose name the ledger books it."""

MAX_TOKENS: Final = 1024
WHOLE: Final = ("end_turn", "stop_sequence")


class ModelJudge:
    """A `Judge`: the model that judges calls in the auto mode, else that of the run, or the one named."""

    def __init__(self, model: ResolvedModel, masker: Masker) -> None:
        self._model = model
        self._masker = masker

    async def __call__(self, question: str, model: str, timeout_s: float) -> str:
        """The answer of a model; see `Judge`. Raises `HookFailed` and what the provider does."""
        provider, name = self._asked(model)
        reply = Assembler()
        with anyio.move_on_after(timeout_s) as waiting:
            async with provider.stream(_request(provider, name, question)) as events:
                async for event in events:
                    reply.add(event)
        if waiting.cancelled_caught:
            raise HookFailed(f"the model gave no verdict within {timeout_s:g} s")
        message = reply.message(provider.family, name)
        if reply.stop_reason not in WHOLE or message.tool_uses:
            raise HookFailed("the model's verdict did not come to its end")
        return message.text

    def _asked(self, model: str) -> tuple[Provider, str]:
        if model:
            child = child_models(self._model, self._masker)(model)
            return child.provider, child.model
        judge = self._model if self._model.classifier is None else self._model.classifier()
        return MaskedProvider(judge.provider, self._masker), judge.model


def _request(provider: Provider, model: str, question: str) -> CompletionRequest:
    return CompletionRequest(
        model=model,
        messages=(user(question),),
        max_tokens=MAX_TOKENS,
        response_schema=SCHEMA if provider.capabilities(model).structured_output else None,
        cache=False,
        agent=AGENT,
    )
