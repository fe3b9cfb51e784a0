"""Which simple commands of a line only read inside the workspace, so that no rule need allow them."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from caliban_common.lazy import cached_property, lazy_pattern
from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.names import READER
from caliban_permissions.paths import PathNames
from caliban_permissions.readonly import LOOSE, Reads, Workspace, reads_of, why_not
from caliban_permissions.rules.chain import RuleChain
from caliban_permissions.shell import HOLE, Redirect, SimpleCommand, Word
from caliban_permissions.shell.variables import INERT_VARIABLES
from caliban_permissions.subjects import PathSubject

_WILDCARD = lazy_pattern(r"(?<!\\)[*?\[]")
_ESCAPED = lazy_pattern(r"\\(.)")
ONLY_READS = "it only reads inside the workspace"

_CHANGING = frozenset(
    "eval source . let declare typeset local export readonly unset mapfile readarray compgen "
    "complete compopt "
    "trap getopts wait coproc fc history bind exec builtin enable set shopt alias unalias hash umask ulimit "
    "pushd popd dirs shift env".split()
)
"""Builtins after which names may mean other programs, or programs find another environment."""

_LOOKS = frozenset(
    "LS_COLORS LSCOLORS GREP_COLORS JQ_COLORS BLOCK_SIZE TIME_STYLE QUOTING_STYLE BC_LINE_LENGTH TREE_COLORS "
    "GIT_OPTIONAL_LOCKS DEBUG IFS".split()
)
"""Variables that say how programs show what they read. Others name files, or columns with secrets in them.

`IFS` is set for `read` alone: before another program the line is not clear.
"""


class ReadOnlyCommands:
    """The simple commands of a command that need no rule because they only read."""

    def __init__(self, command: ShellCommand, chain: RuleChain, now: datetime) -> None:
        self.command = command
        self.chain = chain
        self.now = now
        self._reads: dict[int, Reads | None] = {}

    def problem(self, simple: SimpleSubject) -> str | None:
        """Why the simple command is not let run without a rule; empty where nothing can be said."""
        if not self._settled or not simple.known:
            return ""
        if not simple.parsed.words:
            return None if simple.parsed.assigns and not simple.parsed.redirects else ""
        reads = self._reads_of(simple.parsed)
        if reads is None or not all(map(_is_inert, simple.parsed.assigns)):
            return ""
        if simple.planted:
            return "the program may be one of the workspace"
        inputs = [item for item in simple.parsed.redirects if item.op in ("<", "<>")]
        if any(item.op == "<>" for item in inputs):
            return ""
        files = tuple(item.target.text for item in (*inputs, *self.command.line.redirects) if item.op == "<")
        looked_through = self._looked_through(simple.parsed)
        if looked_through is None:
            return "what a wildcard looks through is not known"
        reads = replace(reads, files=(*reads.files, *files), places=(*reads.places, *looked_through))
        return why_not(reads, self._workspace(simple))

    def _looked_through(self, simple: SimpleCommand) -> tuple[str, ...] | None:
        """The directories whose names wildcards give away; `None` where one of them is not known."""
        of_loops = (piece for piece in self.command.line.pieces if isinstance(piece, Word))
        globs = [(word.glob, word.at_home) for word in (*simple.words, *of_loops) if word.glob is not None]
        folders = [_folder(glob, at_home=at_home) for glob, at_home in globs]
        return None if any(HOLE in folder for folder in folders) else tuple(dict.fromkeys(folders))

    @cached_property
    def _settled(self) -> bool:
        """Whether nothing in the line changes what its names mean, and only values are unknown."""
        line = self.command.line
        unknown = (item for item in self.command.opaque if not item.value_only)
        changed = (simple for simple in line.simple_commands if not _CHANGING.isdisjoint(_named(simple)))
        return next(unknown, None) is None and next(changed, None) is None

    @cached_property
    def _subjects(self) -> dict[int, SimpleSubject]:
        return {id(subject.parsed): subject for subject in self.command.simple_commands}

    def _reads_of(self, simple: SimpleCommand) -> Reads | None:
        key = id(simple)
        if key not in self._reads:
            fed = self._feeder(simple)
            subject = self._subjects.get(key)
            argv = None if subject is None else tuple(_argv(subject))
            self._reads[key] = reads_of(argv, None if fed is None else self._reads_of(fed)) if argv else None
        return self._reads[key]

    def _feeder(self, simple: SimpleCommand) -> SimpleCommand | None:
        """The simple command whose output it reads."""
        pieces = self.command.line.pieces
        for at in range(2, len(pieces)):
            if pieces[at] is simple and pieces[at - 1] == "|":
                feeder = pieces[at - 2]
                # What else goes into the pipe, or comes out of a file instead of it, is no name of a file.
                if isinstance(feeder, SimpleCommand) and all(map(_is_apart, feeder.redirects)):
                    return None if any(item.op[:1] == "<" for item in simple.redirects) else feeder
                return None
        return None

    def _workspace(self, simple: SimpleSubject) -> Workspace:
        return Workspace(self.command.place, simple.names_of, self._verdict, self.chain.guards_reads)

    def _verdict(self, names: PathNames) -> bool | None:
        """What people's rules for Read say to a file; `None` where they say nothing."""
        ruling = self.chain.decide(PathSubject((READER,), names), self.now)
        return ruling.action == "allow" if ruling.explicit else None


def _named(simple: SimpleCommand) -> tuple[str, ...]:
    """The words of which one may be the builtin that runs."""
    return simple.argv if simple.argv[:1] == ("command",) else simple.argv[:1]


def _is_apart(redirect: Redirect) -> bool:
    """Whether a redirect leaves standard output alone, and puts nothing beside it."""
    return redirect.descriptor == "2" and redirect.op in (">", ">>")


def _is_inert(assignment: Word) -> bool:
    """Whether a variable set for one program says at most how it shows what it reads."""
    name, _, value = assignment.text.partition("=")
    name = name.removesuffix("+")
    if name.endswith("PAGER") and value == "cat":
        return True
    return name in INERT_VARIABLES or name in _LOOKS or name.islower()


def _folder(glob: str, *, at_home: bool) -> str:
    """The directory that a pattern of file names begins in: what stands before its first wildcard."""
    plain = _WILDCARD.split(glob, maxsplit=1)[0]
    folder, slash, _ = plain.rpartition("/")
    folder = _ESCAPED.sub(r"\1", folder) or (slash or ".")
    return folder if at_home or not folder.startswith("~") else f"./{folder}"


def _argv(subject: SimpleSubject) -> Iterator[str]:
    """The words after file-name expansion, with what is not known of them."""
    words = subject.parsed.words
    if subject.expanded is None:
        yield LOOSE
        return
    for index, text in subject.expanded:
        word = words[index]
        split = word.segments is None or any(
            item.kind in ("variable", "substitution") and not item.quoted for item in word.segments
        )
        loose = HOLE in text and (split or word.glob is not None)
        yield text.replace(HOLE, LOOSE) if loose else text
