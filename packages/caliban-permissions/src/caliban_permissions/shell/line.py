"""What the reader of shell commands gives: lines of simple commands, those of words and redirects."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_permissions.characters import excerpt

HOLE = "\x00"
"""Stands in a word for text that is known only when the command runs. Commands with NUL are refused."""


class Opacity(Struct, frozen=True):
    """A construct whose effect cannot be read off the text.

    `runs` is true where the construct may run any program, false where only an argument is unknown. `script`
    is the text of a command substitution. `value_only` holds where nothing but the text of a word is unknown:
    whatever the construct runs stands among the simple commands, and the line has a printed form.
    """

    what: str
    text: str = ""
    runs: bool = False
    script: str | None = None
    value_only: bool = False

    def __str__(self) -> str:
        return f"{self.what} {excerpt(self.text)}" if self.text else self.what


class Segment(Struct, frozen=True):
    """A piece of a word: what it stands for, and how it is printed.

    `text` is plain text, a pattern, or what an expansion is printed as; `name` is the variable of an
    expansion, `line` the parsed command of a substitution.
    """

    kind: Literal["text", "pattern", "home", "directory", "number", "variable", "substitution"]
    text: str
    quoted: bool = False
    name: str = ""
    line: ParsedLine | None = None


class Word(Struct, frozen=True):
    """One word: `text` after quotes are removed, `raw` as it was typed.

    `glob` is the word as a file-name pattern, with quoted wildcards escaped, when it has unquoted ones.
    `segments` are its pieces, `None` where no printed form has only one reading. With `at_home` the `~` that
    it begins with is the home and no name.
    """

    text: str
    raw: str
    start: int
    end: int
    quoted: bool = False
    glob: str | None = None
    opaque: tuple[Opacity, ...] = ()
    segments: tuple[Segment, ...] | None = None
    at_home: bool = False


COPIES = frozenset({">&", "<&"})
"""Redirects that copy a descriptor, or else name a file."""


class Redirect(Struct, frozen=True):
    """One redirection. `op` is the operator without its descriptor, `body` the lines of a here-document."""

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
        text = self.target.text
        return self.op in COPIES and (text == "-" or (text.isascii() and text.isdigit()))


class SimpleCommand(Struct, frozen=True):
    """One simple command: assignments, words and redirects, with what is opaque in it.

    `raw` is its text as typed, redirects and quotes included. `repeated` holds inside a loop: a command that
    stands after it may run before it.
    """

    words: tuple[Word, ...]
    assigns: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    raw: str
    opaque: tuple[Opacity, ...] = ()
    repeated: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return tuple(word.text for word in self.words)


Piece: TypeAlias = str | Word | Redirect | SimpleCommand
"""What a line is printed from, in order: operators and reserved words, words of a `for`, redirects of groups,
and simple commands as they were typed."""


class ParsedLine(Struct, frozen=True):
    """A whole command. `redirects` are those of groups; `opaque` holds the doubts about the structure.

    With doubts the simple commands are a guess. They are all that may run, those of substitutions included:
    one for each value where a word is the variable of a `for` or of an assignment of the line.
    """

    text: str
    simple_commands: tuple[SimpleCommand, ...]
    redirects: tuple[Redirect, ...] = ()
    opaque: tuple[Opacity, ...] = ()
    pieces: tuple[Piece, ...] = ()

    @property
    def clear(self) -> bool:
        """Whether the line says exactly what it runs."""
        return not self.opaque and not any(simple.opaque for simple in self.simple_commands)
