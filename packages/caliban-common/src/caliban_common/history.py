"""The one repair pass before anything is sent: whatever happened to a history, what leaves here is valid.

    messages → only leading system messages, each block in a role that can hold it
             → signed and opaque blocks only for the model that wrote them
             → every tool call answered exactly once, in the next message, results first
             → ids of calls are unique
             → no image or PDF for who cannot take it, and none twice in one message
             → no empty block, no lone surrogate, no empty message

`repair` is pure and idempotent; a history that needs nothing comes back as the same object. A `Repairer` does
the same for a history that grows, and looks at what is new only.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from operator import is_
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.cleaning import cleaned
from caliban_common.message import (
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    NewId,
    ResultPart,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    new_id,
)

_AnyBlock = TypeVar("_AnyBlock", bound=Block)

PDF = "application/pdf"
INTERRUPTED = "[interrupted: this tool call has no result]"


class TargetModel(Struct, frozen=True, kw_only=True):
    """Who is about to read the history: a model of a family, with its limits.

    An empty `family` is one who passes the history on: what anybody signed is kept for those who can read it.
    `max_images` bounds the images that are sent: the oldest give way to a note, a fifth of the bound at a
    time, so that the beginning of a long history keeps its bytes for the prompt cache. Words take the place
    of images where it does not see any, and of PDFs where it reads none.
    """

    family: str
    model: str
    max_images: int = 100
    sees_images: bool = True
    reads_pdf: bool = True


def repair(messages: Sequence[Message], reader: TargetModel) -> tuple[Message, ...]:
    """`messages` as `reader` can be sent them; the law of this module's docstring holds for the result."""
    return Repairer(reader).view(messages)


class Repairer:
    """Repairs one history again and again as it grows, for one reader.

    It keeps what it has proven of the messages it has seen; a history that does not begin with those very
    objects (after a compaction) is examined from its start. Not for use by two tasks at once.
    """

    def __init__(self, reader: TargetModel) -> None:
        self.reader = reader
        self._forget()

    def view(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """What `repair` gives for `messages`, in time that grows with what is new."""
        if len(messages) < len(self._seen) or not all(map(is_, self._seen, messages)):
            self._forget()
        for message in messages[len(self._seen) :]:
            self._take(message)
        tail, _ = _close(self._open, self._ids)
        view = (*self._done, *tail)
        excess = self._images + sum(map(_count_images, tail)) - self.reader.max_images
        if excess > 0:
            view = _drop_images(view, excess, step=max(1, self.reader.max_images // 5))
        return messages if isinstance(messages, tuple) and _same(view, messages) else view

    def _forget(self) -> None:
        self._seen: list[Message] = []
        self._done: list[Message] = []
        self._open: list[Message] = []
        self._ids: dict[str, int] = {}
        self._images = 0
        self._leading = True

    def _take(self, message: Message) -> None:
        """Examine one more message. One with calls stays open as long as user messages may answer it."""
        self._seen.append(message)
        self._leading = self._leading and message.role == "system"
        if message.role == "system" and not self._leading:
            message = replace(message, role="user")
        message = cleaned(message, own=self._owns(message), family=self.reader.family)
        message = _shown_once(message, self.reader)
        if not message.content:
            return
        if self._open and message.role == "user":
            self._open.append(message)
            return
        closed, ids = _close(self._open, self._ids)
        self._ids.update(ids)
        self._keep(closed)
        if message.role == "assistant" and message.tool_uses:
            self._open = [message]
        else:
            self._open = []
            self._keep(_without_results([message]))

    def _keep(self, messages: Sequence[Message]) -> None:
        self._done.extend(messages)
        self._images += sum(map(_count_images, messages))

    def _owns(self, message: Message) -> bool:
        """Whether the reader wrote `message`, and so understands what is signed in it."""
        if not self.reader.family:
            return message.role == "assistant"
        return (
            message.role == "assistant"
            and message.family == self.reader.family
            and message.model is not None
            and is_same_model(message.model, self.reader.model)
        )


def close_open_calls(
    messages: Sequence[Message], *, text: str = INTERRUPTED, new_id: NewId = new_id
) -> tuple[Message, ...]:
    """`messages` with an answer for each tool call that the last message leaves open."""
    if not messages or messages[-1].role != "assistant" or not messages[-1].tool_uses:
        return tuple(messages)
    results = tuple(interrupted(call.id, text) for call in messages[-1].tool_uses)
    return (*messages, Message(role="user", content=results, id=new_id()))


def interrupted(tool_use_id: str, text: str = INTERRUPTED) -> ToolResultBlock:
    """The result of a call that nobody finished."""
    return ToolResultBlock(tool_use_id=tool_use_id, content=(TextBlock(text=text),), is_error=True)


def is_same_model(one: str, other: str) -> bool:
    """Whether two names mean one model: a route before a slash and the date of a snapshot do not count."""
    one, other = sorted((one.rsplit("/", 1)[-1], other.rsplit("/", 1)[-1]), key=len)
    rest = other.removeprefix(one)
    return not rest or (rest != other and rest[0] in "-@" and rest[1:].replace("-", "").isdigit())


def _same(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(is_, left, right))


def _without_results(messages: Iterable[Message]) -> list[Message]:
    """A result whose call is not there says nothing to a model and is refused by most."""
    out = []
    for message in messages:
        kept = tuple(block for block in message.content if not isinstance(block, ToolResultBlock))
        if kept:
            out.append(message if _same(kept, message.content) else replace(message, content=kept))
    return out


def _close(opened: list[Message], ids: MutableMapping[str, int]) -> tuple[list[Message], dict[str, int]]:
    """An assistant message with its calls and the user messages after it, paired; and the ids it takes."""
    if not opened:
        return [], {}
    message, *followers = opened
    wanted = [call.id for call in message.tool_uses]
    if len(set(wanted)) == len(wanted) and all(wanted) and not any(id in ids for id in wanted):
        taken = dict.fromkeys(wanted, 2)
    else:
        message, followers, taken = _rename(message, followers, ids)
    return [message, *_answer(message, followers)], taken


def _rename(
    message: Message, followers: list[Message], ids: MutableMapping[str, int]
) -> tuple[Message, list[Message], dict[str, int]]:
    """Ids that came before (or twice here, or empty) get a suffix, in the calls and in their results.

    The n-th result of an id answers the n-th call of that id; results of other ids answer nothing here.
    """
    taken: dict[str, int] = {}
    known = ChainMap(taken, ids)
    names: dict[str, list[str]] = {}
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            fresh = _fresh(block.id or "call", known)
            names.setdefault(block.id, []).append(fresh)
            block = block if fresh == block.id else replace(block, id=fresh)
        content.append(block)
    turns = {id: iter(fresh) for id, fresh in names.items()}
    answered = [_rename_results(follower, turns) for follower in followers]
    return replace(message, content=tuple(content)), answered, taken


def _fresh(wanted: str, known: MutableMapping[str, int]) -> str:
    """`wanted`, or the first free one of its numbered forms; `known` remembers which number to try next."""
    if wanted not in known:
        known[wanted] = 2
        return wanted
    number = known[wanted]
    while f"{wanted}_{number}" in known:
        number += 1
    known[wanted] = number + 1
    known[f"{wanted}_{number}"] = 2
    return f"{wanted}_{number}"


def _rename_results(message: Message, turns: dict[str, Iterator[str]]) -> Message:
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            fresh = next(turns.get(block.tool_use_id, iter(())), None)
            if fresh is None:
                continue
            block = block if fresh == block.tool_use_id else replace(block, tool_use_id=fresh)
        content.append(block)
    return message if _same(content, message.content) else replace(message, content=tuple(content))


def _answer(message: Message, followers: list[Message]) -> list[Message]:
    """The user messages after a message with calls: one result per call, in call order, then the rest."""
    by_call: dict[str, ToolResultBlock] = {}
    for follower in followers:
        for result in follower.tool_results:
            by_call.setdefault(result.tool_use_id, result)
    results = [by_call.get(call.id) or interrupted(call.id) for call in message.tool_uses]
    # Nobody wrote an answer: its id is made of that of the message, so that repair stays pure.
    first = followers[0] if followers else Message(role="user", content=(), id=f"{message.id}-answer")
    rest = (block for block in first.content if not isinstance(block, ToolResultBlock))
    content = (*results, *rest)
    answered = first if _same(content, first.content) else replace(first, content=content)
    return [answered, *_without_results(followers[1:])]


def is_unseen(block: Block, reader: TargetModel) -> bool:
    """Whether `block` itself is an image or a PDF that `reader` does not take."""
    if isinstance(block, ImageBlock):
        return not reader.sees_images
    return isinstance(block, DocumentBlock) and block.media_type == PDF and not reader.reads_pdf


def has_unseen(message: Message, reader: TargetModel) -> bool:
    """Whether anything in `message`, the results of tools included, is not taken by `reader`."""
    return any(
        is_unseen(part, reader)
        for block in message.content
        for part in (block.content if isinstance(block, ToolResultBlock) else (block,))
    )


def _shown_once(message: Message, reader: TargetModel) -> Message:
    """`message` with words for what `reader` does not take, and for what it holds a second time."""
    if not any(map(_holds_media, message.content)):
        return message
    seen: set[tuple[type, Source]] = set()

    def shown(block: _AnyBlock) -> _AnyBlock | TextBlock:
        if not isinstance(block, ImageBlock | DocumentBlock):
            return block
        if is_unseen(block, reader):
            return TextBlock(text=_unseen_words(block))
        key = (type(block), block.source)
        if key in seen:
            what = "image" if isinstance(block, ImageBlock) else "document"
            return TextBlock(text=f"[the same {what} as above]")
        seen.add(key)
        return block

    content = tuple(
        _with_parts(block, tuple(map(shown, block.content)))
        if isinstance(block, ToolResultBlock)
        else shown(block)
        for block in message.content
    )
    return message if _same(content, message.content) else replace(message, content=content)


def _with_parts(block: ToolResultBlock, parts: tuple[ResultPart, ...]) -> ToolResultBlock:
    return block if _same(parts, block.content) else replace(block, content=parts)


def _holds_media(block: Block) -> bool:
    if isinstance(block, ToolResultBlock):
        return any(not isinstance(part, TextBlock) for part in block.content)
    return isinstance(block, ImageBlock | DocumentBlock)


def _unseen_words(block: ImageBlock | DocumentBlock) -> str:
    """What stands for a block that is not shown."""
    if isinstance(block, ImageBlock) and block.url is not None:
        return f"[an image at {block.url}: this model cannot see it]"
    size = f"{len(block.data or '') * 3 // 4:,} bytes"
    if isinstance(block, ImageBlock):
        return f"[an image of type {block.media_type}, {size}: this model cannot see it]"
    title = f" {block.title!r}" if block.title else ""
    return f"[a PDF document{title}, {size}: this model cannot read it]"


def _count_images(message: Message) -> int:
    count = 0
    for block in message.content:
        if isinstance(block, ImageBlock):
            count += 1
        elif isinstance(block, ToolResultBlock):
            count += sum(isinstance(part, ImageBlock) for part in block.content)
    return count


def _drop_images(messages: tuple[Message, ...], excess: int, *, step: int) -> tuple[Message, ...]:
    """`messages` with the oldest images replaced by a note: `excess` of them, rounded up to whole steps."""
    left = -(-excess // step) * step
    note = TextBlock(text="[an older image was left out]")

    def shown(block: _AnyBlock) -> _AnyBlock | TextBlock:
        nonlocal left
        if isinstance(block, ImageBlock) and left > 0:
            left -= 1
            return note
        return block

    out = []
    for message in messages:
        if left > 0 and _count_images(message):
            content = tuple(
                replace(block, content=tuple(map(shown, block.content)))
                if isinstance(block, ToolResultBlock)
                else shown(block)
                for block in message.content
            )
            message = replace(message, content=content)
        out.append(message)
    return tuple(out)
