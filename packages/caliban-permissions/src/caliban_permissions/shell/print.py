"""Printing a parsed line, so that a shell has only one way to read it: our own.

Every word is quoted unless it is plain. What must expand stays as it is: wildcards, the home, variables and
substitutions. Reading what is printed gives the same line again.
"""

from __future__ import annotations

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.shell.line import COPIES, ParsedLine, Piece, Redirect, Segment, SimpleCommand, Word
from caliban_permissions.shell.reserved import RESERVED

_PLAIN = lazy_pattern(r"[A-Za-z0-9_./:,@%+=-]+")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DELIMITER = lazy_pattern(r"[A-Za-z0-9_.-]+")
_HERE = ("<<", "<<-")
_PLACES = (["~"], ['"$PWD"'])
_VARIABLES = (["${HOME}"], ["${PWD}"])


def print_line(line: ParsedLine) -> str | None:
    """The line in the form in which it runs; `None` where no form has only one reading."""
    if line.opaque or not line.pieces:
        return None
    return _Printer().printed(line.pieces)


def print_word(word: Word) -> str | None:
    """One word, or `None`."""
    if word.segments is None:
        return None
    parts: list[str] = []
    plain: list[str] = []
    for segment in (*word.segments, Segment("pattern", "")):
        if segment.kind == "text":
            plain.append(segment.text)
            continue
        text = "".join(plain)
        if text or plain:  # an empty text keeps what stands before it from being the home
            apart = "''" if parts in _VARIABLES and text.startswith("/") else ""
            parts.append(_below(text) if parts in _PLACES else apart + quote(text))
        plain.clear()
        shown = _expansion(segment)
        if shown is None:
            return None
        parts.append(shown)
    return "".join(parts) or "''"


def quote(text: str) -> str:
    """The text as one word that nothing expands."""
    if _PLAIN.fullmatch(text) and text not in RESERVED and not _ASSIGNMENT.match(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def _below(text: str) -> str:
    """What follows the home or the working directory: its slash is no part of what is quoted."""
    return "/" + (quote(text[1:]) if len(text) > 1 else "")


def _expansion(segment: Segment) -> str | None:
    match segment.kind:
        case "directory":
            return '"$PWD"'
        case "number":
            return f'"{segment.text}"'
        case "variable":
            return f'"${{{segment.name}}}"' if segment.quoted else f"${{{segment.name}}}"
        case "substitution":
            inner = None if segment.line is None else print_line(segment.line)
            if inner is None:
                return None
            # A blank keeps `$( (` from being arithmetic, a line end closes the last here-document.
            text = f"$( {inner})" if inner.startswith("(") else f"$({inner})"
            return f'"{text}"' if segment.quoted else text
        case _:
            return segment.text


class _Printer:
    """`documents` are the here-documents that begin at the next line end."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.documents: list[str] = []

    def printed(self, pieces: tuple[Piece, ...]) -> str | None:
        for piece in pieces:
            if not self._piece(piece):
                return None
        if self.documents:
            self._line_end()
        return self._joined()

    def _joined(self) -> str:
        text = ""
        for part in self.parts:
            glue = "" if not text or text.endswith("\n") or part[0] in "\n;" else " "
            text += glue + part
        return text

    def _piece(self, piece: Piece) -> bool:
        match piece:
            case "\n":
                self._line_end()
                return True
            case str():
                self.parts.append(piece)
                return True
            case Word():
                return self._add(print_word(piece))
            case Redirect():
                return self._redirect(piece)
            case SimpleCommand():
                return self._simple(piece)

    def _simple(self, simple: SimpleCommand) -> bool:
        assigned = all(self._add(_assignment(word)) for word in simple.assigns)
        return (
            assigned
            and all(self._add(print_word(word)) for word in simple.words)
            and all(map(self._redirect, simple.redirects))
        )

    def _redirect(self, redirect: Redirect) -> bool:
        operator = redirect.descriptor + redirect.op
        if redirect.duplicates:
            return self._add(operator + redirect.target.text)
        if redirect.op in _HERE:
            delimiter = redirect.target.text
            if redirect.body is None or _DELIMITER.fullmatch(delimiter) is None:
                return False
            self.documents.append(f"{redirect.body}{delimiter}\n")
            return self._add(f"{redirect.descriptor}<<'{delimiter}'")
        target = print_word(redirect.target)
        if target is None or (redirect.op in COPIES and not _copied(target)):
            return False
        return self._add(operator + target)

    def _add(self, text: str | None) -> bool:
        if text is None:
            return False
        self.parts.append(text)
        return True

    def _line_end(self) -> None:
        self.parts.append("\n" + "".join(self.documents))
        self.documents.clear()


def _copied(target: str) -> bool:
    """Whether a target behind `>&` is read as it stands: a `-` closes, and bash expands the rest twice."""
    return not target.startswith("-") and _PLAIN.fullmatch(target.removeprefix("~/")) is not None


def _assignment(word: Word) -> str | None:
    """An assignment: its name is no part of what is quoted."""
    segments = word.segments
    name = _ASSIGNMENT.match(word.raw)
    if segments is None or name is None or segments[0].kind != "text":
        return None
    if not segments[0].text.startswith(name.group()):
        return None
    first = Segment("text", segments[0].text[name.end() :])
    rest = tuple(item for item in (first, *segments[1:]) if item.text)
    value = print_word(
        replace(
            word,
            segments=tuple(Segment("text", item.text) if item.kind == "pattern" else item for item in rest),
        )
    )
    return None if value is None else name.group() + ("" if value == "''" else value)
