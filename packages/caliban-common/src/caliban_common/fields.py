"""The front matter of one file, key by key: each error says file, line, key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from caliban_common.decoding import decode_text
from caliban_common.errors import DataError
from caliban_common.frontmatter import split_front_matter
from caliban_common.text import one_line


class HeadFields:
    """What stands between the lines `---` of the file at `place`, and the `body` after them.

    Keys are written with `-` or `_`, in any case. A byte that is no text is replaced, and `is_whole` is then
    false. Raises `DataError` for a file without front matter, or with one that nobody can read.
    """

    def __init__(self, place: str, data: bytes) -> None:
        self.place = place
        self.is_whole = True
        try:
            text = decode_text(data)
        except DataError:
            text, self.is_whole = data.decode("utf-8", "replace"), False
        if not text.startswith("---"):
            raise DataError(f"{place}:1: expected a line of ---, and front matter behind it")
        self._lines = text.split("\n")
        try:
            head, self.body = split_front_matter(text)
        except DataError as error:
            raise DataError(f"{place}:1: {error.message}", hint=error.hint) from error
        self._values: dict[str, Any] = {}
        for key, value in head.items():
            if _plain(key) in self._values:
                raise self.error(key, "stands twice")
            self._values[_plain(key)] = value

    def has(self, key: str) -> bool:
        """Whether the key says anything."""
        return self._values.get(key) not in (None, "")

    def others(self, known: Collection[str]) -> tuple[str, ...]:
        """The keys that are none of the `known` ones."""
        return tuple(sorted(one_line(key, max_chars=60) for key in self._values if key not in known))

    def error(self, key: str, words: str) -> DataError:
        """What is wrong with a key: `words` say what was expected."""
        return DataError(f"{self.place}:{self._line(key)}: `{one_line(key, max_chars=60)}` {words}")

    def text(self, key: str, *, max_chars: int, required: bool = False) -> str:
        """The text of a key on one line, empty where there is none. Raises `DataError`."""
        value = self._values.get(key) or ""
        if not isinstance(value, str):
            raise self.error(key, "must be text")
        line = one_line(value, max_chars=max_chars + 1)
        if required and not line:
            raise self.error(key, "is missing" if key not in self._values else "must not be empty")
        if len(line) > max_chars:
            raise self.error(key, f"must have at most {max_chars:,} characters, and has {len(value):,}")
        return line

    def flag(self, key: str, *, default: bool) -> bool:
        """Whether a key says `true`. Raises `DataError` for what is neither that nor `false`."""
        value = self._values.get(key)
        if value in (None, ""):
            return default
        word = value.lower() if isinstance(value, str) else ""
        if word not in ("true", "false"):
            raise self.error(key, f"must be true or false, not {one_line(str(value), max_chars=60)!r}")
        return word == "true"

    def items(self, key: str, pattern: str, what: str) -> tuple[str, ...]:
        """The items of a list, or of text in which `pattern` finds them and nothing else stands.

        Commas and blanks may stand between. Raises `DataError` that says `what` was expected.
        """
        value = self._values.get(key) or ()
        if isinstance(value, str):
            items = [match[0] for match in re.finditer(pattern, value)]
            if re.sub(pattern, "", value).strip(", \t\n"):
                raise self.error(key, f"must be {what}, not {one_line(value, max_chars=80)!r}")
            return tuple(items)
        if not isinstance(value, list | tuple):
            raise self.error(key, f"must be {what}")
        for item in value:
            if not isinstance(item, str) or re.fullmatch(pattern, item.strip()) is None:
                raise self.error(key, f"must be {what}, not {one_line(str(item), max_chars=80)!r}")
        return tuple(item.strip() for item in value)

    def _line(self, key: str) -> int:
        for number, line in enumerate(self._lines[1:], 2):
            if _plain(line.partition(":")[0].strip()) == _plain(key):
                return number
            if line.startswith(("---", "...")):
                break
        return 1


def _plain(key: str) -> str:
    return key.replace("_", "-").lower()
