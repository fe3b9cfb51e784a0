"""What the reader of shell commands gives: lines of simple commands, those of words and redirects."""

from __future__ import annotations

from typing import NamedTuple

HOLE = "\x00"
"""Stands in a word for text that is known only when the command runs. Commands with NUL are refused."""

_EXCERPT_CHARS = 40


class Opacity(NamedTuple):
    """A construct whose effect cannot be read off the text.

    `runs` is true where the construct may run any program, false where only an argument is unknown. `script`
    is the text of a command substitution.
    """

    what: str
    text: str = ""
    runs: bool = False
    script: str | None = None

    def __str__(self) -> str:
        return f"{self.what} {excerpt(self.text)}" if self.text else self.what


class Word(NamedTuple):
    """One word: `text` after quotes are removed, `raw` as it was typed.

    `glob` is the word as a file-name pattern, with quoted wildcards escaped, when it has unquoted ones.
    """

    text: str
    raw: str
    start: int
    end: int
    quoted: bool = False
    glob: str | None = None
    opaque: tuple[Opacity, ...] = ()


class Redirect(NamedTuple):
    """One redirection. `op` is the operator without its descriptor, `body` the text of a here-document."""

    op: str
    target: Word
    descriptor: str = ""
    body: str | None = None

    @property
    def writes(self) -> bool:
        """Whether it may create or change a file."""
        if self.op in (">", ">>", ">|", "&>", "&>>", "<>"):
            return True
        return self.op == ">&" and not self.duplicates

    @property
    def duplicates(self) -> bool:
        """Whether it only copies or closes a descriptor."""
        return self.op in (">&", "<&") and self.target.text.rstrip("-").isdigit() | (self.target.text == "-")


class SimpleCommand(NamedTuple):
    """One simple command: assignments, words and redirects, with what is opaque in it.

    `raw` is its text as typed, redirects and quotes included.
    """

    words: tuple[Word, ...]
    assigns: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    raw: str
    opaque: tuple[Opacity, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return tuple(word.text for word in self.words)


class ParsedLine(NamedTuple):
    """A whole command. `redirects` are those of groups; `opaque` holds the doubts about the structure.

    With doubts the simple commands are a guess.
    """

    text: str
    simple_commands: tuple[SimpleCommand, ...]
    redirects: tuple[Redirect, ...] = ()
    opaque: tuple[Opacity, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the line says exactly what it runs."""
        return not self.opaque and not any(simple.opaque for simple in self.simple_commands)


def excerpt(text: str) -> str:
    """The text on one line and at most 40 characters long, hidden characters escaped."""
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= _EXCERPT_CHARS else shown[: _EXCERPT_CHARS - 3] + "..."
