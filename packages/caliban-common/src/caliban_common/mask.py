"""Known secrets taken out of text: what a model reads, what a person sees, what is stored.

A secret is found as it stands and as JSON, a URL, base64 (wherever it begins in the encoded bytes, wrapped or
not) or hexadecimal digits would write it. A long piece of it counts as well, as far as it holds its first or
its last characters: whatever cuts a text before it is masked leaves no more than a stub.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

MASK: Final = "[secret]"
LONG_CHARS: Final = 16
"""So long, any value that we hold counts as a secret."""
SHORT_CHARS: Final = 8
"""So short, only one with a digit: the keys of servers that want none are words."""
PIECE_CHARS: Final = 20
"""How much of a secret's beginning or end is as good as all of it."""
_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


class Form(Struct, frozen=True, kw_only=True):
    """One way to write a secret: the whole of it, and the pieces by which it is found."""

    text: str
    head: str
    tail: str
    wraps: bool


class Masker:
    """Takes the secrets that it knows out of text. `add` may be called at any time."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: dict[str, None] = {}
        self._pending: list[str] = []
        self._forms: tuple[Form, ...] = ()
        self._wrapping: tuple[Form, ...] = ()
        self._start: re.Pattern[str] | None = None
        self._longest = 0
        for value in values:
            self.add(value)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __repr__(self) -> str:
        return f"Masker({len(self._values)} values)"

    def add(self, value: str) -> None:
        """From now on `value` is a secret, unless it is too short or too plain a word to be one."""
        if value not in self._values and is_secret(value):
            self._values[value] = None
            self._pending.append(value)

    def knows(self, value: str) -> bool:
        """Whether `value` itself is one of the secrets."""
        return value in self._values

    def holds(self, text: str) -> bool:
        """Whether one of the secrets stands in `text`, as it is or encoded."""
        return bool(self._values) and self.text(text) != text

    def text(self, text: str) -> str:
        """`text` without the secrets; the same object where there is none in it."""
        if not self._values:
            return text
        if self._pending:
            self._learn()
        if "\n" in text:
            text = self._unwrapped(text)
        forms = [form for form in self._forms if form.head in text or form.tail in text]
        if forms:
            for start, end in reversed(_joined(span for form in forms for span in _spans(text, form))):
                text = text[:start] + MASK + text[end:]
        return text

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Likewise for texts that are read one after the other: a secret may lie across them."""
        joined = "".join(texts)
        if self.text(joined) is joined:
            return tuple(texts)
        stream = self.stream()
        pieces = [stream.feed(text) for text in texts]
        return tuple(map(self.text, (*pieces[:-1], pieces[-1] + stream.end())))

    def stream(self) -> MaskedStream:
        """For one text that comes in pieces."""
        if self._pending:
            self._learn()
        return MaskedStream(self)

    def held_from(self, text: str) -> int:
        """Where at the end of `text` a secret may have begun; its length where none has."""
        if self._pending:
            self._learn()
        if self._start is None:
            return len(text)
        match = self._start.search(text, max(0, len(text) - self._longest))
        while match is not None:
            at = match.start()
            rest = text[at:]
            if any(len(rest) < len(form.text) and form.text.startswith(rest) for form in self._forms):
                return self._past_whole(text, at)
            match = self._start.search(text, at + 1)
        return len(text)

    def _past_whole(self, text: str, at: int) -> int:
        """`at`, or the end of a whole secret that it would cut in two."""
        for form in self._forms:
            start = text.rfind(form.text)
            if 0 <= start < at < start + len(form.text):
                return start + len(form.text)
        return at

    def _may_begin(self, text: str) -> bool:
        """Whether anything in `text` looks like the beginning of a secret."""
        return self._start is not None and self._start.search(text) is not None

    def _learn(self) -> None:
        """Work out the forms of the values that came; most runs have one or two."""
        pending, self._pending = self._pending, []
        known = {form.text: form for form in self._forms}
        for value in pending:
            for text, wraps in forms(value).items():
                size = len(text) if len(text) < PIECE_CHARS + LONG_CHARS else PIECE_CHARS
                known.setdefault(text, Form(text=text, head=text[:size], tail=text[-size:], wraps=wraps))
        self._forms = tuple(sorted(known.values(), key=lambda form: -len(form.text)))
        self._wrapping = tuple(form for form in self._forms if form.wraps)
        # Two characters of a beginning, or one at the very end: few words of a language have them.
        starts = {re.escape(text[:2]) for text in known} | {re.escape(text[0]) + r"\Z" for text in known}
        self._start = re.compile("|".join(sorted(starts)))
        self._longest = max(map(len, known))

    def _unwrapped(self, text: str) -> str:
        """`text` without secrets that are broken into lines, as encoders break what is long."""
        plain = text.replace("\n", "").replace("\r", "")
        forms = [form for form in self._wrapping if form.head in plain or form.tail in plain]
        if not forms:
            return text
        places = [place for place, char in enumerate(text) if char not in "\r\n"]
        spans = _joined(span for form in forms for span in _spans(plain, form))
        for start, end in reversed(spans):
            text = text[: places[start]] + MASK + text[places[end - 1] + 1 :]
        return text


class MaskedStream:
    """One text that comes in pieces: what may be the beginning of a secret is held back until it is known."""

    __slots__ = ("_held", "_masker")

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text so far can be shown, `piece` included."""
        masker = self._masker
        if not self._held and len(piece) < SHORT_CHARS and not masker._may_begin(piece):
            return piece  # 0.4 µs, where all of it takes three times as long: there can be fifty thousand
        text = self._held + piece
        cut = masker.held_from(text)
        if cut == len(text):
            self._held = ""
            return text if len(text) < SHORT_CHARS else masker.text(text)
        self._held = text[cut:]
        return masker.text(text[:cut])

    def end(self) -> str:
        """The rest: the text is over."""
        text, self._held = self._held, ""
        return self._masker.text(text)


def is_secret(value: str) -> bool:
    """Whether a key of this form is one, and not a word such as `none` for a server that wants no key."""
    if len(value) >= LONG_CHARS:
        return not value.isspace()
    return len(value) >= SHORT_CHARS and any(char.isdigit() for char in value)


def forms(value: str) -> dict[str, bool]:
    """The ways to write `value`, and whether encoders break that way into lines."""
    import json
    from base64 import b64encode, urlsafe_b64encode

    data = value.encode("utf-8", "surrogatepass")
    written = {value: False}
    for ascii_only in (True, False):
        written[json.dumps(value, ensure_ascii=ascii_only)[1:-1]] = False
    for digits in ("%%%02X", "%%%02x"):
        for plain in (_UNRESERVED, _UNRESERVED + b"/"):
            quoted = (chr(byte) if byte in plain else digits % byte for byte in data)
            written["".join(quoted)] = False
    for offset in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            text = encode(b"\0" * offset + data).decode("ascii").rstrip("=")
            # The characters that also depend on what stands before or after the secret are left out.
            end = (offset + len(data)) * 8 // 6
            written[text[-(-offset * 8 // 6) : end]] = True
    written |= {data.hex(): True, data.hex().upper(): True}
    return {text: wraps for text, wraps in written.items() if len(text) >= SHORT_CHARS}


def _spans(text: str, form: Form) -> list[tuple[int, int]]:
    """Where `form`, or a long piece from its beginning or up to its end, stands; in order, apart."""
    spans: list[tuple[int, int]] = []
    whole, size = form.text, len(form.head)
    at = text.find(form.head)
    while at >= 0:
        end = size
        while end < len(whole) and text[at + end : at + end + 1] == whole[end]:
            end += 1
        spans.append((at, at + end))
        at = text.find(form.head, at + 1)  # a periodic secret overlaps itself
    at = text.find(form.tail) if size < len(whole) else -1
    while at >= 0:
        begin = len(whole) - size
        start = at
        while begin and start and text[start - 1] == whole[begin - 1]:
            begin, start = begin - 1, start - 1
        spans.append((start, at + size))
        at = text.find(form.tail, at + 1)
    return _joined(spans)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """`spans` in order; those that overlap are one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
