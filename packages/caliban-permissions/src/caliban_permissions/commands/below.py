"""What the commands of a line reach below directories and in repositories, judged by deny and ask rules."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.lazy import cached_property
from caliban_permissions.characters import excerpt
from caliban_permissions.commands.candidates import read_candidates
from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.effects import all_write_targets
from caliban_permissions.commands.files import option_values
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.commands.steering import feeders, keeps_repositories
from caliban_permissions.commands.touched import handed
from caliban_permissions.commands.wildcards import expand
from caliban_permissions.commands.wrappers import WRAPPERS, program
from caliban_permissions.judgement import HumanOnly, JudgedPart, PartKind
from caliban_permissions.names import EDITORS, READER
from caliban_permissions.paths import PathNames
from caliban_permissions.reach.guard import Guard
from caliban_permissions.reach.lists import FEEDS, inner_of, listed
from caliban_permissions.reach.reads import reaches_read
from caliban_permissions.reach.survey import TOO_MANY, Finding, Survey
from caliban_permissions.reach.value import UNKNOWN, Fed, Reach
from caliban_permissions.reach.writes import reaches_written
from caliban_permissions.rules.chain import RuleChain, Ruling
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.shell import HOLE, SimpleCommand
from caliban_permissions.subjects import PathSubject

_UNKNOWN = "the names of its files are known only when it runs"
_WILD = frozenset("*?[")
_MAX_NAMES = 200
_MAX_COMMANDS = 64


_Reaches: TypeAlias = Callable[[Sequence[str], Fed | None], Iterator[Reach]]


class _Kind(Struct, frozen=True):
    """Reading or writing: what the parts are called, and which files a command reaches."""

    part: PartKind
    verb: str
    guard: Guard
    reaches: _Reaches
    rules: tuple[CompiledRule, ...]


class Below:
    """One look at everything that a line reaches without naming it."""

    def __init__(self, command: ShellCommand, chain: RuleChain, now: datetime) -> None:
        self.command = command
        self.chain = chain
        self.now = now
        self.survey = Survey(command.place)

    def parts(self, *, exact: bool) -> Iterator[JudgedPart]:
        """The parts that are denied or asked about; none for doubts where a rule is the whole command."""
        for kind in self._kinds():
            judged: dict[tuple[str, bool], JudgedPart] = {}
            for part in self._found(kind):
                doubtful = bool(part.human_only)
                if not (doubtful and exact):
                    judged.setdefault((part.action, doubtful), part)
                if part.action == "deny":
                    break
            yield from judged.values()

    def _kinds(self) -> Iterator[_Kind]:
        kinds: tuple[tuple[tuple[str, ...], PartKind, str, _Reaches], ...] = (
            ((READER,), "read", "read", reaches_read),
            (EDITORS, "write", "change", reaches_written),
        )
        for tools, part, verb, reaches in kinds:
            rules = self.chain.guarding(tools)
            if rules:
                yield _Kind(part, verb, Guard(rules, tools, self._ruling), reaches, rules)

    def _ruling(self, subject: PathSubject) -> Ruling:
        return self.chain.decide(subject, self.now)

    def _found(self, kind: _Kind) -> Iterator[JudgedPart]:
        for simple in self.command.simple_commands:
            if (
                kind.part == "write"
                and simple.arguments
                and any(HOLE in name for name in all_write_targets(simple.arguments))
            ):
                yield self._doubt(kind, simple.arguments, _UNKNOWN, kind.rules[0])
            if kind.part == "write":
                yield from self._handed(kind, simple)
            for argv, fed, place in self._commands(simple):
                if argv is not simple.arguments and len(argv) > 1:
                    yield from self._named(kind, simple, argv, place)
                settled = self._settled(simple)
                for reach in kind.reaches(argv, fed):
                    held = settled or not reach.held
                    for each in (reach,) if held else _unsettled(reach, ignored=self._forces):
                        yield from self._reached(kind, simple, (argv, place), each)

    def _settled(self, simple: SimpleSubject) -> bool:
        """Whether a repository is for a command what it is now: nothing else in the line may change it."""
        commands = self.command.simple_commands
        alone = len(simple.forms.inner) <= 1 and not self.command.doubtful
        words = (*simple.arguments, *(word.text for word in simple.parsed.assigns))
        alone = alone and not any(word.startswith("GIT_") for word in words)
        parallel = simple.parsed.repeated or any(
            piece in ("|", "|&", "&") for piece in self.command.line.pieces
        )
        others = [other for other in commands if other is not simple]
        before = others if parallel else commands[: commands.index(simple)]
        return alone and all(map(_keeps_repositories, before))

    @cached_property
    def _forces(self) -> bool:
        """Whether the line may bring what ignore files name into a repository."""
        return any(_forces(simple.arguments) for simple in self.command.simple_commands)

    def _named(
        self, kind: _Kind, simple: SimpleSubject, argv: tuple[str, ...], place: str
    ) -> Iterator[JudgedPart]:
        """The files that an inner command names by its wildcards."""
        candidates = read_candidates(argv) if kind.part == "read" else all_write_targets(argv)
        for name in islice(candidates, _MAX_NAMES) if simple.hidden else ():
            yield from self._ruled(kind, simple, name, place)

    def _ruled(self, kind: _Kind, simple: SimpleSubject, name: str, place: str) -> Iterator[JudgedPart]:
        names = self._names(simple, name, place)
        if names.refused is None and HOLE not in name:
            subject = PathSubject(kind.guard.tools, names)
            ruling = self._ruling(subject)
            if ruling.explicit and ruling.action != "allow":
                yield JudgedPart(kind.part, self._shown(name), ruling.action, ruling, subject=subject)

    def _handed(self, kind: _Kind, simple: SimpleSubject) -> Iterator[JudgedPart]:
        """The files that `xargs` has a program change whose names the line itself hands to it."""
        if not simple.arguments or program(simple.arguments[0]) not in FEEDS:
            return
        commands = [each for each in self.command.line.simple_commands if each.argv]
        for name in islice(handed(commands, (simple.parsed,)), _MAX_NAMES):
            for inner in inner_of(simple.arguments):
                for target in all_write_targets(tuple(word.replace(HOLE, name) for word in inner)):
                    yield from self._ruled(kind, simple, target, "")

    def _reached(
        self, kind: _Kind, simple: SimpleSubject, command: tuple[Sequence[str], str], reach: Reach
    ) -> Iterator[JudgedPart]:
        argv, place = command
        if not reach.root:
            yield self._doubt(kind, argv, _UNKNOWN, kind.rules[0])
            return
        if reach.there and not self._is_there(simple, reach.there, place):
            return
        if reach.gone and self._is_there(simple, reach.gone, place):
            return
        root = self._names(simple, reach.root, place)
        if root.refused is not None or HOLE in reach.root:
            return
        for finding in self._findings(kind, simple, place, (reach, root)):
            if finding.subject is None or finding.ruling is None or finding.ruling.rule is None:
                yield self._doubt(kind, argv, f"`{excerpt(reach.root)}`: {TOO_MANY}", kind.rules[0])
                continue
            shown = self._shown(finding.subject.names.given)
            if finding.certain:
                note = f"`{program(argv[0])}` takes in what is below `{excerpt(reach.root)}`"
                ruling = finding.ruling
                yield JudgedPart(kind.part, shown, ruling.action, ruling, (note,), (), finding.subject)
            else:
                yield self._doubt(kind, argv, f"`{excerpt(shown)}` is there", finding.ruling.rule)

    def _findings(
        self, kind: _Kind, simple: SimpleSubject, place: str, reached: tuple[Reach, PathNames]
    ) -> Iterator[Finding]:
        reach, root = reached
        if reach.patch:
            return self.survey.find_patched(reach, kind.guard, root, self._names(simple, reach.patch, place))
        onto = self._names(simple, reach.onto, place) if reach.onto else None
        return self.survey.find(reach, kind.guard, root, onto)

    def _doubt(self, kind: _Kind, argv: Sequence[str], why: str, rule: CompiledRule) -> JudgedPart:
        """What may be what a rule means is asked about, whichever of the two it says."""
        about = "denies" if rule.action == "deny" else "asks about"
        text = f"it may {kind.verb} what the rule {rule.rule.pattern} {about}: {why}"
        free = Ruling("allow", None, len(self.chain.all))
        return JudgedPart(kind.part, program(argv[0]), "ask", free, (text,), (HumanOnly("may match", text),))

    def _names(self, simple: SimpleSubject, text: str, place: str) -> PathNames:
        text = posixpath.join(place, text) if place else text
        if simple.known and self._moved and simple.bases[1:] == self._moved and text[:1] not in ("/", "~"):
            text = posixpath.join(self._moved[0], text)
        return simple.names_of(text)

    @cached_property
    def _moved(self) -> tuple[str, ...]:
        """The directory that is there and that the line begins by changing to; none where it may stay."""
        pieces = self.command.line.pieces
        first = pieces[0] if pieces else None
        begins = isinstance(first, SimpleCommand) and first.argv[:1] == ("cd",) and not first.repeated
        if not begins or pieces[1:2] not in (("&&",), (";",), ("\n",)):
            return ()
        last = self.command.simple_commands[-1]
        return last.bases[1:] if len(last.bases) == 2 and os.path.isdir(last.bases[1]) else ()  # noqa: PTH112

    def _is_there(self, simple: SimpleSubject, text: str, place: str) -> bool:
        return any(map(os.path.lexists, self._names(simple, text, place).canonicals))

    def _shown(self, path: str) -> str:
        return path.removeprefix(self.command.place.workspace + "/")

    def _commands(self, simple: SimpleSubject) -> Iterator[tuple[tuple[str, ...], Fed | None, str]]:
        """Every command that a simple command is or runs, what it is fed, and where else it runs."""
        if not simple.arguments:
            return
        fed = self._fed(simple.parsed)
        yield simple.arguments + self._given(simple), fed, ""
        places = ("", *self._places(simple))
        forms = [argv for argv in simple.forms.commands if argv and argv != simple.parsed.argv]
        forms = forms[:_MAX_COMMANDS]
        for argv in forms:
            lists = [printed.reaches for other in forms if (printed := listed(other, None)).reaches]
            inner = Fed(tuple(reach for reaches in lists for reach in reaches)) if lists else fed
            for place in places:
                yield self._expanded(argv, simple, place), inner, place

    def _given(self, simple: SimpleSubject) -> tuple[str, ...]:
        """The file that a command takes its patch from, as an argument of it."""
        files = tuple(item.target.text for item in simple.parsed.redirects if item.op == "<")[-1:]
        option = {"patch": ("-i",), "git": ()}.get(program(simple.arguments[0]))
        return () if option is None or not files else (*option, *files)

    def _expanded(self, argv: tuple[str, ...], simple: SimpleSubject, place: str) -> tuple[str, ...]:
        """The arguments of an inner command with its wildcards looked up, as far as that can be done."""
        if not any(_WILD.intersection(word) for word in argv[1:]):
            return argv
        words: list[str] = [argv[0]]
        for word in argv[1:]:
            names = None
            if not _WILD.isdisjoint(word) and HOLE not in word:
                names = expand(word, posixpath.join(simple.bases[-1], place), self.command.directories)
            words += (word,) if names is None else names
        return tuple(words)

    def _places(self, simple: SimpleSubject) -> Iterator[str]:
        """The directories that scripts in a command change to, or that a wrapper runs it in."""
        for inner in simple.forms.inner:
            if inner.argv[:1] == ("cd",):
                yield from inner.argv[1:2]
        if program(simple.arguments[0]) in WRAPPERS:
            yield from (value for _, value in option_values(simple.arguments, "-C", ("--chdir",)))

    @cached_property
    def _subjects(self) -> dict[int, SimpleSubject]:
        return {id(subject.parsed): subject for subject in self.command.simple_commands}

    def _fed(self, simple: SimpleCommand) -> Fed | None:
        """The files whose names the commands in front of it in the pipe print."""
        chain = [*feeders(self.command.line.pieces, simple)]
        simple = chain[-1] if chain else simple
        fed = UNKNOWN if any(item.op == "<" for item in simple.redirects) else None
        for feeder in reversed(chain):
            own = self._subjects[id(feeder)].arguments if id(feeder) in self._subjects else feeder.argv
            fed = listed(own, fed) if own else None
        return fed


def _keeps_repositories(simple: SimpleSubject) -> bool:
    looks = program(simple.arguments[0]) == "git" if simple.arguments else True
    return keeps_repositories(simple.arguments) and (looks or not simple.forms.inner)


def _forces(argv: tuple[str, ...]) -> bool:
    if any("ignore" in word or "exclude" in word for word in argv):
        return True
    words = set(argv[1:]) if argv and program(argv[0]) == "git" else set()
    if "update-index" in words:
        return True
    if words.isdisjoint(("add", "stash")):
        return False
    letter, long = ("a", "--all") if "stash" in words else ("f", "--force")
    return any(
        letter in word if word[:1] == "-" != word[1:2] else len(word) > 2 and long.startswith(word)
        for word in words
    )


def _unsettled(reach: Reach, *, ignored: bool) -> Iterator[Reach]:
    """What is meant of a repository that another command of the line may have changed."""
    yield replace(reach, revision="", certain=reach.certain and not reach.revision)
    if reach.held != "untracked":
        yield replace(reach, revision="", held="untracked", ignored=ignored, certain=False)
