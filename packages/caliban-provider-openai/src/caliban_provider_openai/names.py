"""Ids and names that a server takes, derived from any: the same text always gives the same result.

Being pure, the mapping needs no memory: a call and its result agree, and the bytes of a history stay the same
from turn to turn.
"""

from __future__ import annotations

import re

from msgspec import Struct

from caliban_common.digest import sha256
from caliban_common.message import Message, ToolResultBlock

MAX_NAME_CHARS = 64

_FINE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS = 12
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class IdRule(Struct, frozen=True, kw_only=True):
    """What a tool call's id may look like: letters, digits, `_`, `-` and `extra`, at most `chars` of them.

    With `exact` it is exactly `chars` letters and digits.
    """

    chars: int = 40
    extra: str = ""
    exact: bool = False

    def apply(self, raw: str, own_ids: frozenset[str] = frozenset()) -> str:
        """`raw` where it fits or is one of `own_ids`, else an id that is as unique as `raw`."""
        if raw in own_ids:
            return raw
        if self.exact:
            fits = len(raw) == self.chars and raw.isascii() and raw.isalnum()
            return raw if fits else _scrambled(raw, self.chars)
        if raw and len(raw) <= self.chars and raw.isascii():
            plain = raw
            for char in f"_-{self.extra}":
                plain = plain.replace(char, "a")
            if plain.isalnum():
                return raw
        return _derived(raw or "call", self.chars)

    def own_ids(self, message: Message, issued: set[str], *, own: bool) -> frozenset[str]:
        """The ids in `message` that the reading model issued itself and that the rule would change.

        Servers hide in an id what the model wants back. `issued` grows by the calls of a message that is the
        model's `own`.
        """
        if message.role == "assistant":
            ids = [block.id for block in message.tool_uses] if own else []
            issued.update(ids)
        else:
            ids = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
        return frozenset(id for id in ids if id in issued and self.apply(id) != id)


def wire_name(raw: str) -> str:
    """`raw` where it is a tool name that the wire takes, else one that is as unique as `raw`."""
    return raw if _FINE_NAME.fullmatch(raw) else _derived(raw or "tool", MAX_NAME_CHARS)


def _derived(raw: str, max_chars: int) -> str:
    digest = _hash(raw).hex()[:_DIGEST_CHARS]
    kept = _OTHER.sub("_", raw)[: max(0, max_chars - _DIGEST_CHARS - 1)]
    return f"{kept}_{digest}"[-max_chars:]


def _scrambled(raw: str, chars: int) -> str:
    number = int.from_bytes(_hash(raw))
    out = []
    for _ in range(chars):
        number, digit = divmod(number, len(_ALPHABET))
        out.append(_ALPHABET[digit])
    return "".join(out)


def _hash(raw: str) -> bytes:
    return sha256(raw.encode("utf-8", "surrogatepass")).digest()
