"""A shell command as subjects for rules: its leaves, the line as a whole, and the files it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from caliban_permissions.calls import EDIT_TOOLS, PathSubject
from caliban_permissions.compiled import CompiledRule
from caliban_permissions.delegation import Evidence, delegations
from caliban_permissions.delegation.git import ELSEWHERE
from caliban_permissions.delegation.row import WRITES, whole
from caliban_permissions.effects import read_candidates, shared_device, write_targets
from caliban_permissions.filenames import Directories, expand
from caliban_permissions.forms import Forms, command_forms
from caliban_permissions.glob import TextGlob
from caliban_permissions.paths import PathNames, Place, resolve
from caliban_permissions.pattern import Anywhere, Bare, Glob, Keys, Prefix
from caliban_permissions.shell import HOLE, Leaf, Line, Opacity, Redirect, loose_commands, parse_line
from caliban_permissions.shell.loose import dequoted

_BLANKS = re.compile(r"[ \t]+")
_WORD_START = re.compile(" ")
_FUSED = str.maketrans({" ": "\x01", "\t": "\x01", "\n": "\x01"})
_NETWORK = ("/dev/tcp/", "/dev/udp/")
_MAX_LEAVES = 256
_MAX_PATHS = 256
_MAX_BASES = 8


class View(NamedTuple):
    """A leaf as text for allow rules, with where each word starts in it."""

    text: str
    starts: tuple[int, ...]
    words: tuple[str, ...]

    def reaches(self, item: Evidence, *, canonical: bool) -> int:
        """How much of the text a rule must spell out to name the evidence."""
        return self.starts[item.word] + (item.size if canonical else len(self.words[item.word]))


class Command:
    """One shell command, read once, and everything rules may ask about it."""

    def __init__(self, text: str, place: Place, cwd: str) -> None:
        self.text = text
        self.place = place
        self.cwd = cwd
        self.line: Line = parse_line(text)
        self.directories = Directories()

    @cached_property
    def leaves(self) -> tuple[LeafSubject, ...]:
        """The leaves in order. A `cd` adds a directory in which later leaves may run."""
        found = []
        bases: tuple[str, ...] = (self.cwd,)
        known = True
        for leaf in self.line.leaves[:_MAX_LEAVES]:
            found.append(LeafSubject(self, leaf, bases, known))
            moves = leaf.argv[0] if leaf.argv else ""
            if moves in ("pushd", "popd") or (moves == "cd" and not _cd_target(leaf)):
                known = False
            elif moves == "cd" and known:
                bases = tuple(dict.fromkeys((*bases, *self._moved(leaf, bases))))
                known = len(bases) <= _MAX_BASES
        return tuple(found)

    @cached_property
    def opaque(self) -> tuple[Opacity, ...]:
        """Everything in the command whose effect cannot be read off its text."""
        found = [*self.line.opaque]
        for leaf in self.leaves:
            found += leaf.opaque
        if len(self.line.leaves) > _MAX_LEAVES:
            found.append(Opacity(f"more than {_MAX_LEAVES} commands", runs=True))
        found += (
            Opacity("network redirect", redirect.target.text, runs=True)
            for redirect in self.redirects
            if redirect.target.text.startswith(_NETWORK)
        )
        if not self.place.inside(self.cwd):
            found.append(Opacity("working directory outside the workspace", self.cwd))
        return tuple(found)

    @cached_property
    def redirects(self) -> tuple[Redirect, ...]:
        """All redirects, those of groups included."""
        own = (redirect for leaf in self.line.leaves for redirect in leaf.redirects)
        return (*own, *self.line.redirects)

    @cached_property
    def raw_texts(self) -> tuple[str, ...]:
        """The whole text as typed, without quotes, and cut into what a doubtful line may run."""
        texts = [_BLANKS.sub(" ", self.text), dequoted(self.text)]
        if not self.line.clear:
            texts += loose_commands(self.text)
            texts += (text + " " for forms in self.loose for text in forms.texts)
        return tuple(dict.fromkeys(texts))

    @cached_property
    def loose(self) -> tuple[Forms, ...]:
        """The forms of every candidate command of a doubtful line, inner commands included."""
        return tuple(
            command_forms(tuple(text.split(" ")), self.cwd, self.place.home)
            for text in loose_commands(self.text)[:_MAX_LEAVES]
        )

    def may_match(self, rule: CompiledRule) -> bool:
        """Whether the command, which is not clear, may do what the rule is about when it runs."""
        if rule.bare or any(opacity.runs for opacity in self.opaque):
            return True
        forms = (*(leaf.forms for leaf in self.leaves), *self.loose)
        if any(found.overflow for found in forms):
            return True
        texts = (text for found in forms for text in found.texts)
        anywhere = isinstance(rule.pattern.argument, Anywhere)
        return any(_may_begin(rule, text, anywhere=anywhere) for text in texts)

    def _moved(self, leaf: Leaf, bases: tuple[str, ...]) -> Iterator[str]:
        target = _cd_target(leaf)
        for base in bases:
            yield from resolve(target, self.place, base).canonicals


class LeafSubject:
    """One simple command. `bases` are the directories it may run in, as far as they are `known`."""

    tools = ("Bash",)

    def __init__(self, command: Command, leaf: Leaf, bases: tuple[str, ...], known: bool) -> None:
        self.command = command
        self.leaf = leaf
        self.bases = bases
        self.known = known

    def covered_by(self, rule: CompiledRule) -> bool:
        argument = rule.pattern.argument
        if rule.spells_out(self.command.text):
            return True
        if rule.pattern.problem is not None:
            return False
        if isinstance(argument, Bare):
            return True
        return not self.command.opaque and self.textually_covered_by(rule) and not self.unnamed(rule)

    def textually_covered_by(self, rule: CompiledRule) -> bool:
        """Whether the words match, whatever they may hide."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case Anywhere():
                return any(glob.occurs_in(view.text) for glob in rule.command_globs for view in self.views)
            case Keys():
                return all(path == ("command",) for path, _ in rule.keys) and self._matching(rule) is not None
            case Glob() | Prefix():
                return self._matching(rule) is not None

    def unnamed(self, rule: CompiledRule) -> tuple[Evidence, ...]:
        """What the leaf does beyond the text that the rule spells out."""
        found = self._matching(rule)
        if found is None or isinstance(rule.pattern.argument, Anywhere):
            return self.evidence
        glob, view = found
        if glob.exact and rule.literal is not None:
            return ()
        canonical = view is self.views[0]
        reach = len(glob.prefix)
        return tuple(item for item in self.evidence if view.reaches(item, canonical=canonical) > reach)

    def touched_by(self, rule: CompiledRule) -> bool:
        if rule.pattern.problem is not None:
            return False
        texts = (*self.forms.texts, *self.raw_texts)
        match rule.pattern.argument:
            case Bare():
                return True
            case Anywhere():
                texts = (*(text + " " for text in self.forms.texts), *self.raw_texts)
                return any(glob.occurs_in(text) for glob in rule.wide_globs for text in texts)
            case _:
                return any(glob.matches(text) for glob in rule.wide_globs for text in texts)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The canonical text, then the text as typed when it differs."""
        canonical = tuple(word.text.translate(_FUSED) for word in self.leaf.words)
        typed = tuple(word.raw for word in self.leaf.words)
        return (_view(canonical),) if typed == canonical else (_view(canonical), _view(typed))

    @cached_property
    def raw_texts(self) -> tuple[str, ...]:
        """The leaf as typed, redirects included, and without its quotes."""
        return (_BLANKS.sub(" ", self.leaf.raw), dequoted(self.leaf.raw))

    @cached_property
    def forms(self) -> Forms:
        """Every command that the leaf is or may run, as text for deny and ask rules."""
        return command_forms(self.leaf.argv, self.bases[0], self.command.place.home, self.leaf.redirects)

    @cached_property
    def expanded(self) -> tuple[tuple[int, str], ...] | None:
        """The arguments after file-name expansion, each with the word it came from; `None` if unknown."""
        found: list[tuple[int, str]] = []
        for index, word in enumerate(self.leaf.words):
            if word.glob is None:
                found.append((index, word.text))
                continue
            for base in self.bases:
                names = expand(word.glob, base, self.command.directories) if self.known else None
                if names is None:
                    return None
                found += ((index, name) for name in names)
        return tuple(found)

    @cached_property
    def opaque(self) -> tuple[Opacity, ...]:
        """The doubts about the leaf: those of its text, and those that the directories raise."""
        found = list(self.leaf.opaque)
        if self.expanded is None:
            found.append(Opacity("wildcard that cannot be looked up", self.leaf.raw))
        else:
            found += (
                Opacity("file name that reads as an option", name)
                for index, name in self.expanded
                if name.startswith("-") and self.leaf.words[index].glob is not None
            )
        away = next((base for base in self.bases[1:] if not self.command.place.inside(base)), None)
        if away is not None and self.leaf.argv[:1] != ("cd",):
            found.append(Opacity("change to a directory outside the workspace", away))
        return tuple(found)

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the leaf does that its program's name does not say, in terms of its own words."""
        expanded = self.expanded
        if not self.leaf.words or expanded is None:
            return ()
        argv = tuple(text for _, text in expanded)
        place = self.command.place
        found = []
        for item in (*delegations(argv), *self._outside(argv)):
            index = expanded[item.word][0]
            globbed = self.leaf.words[index].glob is not None
            size = max(item.size, len(self.leaf.words[index].text)) if globbed else item.size
            if item.why != ELSEWHERE or resolve(item.text, place, self.bases[0]).canonicals != (
                place.workspace,
            ):
                found.append(Evidence(index, size, item.why, item.text))
        return tuple(found)

    def reads(self) -> Iterator[PathSubject]:
        """The files that the leaf may read, by its arguments and its input redirects."""
        candidates: dict[str, None] = {}
        argv = tuple(text for _, text in self.expanded or ()) or self.leaf.argv
        if argv:
            candidates.update(dict.fromkeys(read_candidates(argv)))
        candidates.update((item.target.text, None) for item in self.leaf.redirects if item.op in ("<", "<>"))
        for number, candidate in enumerate(candidates):
            names = self._names(candidate)
            if number < _MAX_PATHS and not names.refused:
                yield PathSubject(("Read",), names)

    def written(self) -> Iterator[PathSubject]:
        """The files that a known command writes by its arguments."""
        if not self.leaf.words:
            return
        argv = tuple(text for _, text in self.expanded or ()) or self.leaf.argv
        for number, (_, target) in enumerate(write_targets(argv)):
            if number < _MAX_PATHS:
                yield PathSubject(EDIT_TOOLS, self._names(target))

    def redirected(self) -> Iterator[PathSubject]:
        """The files that the leaf's redirects write."""
        for redirect in self.leaf.redirects:
            if redirect.writes and not shared_device(redirect.target.text):
                yield PathSubject(EDIT_TOOLS, self._names(redirect.target.text))

    def _names(self, text: str) -> PathNames:
        if HOLE in text:
            return PathNames(text.replace(HOLE, "?"), uncertain="its name is known only when it runs")
        found = [resolve(text, self.command.place, base) for base in self.bases]
        names = found[0]
        for other in found[1:]:
            names = names._replace(
                names=tuple(dict.fromkeys((*names.names, *other.names))),
                canonicals=tuple(dict.fromkeys((*names.canonicals, *other.canonicals))),
            )
        if not self.known and not text.startswith("/"):
            names = names._replace(uncertain="the directory that it is relative to is not known")
        return names

    def _outside(self, argv: tuple[str, ...]) -> Iterator[Evidence]:
        for number, (index, target) in enumerate(write_targets(argv)):
            if number == _MAX_PATHS:
                yield whole(argv, len(argv) - 1, WRITES)
                return
            names = self._names(target)
            if any(not self.command.place.inside(canonical) for canonical in names.canonicals):
                yield whole(argv, index, WRITES + " outside the workspace")

    def _matching(self, rule: CompiledRule) -> tuple[TextGlob, View] | None:
        """The glob and the view that match and leave the least unnamed."""
        found = [
            (glob, view) for view in self.views for glob in rule.command_globs if glob.matches(view.text)
        ]
        return max(found, key=lambda pair: (pair[0].exact, len(pair[0].prefix)), default=None)


class LineSubject:
    """The whole command: for rules whose pattern spans commands, and for what no leaf shows."""

    tools = ("Bash",)

    def __init__(self, command: Command) -> None:
        self.command = command

    def covered_by(self, rule: CompiledRule) -> bool:
        return rule.bare or rule.spells_out(self.command.text)

    def touched_by(self, rule: CompiledRule) -> bool:
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case Anywhere():
                return any(
                    glob.occurs_in(text) for glob in rule.wide_globs for text in self.command.raw_texts
                )
            case _:
                return any(glob.matches(text) for glob in rule.wide_globs for text in self.command.raw_texts)


def _view(words: tuple[str, ...]) -> View:
    starts, position = [], 0
    for word in words:
        starts.append(position)
        position += len(word) + 1
    return View(" ".join(words), tuple(starts), words)


def _cd_target(leaf: Leaf) -> str:
    """The literal directory of a `cd`; empty when it has none or several readings."""
    operands = [word for word in leaf.argv[1:] if word not in ("-P", "-L", "--", "-e", "-@")]
    plain = len(operands) == 1 and operands[0] not in ("-", "") and not leaf.opaque
    return operands[0] if plain and leaf.words[-1].glob is None else ""


def _may_begin(rule: CompiledRule, text: str, *, anywhere: bool) -> bool:
    """Whether a text with holes, filled in some way, could match."""
    head, hole, _ = text.partition(HOLE)
    if not hole:
        return False
    if rule.may_begin(head, 0):
        return not anywhere or bool(head)
    return anywhere and any(
        rule.may_begin(head, found.end()) for found in _WORD_START.finditer(head) if found.end() < len(head)
    )
