"""Hooks that are agents: one is told the event, looks for itself with tools, and judges."""

from __future__ import annotations

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_hooks.answer import HookAnswer
from caliban_hooks.errors import HookFailed
from caliban_hooks.ports import AgentTask, Investigate
from caliban_hooks.prompt import question_of, read_judgement
from caliban_hooks.spec import HookSpec


class Investigations(Struct, frozen=True, kw_only=True):
    """Answers hooks by agents."""

    investigate: Investigate

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        """The verdict of an agent on `event`. Raises `HookFailed`."""
        task = AgentTask(
            question=question_of(spec.prompt, event),
            agent=spec.agent,
            model=spec.model,
            timeout_s=spec.timeout_s,
        )
        try:
            text = await self.investigate(task)
        except CalibanError as error:
            raise HookFailed(one_line(error.message)) from error
        return read_judgement(text)
