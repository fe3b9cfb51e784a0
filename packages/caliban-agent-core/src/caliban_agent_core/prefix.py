"""Watches the beginning of the prompt, which a provider's cache finds again only if not a byte of it moves.

    request n      model · tools · system · message … message
    request n + 1  model · tools · system · message … message · reply · results
                   └─ has to be the same, part by part ─────┘

The first part that is not what it was makes everything behind it cost its full price once more, so it is
named. A history that was rewritten on purpose is no surprise, and another model has a cache of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from operator import is_
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.compact.summary import system_prompt
from caliban_common.event import Warned
from caliban_common.message import Message
from caliban_common.usage import Usage
from caliban_provider.request import CompletionRequest

LEAST_TOKENS = 2048
"""How much must have been in the cache for its loss to be worth a word."""


class Seen(Struct, frozen=True, kw_only=True):
    """The request before: `writer` answered it, and `cached_tokens` of it were in the cache after that.

    `at_s` is when the reply had come, `idle_s` how long before the request nothing was asked.
    """

    request: CompletionRequest
    generation: int
    writer: tuple[str | None, str | None] | None = None
    cached_tokens: int = 0
    at_s: float = 0.0
    idle_s: float = 0.0


class PrefixWatch:
    """Compares each request of one conversation with the one before it; for one run at a time.

    `known` is the `fingerprint` that an earlier process left: its requests are gone, but tools and system
    prompt can be compared. `clock` gives seconds that never go back.
    """

    def __init__(
        self, known: Mapping[str, str] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.fingerprint: Mapping[str, str] = known or {}
        self._clock = clock
        self._seen: Seen | None = None
        self._missed = False

    @property
    def generation(self) -> int:
        """That of the request before: where a run that goes on counts from."""
        return 0 if self._seen is None else self._seen.generation

    def forget(self) -> None:
        """The history was rewritten on purpose outside of a run: what comes next is compared to nothing."""
        self._seen, self.fingerprint = None, {}

    def ask(self, request: CompletionRequest, generation: int) -> Warned | None:
        """Take note of `request`, about to be sent; what to tell when its beginning is not the old one.

        `generation` counts how often the history was rewritten on purpose.
        """
        if not request.cache:
            return None
        seen, now_s = self._seen, self._clock()
        is_next = seen is not None and _is_next(seen, request, generation)
        part = None
        if seen is not None and seen.generation != generation:
            self.fingerprint = fingerprint(request)  # a summary may stand among the system messages
        else:
            part = self._changed_head(seen, request)
        if part is None and seen is not None and is_next:
            part = _moved(seen.request.messages, request.messages)
        fresh = Seen(request=request, generation=generation)
        if seen is not None and is_next and part is None:
            fresh = replace(seen, request=request, idle_s=now_s - seen.at_s)
        self._seen = fresh
        return None if part is None else _broken(part, seen.cached_tokens if seen is not None else 0)

    def answered(self, message: Message, usage: Usage) -> Warned | None:
        """Take note of a reply and its `usage`; what to tell, once, when the cache had lost the beginning."""
        seen = self._seen
        if seen is None:
            return None
        writer, read = (message.family, message.model), usage.cache_read_tokens
        held = seen.cached_tokens if writer == seen.writer else 0
        cached = read + usage.cache_write_tokens
        self._seen = replace(seen, writer=writer, cached_tokens=cached, at_s=self._clock())
        if self._missed or held < LEAST_TOKENS or read * 2 >= held:
            return None
        self._missed = True
        return _missed(held - read, seen.idle_s)

    def _changed_head(self, seen: Seen | None, request: CompletionRequest) -> str | None:
        """What differs in tools or system prompt, if anything, for the same model."""
        if seen is not None and _same_head(seen.request, request):
            return None
        before, self.fingerprint = self.fingerprint, fingerprint(request)
        return _differing(before, self.fingerprint) if before.get("model") == request.model else None


def fingerprint(request: CompletionRequest) -> dict[str, str]:
    """Short digests of what every request of a conversation begins with, by the names of the parts."""
    parts = {"model": request.model}
    for tool in request.tools:
        parts[f"tool {tool.name}"] = _digest(
            f"{tool.description}\0{json.dumps(tool.input_schema, default=str)}"
        )
    for number, message in enumerate(system_prompt(request.messages), 1):
        parts[f"system message {number}"] = _digest(message.text)
    return parts


def _is_next(seen: Seen, request: CompletionRequest, generation: int) -> bool:
    return seen.generation == generation and seen.request.model == request.model


def _digest(text: str) -> str:
    """Enough to see that a text was changed; whoever could forge it would only spare a warning."""
    data = text.encode("utf-8", "surrogatepass")
    return f"{len(data):x}-{crc32(data):08x}"


def _same_head(one: CompletionRequest, other: CompletionRequest) -> bool:
    """Whether tools, model and system prompt are those very objects: quick, and right almost always."""
    if one.tools is not other.tools or one.model != other.model or not one.messages or not other.messages:
        return False
    return one.messages[0] is other.messages[0]


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """The first part, in the order of the wire, that is new, gone, elsewhere or different."""
    for (name, digest), (other, its_digest) in zip(before.items(), after.items(), strict=False):
        if name == other and digest == its_digest:
            continue
        if name == other:
            return f"{name}, which changed"
        if other not in before:
            return f"{other}, which is new"
        return f"{name}, which is gone" if name not in after else f"{other}, which stood elsewhere"
    longer = list(after if len(after) > len(before) else before)[min(len(before), len(after)) :]
    if not longer:
        return None
    return f"{longer[0]}, which is {'new' if longer[0] in after else 'gone'}"


def _moved(before: tuple[Message, ...], after: tuple[Message, ...]) -> str | None:
    """The first block of `before` that `after` does not begin with; its last message may have grown."""
    if len(before) <= len(after) and all(map(is_, before, after)):
        return None
    for number, message in enumerate(before):
        if number >= len(after):
            return f"message {number + 1} ({message.role}), which is gone"
        other = after[number]
        if other is message or (other.role == message.role and other.content == message.content):
            continue  # ids are ours alone: no provider sees them
        if other.role != message.role:
            return f"message {number + 1}, which is now of the {other.role}"
        if number == len(before) - 1 and other.content[: len(message.content)] == message.content:
            continue
        return f"message {number + 1} ({message.role}), {_block(message, other)}"
    return None


def _block(before: Message, after: Message) -> str:
    for number, (old, new) in enumerate(zip(before.content, after.content, strict=False), 1):
        if old != new:
            return f"block {number} ({old.type}), which changed"
    number = min(len(before.content), len(after.content)) + 1
    return f"block {number}, which is {'gone' if len(before.content) > len(after.content) else 'new'}"


def _broken(part: str, cached_tokens: int) -> Warned:
    cost = f" ({cached_tokens:,} tokens)" if cached_tokens else ""
    return Warned(
        subtype="cache_break",
        message=f"the provider's prompt cache{cost} cannot be reused beyond {part}",
        details={"part": part, "cached_tokens": cached_tokens},
    )


def _missed(lost_tokens: int, idle_s: float) -> Warned:
    return Warned(
        subtype="cache_miss",
        message=f"the provider had lost {lost_tokens:,} tokens of the prompt from its cache,"
        f" {idle_s:.0f} s after its last reply",
        details={"lost_tokens": lost_tokens, "idle_s": round(idle_s, 3)},
    )
