"""Keys on their way out: taken out of what models are sent and write, what is stored, and what errors say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec.structs import replace

from caliban_common.mask import MaskedStream, Masker
from caliban_common.masked import masked_data, masked_message
from caliban_common.message import Message, ToolResultBlock
from caliban_common.usage import Usage
from caliban_drive.notice import Notice
from caliban_drive.store import Store
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider.wrapped import WrappedCall, WrappedProvider


def mask_error(error: BaseException, masker: Masker) -> None:
    """Take the secrets out of the words of `error`, of those it came from, and of those it is a group of."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        current = left.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        left += (current.__cause__, current.__context__)
        if isinstance(current, BaseExceptionGroup):
            left += current.exceptions  # its own words are those of whoever made it, and cannot be changed
            continue
        current.args = tuple(masker.text(arg) if isinstance(arg, str) else arg for arg in current.args)
        for name in ("message", "hint"):
            words = getattr(current, name, None)
            if isinstance(words, str):
                setattr(current, name, masker.text(words))


def masked_notice(notice: Notice, masker: Masker) -> Notice:
    """`notice` without the secrets."""
    hint = None if notice.hint is None else masker.text(notice.hint)
    message, details = masker.text(notice.message), masked_data(notice.details, masker)
    return replace(notice, message=message, hint=hint, details=details)


class MaskedProvider(WrappedProvider):
    """`inner`, told no secret that `masker` knows, and telling none.

    Attributes that a provider need not have are those of `inner`.
    """

    def __init__(self, inner: Provider, masker: Masker) -> None:
        super().__init__(inner)
        self._masker = masker
        self._seen: tuple[Message, ...] = ()
        self._masked: tuple[Message, ...] = ()

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        if not self._masker:
            return self._inner.stream(request)
        messages = self._without_secrets(request.messages)
        if messages is not request.messages:
            request = replace(request, messages=messages)
        return _MaskedReply(self._inner.stream(request), self._masker)

    def _without_secrets(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """What was looked at with the last request is not looked at again: histories grow at their end."""
        known = len(self._seen)
        if messages[:known] != self._seen:
            known, self._masked = 0, ()
        added = tuple(masked_message(message, self._masker) for message in messages[known:])
        self._seen, self._masked = messages, (*self._masked, *added)
        if all(new is old for new, old in zip(self._masked, messages, strict=True)):
            return messages
        return self._masked


class _MaskedReply(WrappedCall):
    """The events of one reply; the end of a block brings what was held back of its text."""

    __slots__ = ("_masker", "_streams", "_waiting")

    def __init__(self, call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]], masker: Masker) -> None:
        super().__init__(call)
        self._masker = masker
        self._streams: dict[tuple[int, type], MaskedStream] = {}
        self._waiting: list[StreamEvent] = []

    async def __anext__(self) -> StreamEvent:
        if self._waiting:
            return self._waiting.pop(0)
        while True:
            event = await self._next()
            kind = type(event)
            if kind is TextDelta or kind is ThinkingDelta:
                text = self._stream(event.index, kind).feed(event.text)  # type: ignore[union-attr]
                if text is event.text:  # type: ignore[union-attr]
                    return event
                if text:
                    return kind(event.index, text)  # type: ignore[union-attr]
            elif kind is InputDelta:
                text = self._stream(event.index, kind).feed(event.partial_json)  # type: ignore[union-attr]
                if text:
                    return InputDelta(event.index, text)  # type: ignore[union-attr]
            elif kind is BlockStart and event.text:  # type: ignore[union-attr]
                return replace(event, text=self._masker.text(event.text))  # type: ignore[union-attr]
            elif kind is BlockStop or kind is MessageStop:
                self._waiting = [*self._rest(getattr(event, "index", None)), event]
                return self._waiting.pop(0)
            else:
                return event

    def _stream(self, index: int, kind: type) -> MaskedStream:
        stream = self._streams.get((index, kind))
        if stream is None:
            stream = self._streams[index, kind] = self._masker.stream()
        return stream

    def _rest(self, index: int | None) -> list[StreamEvent]:
        """What is held back of the block `index`, or of all."""
        rest: list[StreamEvent] = []
        for number, kind in list(self._streams):
            if index in (None, number):
                text = self._streams.pop((number, kind)).end()
                if text:
                    rest.append(kind(number, text))
        return rest


class MaskedStore:
    """`inner`, given no secret that `masker` knows."""

    def __init__(self, inner: Store, masker: Masker) -> None:
        self._inner = inner
        self._masker = masker

    @property
    def unsynced(self) -> bool:
        """See `Store`."""
        return self._inner.unsynced

    def sync(self) -> None:
        """See `Store`."""
        self._inner.sync()

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """See `Store`."""
        self._inner.append(masked_message(message, self._masker), usage)

    def keep_result(self, result: ToolResultBlock) -> None:
        """See `Store`."""
        message = masked_message(Message(role="user", content=(result,)), self._masker)
        self._inner.keep_result(message.tool_results[0])

    def replace(self, messages: tuple[Message, ...]) -> None:
        """See `Store`."""
        self._inner.replace(tuple(masked_message(message, self._masker) for message in messages))

    def add_usage(self, usage: Usage) -> None:
        """See `Store`."""
        self._inner.add_usage(usage)

    def note(
        self,
        *,
        prefix: Mapping[str, str] | None = None,
        todos: tuple[Mapping[str, Any], ...] | None = None,
        plan_mode: bool | None = None,
    ) -> None:
        """See `Store`."""
        self._inner.note(prefix=prefix, todos=masked_data(todos, self._masker), plan_mode=plan_mode)

    def note_pending(self, ids: tuple[str, ...]) -> None:
        """See `Store`."""
        self._inner.note_pending(ids)

    def transcript(self) -> tuple[Message, ...] | None:
        """See `Store`."""
        return self._inner.transcript()

    def close(self) -> None:
        """See `Store`."""
        self._inner.close()
