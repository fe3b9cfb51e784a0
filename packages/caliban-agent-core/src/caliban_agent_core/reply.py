"""One reply of the model: ask, stream, fold, and ask again where that is safe.

What may be asked again (ADR 0010): whatever the error calls retryable, a connection that is cut in the middle
of a reply among it. What was shown of the reply is then taken back by an event.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.learned import Learned
from caliban_agent_core.state import RunState
from caliban_agent_core.timing import Timing
from caliban_agent_core.walled import passes
from caliban_common.estimate import text_tokens, tokens, tool_tokens
from caliban_common.event import (
    ApiRetry,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ReplyDiscarded,
    ToolCallInputDelta,
    ToolCallStart,
    Warned,
)
from caliban_common.history import is_same_model
from caliban_common.message import Message, TextBlock
from caliban_common.stop import StopReason
from caliban_common.text import one_line
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.errors import (
    BadResponse,
    ProviderError,
    StreamInterrupted,
)
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.retry import RetryPolicy, names_wait
from caliban_provider.stream import (
    BlockStart,
    InputDelta,
    MessageStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

MAX_REPLY_CHARS = 16_000_000
"""What a reply may have in text and arguments of calls: thirty times what the longest of any model has. A
server that does not stop would fill the memory."""

MAX_MALFORMED = 2
"""How often in one turn a reply with an unreadable tool call is asked for again (case b073)."""


class ThinkingOverflow(Exception):
    """The model thought for longer than the run allows; a signal within a turn, never shown."""


class Attempts(Struct, frozen=True, kw_only=True):
    """What was asked again in one turn: failed attempts, those that named a wait, replies with a bad call."""

    failed: int = 0
    told: int = 0
    malformed: int = 0


class Reply(Struct, frozen=True, kw_only=True):
    """A complete reply and what it cost; `detail` is the provider's word on an unusual stop reason."""

    message: Message
    stop_reason: StopReason
    usage: Usage
    detail: str | None
    first_token_ms: float | None


class ModelCaller:
    """Asks one provider for replies, within one run.

    `assembler` holds what has come of the reply in progress, for a run that is cut off.
    """

    def __init__(
        self,
        provider: Provider,
        state: RunState,
        *,
        retry: RetryPolicy,
        thinking_cap_chars: int,
        learned: Learned,
        timing: Timing,
    ) -> None:
        self._provider = provider
        self._state = state
        self._retry = retry
        self._thinking_cap_chars = thinking_cap_chars
        self._learned = learned
        self._timing = timing
        self._call_ids: dict[int, str] = {}
        self._turn = -1
        self._attempts = Attempts()
        self.assembler: Assembler | None = None
        self.api_ms: float = 0.0

    async def ask(self, request: CompletionRequest, turn: int) -> Reply:
        """The reply to `request`. Raises `ProviderError` when asking again is pointless or unsafe.

        A turn may ask more than once (more room, no schema, a shorter history), and all of it shares one
        allowance, so that no other rung multiplies retries (docs/adr/0010).
        """
        if turn != self._turn:
            self._turn, self._attempts = turn, Attempts()
        while True:
            try:
                reply = await self._stream(request, turn)
                if reply.stop_reason != "malformed_call":
                    return reply
                self._attempts = replace(self._attempts, malformed=self._attempts.malformed + 1)
                await self._retract(turn, self._attempts.malformed)
            except ProviderError as error:
                shown = self.assembler is not None and self.assembler.has_content
                failed, waits = self._attempts.failed + 1, self._attempts.told
                delay_s = self._retry.delay(failed, error, self._timing.jitter(), told=waits)
                if delay_s is None:
                    raise
                waits += names_wait(error)
                self._attempts = replace(self._attempts, failed=failed, told=waits)
                await self._announce(error, turn, failed, delay_s, shown=shown)
                await self._timing.sleep(delay_s)

    async def _retract(self, turn: int, malformed: int) -> None:
        """Take back a reply whose tool call its own provider could not read; raise when it does not stop."""
        if malformed > MAX_MALFORMED:
            raise BadResponse(
                "the model keeps writing tool calls that its provider cannot read",
                hint="try another model, or offer it fewer tools",
            )
        reason = "the model wrote a tool call that its provider could not read"
        await self._state.emit(ReplyDiscarded(turn=turn, reason=reason))

    def partial(self, model: str) -> Message | None:
        """The text of a reply that was cut off, as a message; `None` when there was none."""
        if self.assembler is None or not self.assembler.has_content:
            return None
        message = self._message(self.assembler, model)
        text = tuple(
            block for block in message.content if isinstance(block, TextBlock) and block.text.strip()
        )
        return replace(message, content=text) if text else None

    def _message(self, assembler: Assembler, model: str) -> Message:
        """The reply, under the name that was asked for: an alias must find its own signatures again."""
        reply = assembler.message(self._provider.family, model, id=self._state.new_id())
        return replace(reply, model=assembler.asked or model)

    async def _stream(self, request: CompletionRequest, turn: int) -> Reply:
        assembler = self.assembler = Assembler()
        self._call_ids.clear()
        clock = self._timing.clock
        started = clock()
        ended: float | None = None
        first_token_ms: float | None = None
        thinking_left = self._thinking_cap_chars or None
        left = MAX_REPLY_CHARS
        try:
            async with self._provider.stream(request) as events:
                async for event in events:
                    left -= _size(event)
                    if left < 0:
                        raise BadResponse(
                            f"the reply does not end: more than {MAX_REPLY_CHARS:,} characters have come",
                            hint="try another model, or look at the server",
                        )
                    assembler.add(event)
                    if first_token_ms is None and not isinstance(event, MessageStart):
                        first_token_ms = (clock() - started) * 1000
                    if thinking_left is not None and type(event) is ThinkingDelta:
                        thinking_left -= len(event.text)
                        if thinking_left < 0:
                            raise ThinkingOverflow
                    await self._tell(event, request.model, turn)
                ended = clock()  # what closing takes is not the model's
        except (ProviderError, ThinkingOverflow):
            raise
        except BaseException as error:
            if passes(error):
                raise
            raise _fault(self._provider.name, error) from error
        finally:
            self.api_ms += ((clock() if ended is None else ended) - started) * 1000
            self._state.spend(assembler.usage)
        if assembler.stop_reason is None and not assembler.complete:
            raise StreamInterrupted(
                "the stream ended before the reply did", hint="the connection was lost: ask again"
            )
        message, usage = self._message(assembler, request.model), assembler.usage
        stop_reason = assembler.stop_reason or "end_turn"
        if stop_reason == "max_tokens" and usage.input_tokens and _is_nothing(assembler):
            stop_reason = "context_window"  # the prompt left no room for one token
        if not usage.input_tokens or not usage.output_tokens:
            reported, usage = usage, _estimated(usage, request, assembler.written)
            self._state.spend(usage - reported)
        reply = Reply(
            message=message,
            stop_reason=stop_reason,
            usage=usage,
            detail=assembler.detail,
            first_token_ms=first_token_ms,
        )
        self.assembler = None
        return reply

    async def _tell(self, event: StreamEvent, model: str, turn: int) -> None:
        emit = self._state.emit
        kind = type(event)
        if kind is TextDelta:
            await emit(AssistantTextDelta(turn=turn, text=event.text))  # type: ignore[union-attr]
        elif kind is ThinkingDelta:
            await emit(AssistantThinkingDelta(turn=turn, text=event.text))  # type: ignore[union-attr]
        elif isinstance(event, InputDelta):
            call_id = self._call_ids.get(event.index, "")
            await emit(ToolCallInputDelta(turn=turn, tool_use_id=call_id, partial_json=event.partial_json))
        elif isinstance(event, BlockStart):
            if event.kind == "tool_use" and event.name:
                self._call_ids[event.index] = event.id
                await emit(ToolCallStart(turn=turn, tool_use_id=event.id, name=event.name))
            elif event.kind == "text" and event.text:
                await emit(AssistantTextDelta(turn=turn, text=event.text))
        elif isinstance(event, MessageStart):
            await self._check_model(event.asked or model, event.model)

    async def _check_model(self, requested: str, actual: str) -> None:
        if not actual or is_same_model(requested, actual) or (requested, actual) in self._learned.mismatches:
            return
        self._learned.mismatches.add((requested, actual))
        message = f'model mismatch: requested "{requested}" but the provider answered with "{actual}"'
        details = {"requested": requested, "actual": actual}
        await self._state.emit(Warned(subtype="model_mismatch", message=message, details=details))

    async def _announce(
        self, error: ProviderError, turn: int, attempt: int, delay_s: float, *, shown: bool
    ) -> None:
        if shown:
            await self._state.emit(ReplyDiscarded(turn=turn, reason=error.message))
        self.assembler = None
        await self._state.emit(
            ApiRetry(
                turn=turn,
                attempt=attempt,
                max_retries=self._retry.allowed(attempt, error, told=self._attempts.told),
                delay_ms=round(delay_s * 1000),
                category=error.category,
                message=error.message,
                status=error.status,
            )
        )


def _is_nothing(assembler: Assembler) -> bool:
    """Whether nothing has come of a reply, and its provider counts nothing either."""
    return not assembler.has_content and not assembler.usage.output_tokens


def _estimated(reported: Usage, request: CompletionRequest, written: str) -> Usage:
    """What a reply used whose provider leaves out, or tells as 0, what cannot be."""
    prompt_tokens = reported.input_tokens or tokens(request.messages) + tool_tokens(request.tools)
    reply_tokens = reported.output_tokens or text_tokens(written)
    if (prompt_tokens, reply_tokens) == (reported.input_tokens, reported.output_tokens):
        return reported
    return replace(reported, input_tokens=prompt_tokens, output_tokens=reply_tokens, estimated=True)


def _fault(name: str, error: BaseException) -> ProviderError:
    """What a provider raises that is no `ProviderError`, in words; the log has where it happened."""
    if isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        # A provider with a task group of its own: what matters is what went wrong inside.
        inner = error.exceptions[0]
        return inner if isinstance(inner, ProviderError) else _fault(name, inner)
    import logging

    logging.getLogger(__name__).debug("the provider %r failed", name, exc_info=error)
    reason = one_line(f"{type(error).__name__}: {error}")
    return BadResponse(
        f"the provider {name!r} failed: {reason}", hint="this is a fault of the provider itself"
    )


def _size(event: StreamEvent) -> int:
    """How many characters of what is kept of a reply an event brings; thinking has a bound of its own."""
    kind = type(event)
    if kind is TextDelta:
        return len(event.text)  # type: ignore[union-attr]
    return len(event.partial_json) if kind is InputDelta else 0  # type: ignore[union-attr]
