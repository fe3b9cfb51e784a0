"""All configured hooks as one: the fitting ones are run concurrently and their answers merged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from caliban_common.errors import CalibanError
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.text import one_line
from caliban_hooks.answer import HookAnswer
from caliban_hooks.errors import BadHook
from caliban_hooks.events import EVENTS
from caliban_hooks.matcher import Matcher
from caliban_hooks.payload import EventContext, Payload, payload_of
from caliban_hooks.ports import FitsCall, Tell
from caliban_hooks.spec import HookKind, HookSpec
from caliban_hooks.verdict import merge

MAX_BACKGROUND: Final = 16
"""How many background hooks run at once; the others wait."""

LAST_S: Final = 5.0
"""How long the end of a run waits for hooks in the background."""

NO_OBJECTION: Final = HookVerdict()


class HookAsker(Protocol):
    """Asks one kind of hook."""

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        """The answer. Raises `HookFailed`."""
        ...


class HookParts(Struct, frozen=True, kw_only=True):
    """What configured hooks work with. `fits_call` judges their `if`; `tasks` holds the background."""

    askers: Mapping[HookKind, HookAsker]
    context: EventContext
    tell: Tell
    fits_call: FitsCall
    tasks: TaskGroup | None = None


class ConfiguredHooks:
    """The hooks of a session. Raises `BadHook` for one that nothing here can ask."""

    def __init__(self, specs: Sequence[HookSpec], parts: HookParts) -> None:
        self._parts = parts
        self._by_event: dict[str, tuple[tuple[HookSpec, Matcher], ...]] = {}
        self._done: set[tuple[Any, ...]] = set()
        self._limiter = anyio.Semaphore(MAX_BACKGROUND)
        self._running = 0
        self._idle = anyio.Event()
        self._told: set[str] = set()
        for spec in specs:
            if spec.kind not in parts.askers:
                raise BadHook(spec.place, f"nothing here can run a hook of the type {spec.kind}")
            mine = self._by_event.get(spec.event, ())
            self._by_event[spec.event] = (*mine, (spec, Matcher(spec.matcher)))

    async def fire(self, event: HookEvent) -> HookVerdict:
        """Run all hooks for `event`; their merged verdict."""
        mine = self._by_event.get(event.type)
        if mine is None:
            return NO_OBJECTION
        payload = payload_of(event, self._parts.context)
        chosen = self._chosen(mine, payload)
        if not chosen:
            return NO_OBJECTION
        data = json.dumps(payload.data, ensure_ascii=True, default=str).encode()
        asked: list[HookSpec] = []
        for spec in chosen:
            if spec.background and self._parts.tasks is not None:
                self._begin(self._parts.tasks, spec, data)
            else:
                asked.append(spec)
        answers: dict[int, HookAnswer] = {}
        async with anyio.create_task_group() as group:
            for number, spec in enumerate(asked):
                group.start_soon(self._ask, number, spec, data, answers)
        verdict = merge(event.type, [answers[number] for number in sorted(answers)])
        return self._translated(verdict, payload)

    async def aclose(self) -> None:
        """Give background hooks a moment to end; report those that do not."""
        if not self._running:
            return
        self._idle = anyio.Event()
        with anyio.move_on_after(LAST_S, shield=True):
            await self._idle.wait()
        if self._running:
            words = f"{self._running} hooks in the background were not done {LAST_S:g} s after the end"
            self._parts.tell("hook_failed", words)

    def _chosen(self, mine: Iterable[tuple[HookSpec, Matcher]], payload: Payload) -> list[HookSpec]:
        """The hooks that match, each once; of two identical ones, the stricter."""
        chosen: dict[tuple[Any, ...], HookSpec] = {}
        for spec, matcher in mine:
            if spec.once and spec.identity in self._done:
                continue
            if not matcher.matches(payload.subjects) or not self._fits(spec, payload):
                continue
            before = chosen.get(spec.identity)
            chosen[spec.identity] = spec if before is None else _stricter(before, spec)
        self._done.update(identity for identity, spec in chosen.items() if spec.once)
        return list(chosen.values())

    def _fits(self, spec: HookSpec, payload: Payload) -> bool:
        if not spec.condition or payload.call is None:
            return True
        return self._parts.fits_call(spec.condition, payload.call.name, payload.call.input)

    def _begin(self, tasks: TaskGroup, spec: HookSpec, data: bytes) -> None:
        self._running += 1
        tasks.start_soon(self._tell_only, spec, data)

    async def _tell_only(self, spec: HookSpec, data: bytes) -> None:
        """Run one hook whose answer changes nothing; its messages are still reported.

        This is a wall: a background hook that fails must not end the run.
        """
        try:
            async with self._limiter:
                await self._ask(0, replace(spec, background=True), data, {})
        except Exception as error:
            words = f"{spec.place}: {type(error).__name__}: {one_line(str(error))}"
            self._parts.tell("hook_failed", words)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _ask(self, number: int, spec: HookSpec, data: bytes, answers: dict[int, HookAnswer]) -> None:
        """Put the answer of one hook into `answers`, unless it runs in the background."""
        try:
            answer = await self._parts.askers[spec.kind].ask(spec, data)
        except CalibanError as error:
            answer = self._failure(spec, error)
        for remark in answer.remarks:
            self._tell_once(spec, remark)
        if answer.message:
            self._parts.tell("hook_message", answer.message)
        if spec.background:
            return
        if answer.decision != "continue" and EVENTS[spec.event].role == "observer":
            self._parts.tell("hook_message", f"{spec.place}: {one_line(answer.reason) or 'it objects'}")
        answers[number] = answer

    def _failure(self, spec: HookSpec, error: CalibanError) -> HookAnswer:
        """What a hook that gave no answer counts as."""
        words = f"{spec.place}: {error.message}"
        blocks = EVENTS[spec.event].role == "guard" and spec.on_failure != "allow" and not spec.background
        if blocks:
            return HookAnswer(
                decision="deny", reason=f"a hook gave no answer, and without one nothing runs: {words}"
            )
        self._parts.tell("hook_failed", words)
        return HookAnswer()

    def _tell_once(self, spec: HookSpec, remark: str) -> None:
        words = f"{spec.place}: {remark}"
        if words not in self._told:
            self._told.add(words)
            self._parts.tell("hook_warning", words)

    def _translated(self, verdict: HookVerdict, payload: Payload) -> HookVerdict:
        """The verdict with the changed input under the tool's own names."""
        if verdict.updated_input is None or payload.call is None:
            return verdict
        taken = self._parts.context.dialect.taken(payload.call.name, verdict.updated_input)
        return replace(verdict, updated_input=taken)


def _stricter(one: HookSpec, other: HookSpec) -> HookSpec:
    """Two identical hooks as the stricter of both: waited for, and with the stricter failure policy."""
    policy = max(one.on_failure, other.on_failure, key=("allow", "default", "block").index)
    return replace(one, background=one.background and other.background, on_failure=policy)
