"""One simple command of a shell command, as a subject for rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from caliban_common.lazy import cached_property, lazy_pattern
from caliban_permissions.commands.candidates import read_candidates
from caliban_permissions.commands.choosing import chosen
from caliban_permissions.commands.code import touched_in_code
from caliban_permissions.commands.context import CommandContext
from caliban_permissions.commands.effects import all_write_targets, patched, possible_targets
from caliban_permissions.commands.files import shared_device
from caliban_permissions.commands.forms import Forms, simple_forms, with_input
from caliban_permissions.commands.installed import planted
from caliban_permissions.commands.local import local_evidence, planted_at, stays_inside
from caliban_permissions.commands.option_rules import means_options
from caliban_permissions.commands.scripts import with_written
from caliban_permissions.commands.texts import texts
from caliban_permissions.commands.touched import (
    READING,
    like_an_option,
    named_in_code,
    read_inside,
    readings,
    written_inside,
)
from caliban_permissions.commands.unknown import names_after, only_values
from caliban_permissions.commands.view import View, view_of
from caliban_permissions.commands.wildcards import names_its_option, word_names
from caliban_permissions.commands.wrappers import HANDS_ON, SHELLS, WRAPPERS, program
from caliban_permissions.names import EDITORS, READER, SHELL_COMMAND
from caliban_permissions.paths import ANY_PATH, PathNames, resolve
from caliban_permissions.readonly.repository import in_working_tree
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.glob import TextGlob
from caliban_permissions.rules.pattern import Anywhere, ArgumentGlob, Bare, KeyPairs, Prefix
from caliban_permissions.shell import HOLE, Opacity, Redirect, SimpleCommand, Word
from caliban_permissions.shell.loose import dequoted
from caliban_permissions.side_effects import Evidence, side_effects
from caliban_permissions.side_effects.git import ELSEWHERE
from caliban_permissions.subjects import PathSubject

_BLANKS = lazy_pattern(r"[ \t]+")
_FUSED = str.maketrans({" ": "\x01", "\t": "\x01", "\n": "\x01"})
_MAX_PATHS = 64


class SimpleSubject:
    """One simple command. `bases` are the directories it may run in, as far as they are `known`.

    Those that the shell may have `been` in are among them or were left before.
    """

    def __init__(
        self,
        command: CommandContext,
        simple: SimpleCommand,
        bases: tuple[str, ...],
        known: bool,
        been: tuple[str, ...] = (),
    ) -> None:
        self.tools: tuple[str, ...] = command.tools
        self.command = command
        self.parsed = simple
        self.bases = bases
        self.known = known
        self.been = been
        self.lost = False

    def covered_by(self, rule: CompiledRule) -> bool:
        """Whether an allow rule covers the command; within an opaque one only a rule that spells it out."""
        argument = rule.pattern.argument
        if rule.spells_out(self.command.text):
            return True
        if rule.pattern.problem is not None:
            return False
        if isinstance(argument, Bare):
            return True
        settled = not self.command.obscure and self.only_values
        return settled and self.textually_covered_by(rule) and not self.unnamed(rule)

    def textually_covered_by(self, rule: CompiledRule) -> bool:
        """Whether the words match, whatever they may hide."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case Anywhere():
                return rule.start_glob.matches(self.views[0].text)
            case KeyPairs():
                return (
                    all(path == (SHELL_COMMAND,) for path, _ in rule.keys)
                    and self._matching(rule) is not None
                )
            case ArgumentGlob() | Prefix():
                return self._matching(rule) is not None

    def unnamed(self, rule: CompiledRule) -> tuple[Evidence, ...]:
        """What the simple command does beyond the text that the rule spells out."""
        best = self._matching(rule)
        if best is None or isinstance(rule.pattern.argument, Anywhere):
            return self.evidence
        glob, view = best
        if glob.exact and rule.literal is not None:
            return ()
        canonical = view is self.views[0]
        reach = len(glob.prefix)
        return tuple(item for item in self.evidence if view.reaches(item, canonical=canonical) > reach)

    def touched_by(self, rule: CompiledRule) -> bool:
        """Whether a deny or ask rule means any form of the simple command."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case _ if touched_in_code(rule, self.forms.code):
                return True
            case Anywhere():
                return any(
                    glob.occurs_in(text)
                    for glob in rule.wide_globs
                    if glob.may_match_in(self.all_texts)
                    for text in self._texts_with_ends
                )
            case _:
                return any(
                    glob.matches(text)
                    for glob in rule.wide_globs
                    if glob.may_match_in(self.all_texts)
                    for text in self._texts
                ) or means_options(rule, self.forms.commands, self.forms.code)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.forms.texts, *self.raw_texts)))

    @cached_property
    def _texts_with_ends(self) -> tuple[str, ...]:
        """The texts, those of commands with the blank that ends their last word."""
        return tuple(dict.fromkeys((*(text + " " for text in self.forms.texts), *self.raw_texts)))

    @cached_property
    def all_texts(self) -> str:
        """Whatever a rule could match stands in it: to look once is quicker than in every text."""
        return "\n".join(self._texts_with_ends)

    @cached_property
    def views(self) -> tuple[View, ...]:
        """The canonical text, then the text as typed when it differs."""
        canonical = tuple(word.text.translate(_FUSED) for word in self.parsed.words)
        typed = tuple(word.raw for word in self.parsed.words)
        return (view_of(canonical),) if typed == canonical else (view_of(canonical), view_of(typed))

    @cached_property
    def raw_texts(self) -> tuple[str, ...]:
        """The simple command as typed, redirects included, and without its quotes."""
        return (_BLANKS.sub(" ", self.parsed.raw), dequoted(self.parsed.raw))

    @cached_property
    def forms(self) -> Forms:
        """Every command that the simple command is or may run, as text for deny and ask rules."""
        forms = simple_forms(self.parsed, self.bases[0], self.command.place.home, self.command.text)
        forms = with_written(forms, self.parsed.argv, self.command.written)
        given = self.command.given(self.parsed) if self.parsed.argv else None
        if given is None:
            return forms
        return with_input(forms, self.parsed.argv, given, self.bases[0], self.command.place.home)

    @cached_property
    def expanded(self) -> tuple[tuple[int, str], ...] | None:
        """The arguments after file-name expansion, each with the word it came from; `None` if unknown."""
        words: list[tuple[int, str]] = []
        for index, word in enumerate(self.parsed.words):
            names = self._names(word)
            if names is None:
                return None
            words += ((index, name) for name in names)
        return tuple(words)

    def _names(self, word: Word) -> tuple[str, ...] | None:
        """The words that a word becomes; `None` when it cannot be said."""
        if word.glob is not None and not (self.known or word.at_home or word.glob.startswith("/")):
            return None
        return word_names(word, self.bases, self.command.place.home, self.command.directories)

    def targets(self, redirect: Redirect) -> tuple[str, ...]:
        """The files that a redirect may mean, wildcards looked up as bash does."""
        names = self._names(redirect.target)
        return (HOLE,) if names is None else names

    @cached_property
    def opaque(self) -> tuple[Opacity, ...]:
        """The doubts about the simple command: those of its text, and those that the directories raise."""
        doubts = list(self.parsed.opaque)
        if self.expanded is None:
            doubts.append(Opacity("wildcard that cannot be looked up", self.parsed.raw))
        else:
            doubts += (
                Opacity("file name that reads as an option", name)
                for index, name in self.expanded
                if name.startswith("-")
                and self.parsed.words[index].glob is not None
                and not names_its_option(self.parsed.words[index].text)
                and index < names_after(self.parsed.argv)
            )
        doubts += (
            Opacity("file name that reads as an option", redirect.target.text)
            for redirect in self.parsed.redirects
            if redirect.writes and like_an_option(redirect.target.text)
        )
        if not self.known and self.parsed.argv[:1] != ("cd",):
            doubts.append(Opacity("change to a directory that is not known"))
        elsewhere = (base for base in self.bases if base != self.command.cwd)
        away = next((base for base in elsewhere if not self.command.place.inside(base)), None)
        if away is not None and self.parsed.argv[:1] != ("cd",):
            doubts.append(Opacity("change to a directory outside the workspace", away))
        return tuple(doubts)

    @cached_property
    def only_values(self) -> bool:
        """Whether what is unknown of it is nothing but the value of arguments."""
        return not self.opaque or only_values(self.parsed.words)

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the simple command does that its program's name does not say, in terms of its own words."""
        expanded = self.expanded
        if not self.parsed.words or expanded is None:
            return ()
        argv = self.arguments
        items = []
        for item in (*side_effects(argv), *local_evidence(self, argv)):
            index = expanded[item.word][0]
            globbed = self.parsed.words[index].glob is not None
            size = max(item.size, len(self.parsed.words[index].text)) if globbed else item.size
            if item.why != ELSEWHERE or not stays_inside(self, item.text) or planted_at(self, item.text):
                items.append(Evidence(index, size, item.why, item.text))
        return tuple(items)

    @cached_property
    def planted(self) -> bool:
        """Whether a program that it names may be one that somebody put into the search path."""
        argv = self.arguments
        if not argv or not self.command.place.search_path:
            return False
        names = argv if program(argv[0]) in WRAPPERS else argv[:1]
        place = self.command.place
        return any("/" not in name and planted(name, place, self.bases) for name in names if name)

    def reads(self) -> Iterator[PathSubject]:
        """The files that the simple command may read, by its arguments and its input redirects."""
        plain = self.command.plain and not self.parsed.assigns and self.expanded is not None
        known = texts(self.arguments) if plain else frozenset()
        known |= self._chosen if plain and self.command.looks else frozenset()
        names = list(read_candidates(self.arguments, known)) if self.arguments else []
        for item in self.parsed.redirects:
            if item.op in READING:
                names += (item.target.text, *self.targets(item))
        if plain and self.arguments and program(self.arguments[0]) == "yq":
            # The one of the two by this name that is no jq takes a filter for a file where one is there.
            names = [name for name in names if any(map(os.path.lexists, self.names_of(name).canonicals))]
        forms = replace(self.forms, code=()) if known else self.forms
        names += read_inside([replace(forms, inner=self.hidden)])
        if self.arguments:
            names += (word.text.partition("=")[2] for word in self.parsed.assigns)
        yield from self._subjects(dict.fromkeys(filter(None, names)), (READER,))

    @property
    def hidden(self) -> tuple[SimpleCommand, ...]:
        """The inner commands without those of substitutions, which are commands of the line themselves."""
        if not self.command.plain:
            return self.forms.inner
        if self.parsed.argv and program(self.parsed.argv[0]) in SHELLS | WRAPPERS | HANDS_ON:
            return self.forms.inner
        return tuple(simple for simple in self.forms.inner if not self.command.holds(simple))

    @property
    def _chosen(self) -> frozenset[int]:
        return chosen(self.parsed, self.expanded or (), lambda: all(map(in_working_tree, self.bases)))

    def taken_in_by(self, name: str) -> str | None:
        """The wildcard that stands for a name, where one does."""
        words = ((self.parsed.words[at], text) for at, text in self.expanded or ())
        return next((word.raw for word, text in words if text == name and word.glob is not None), None)

    def written(self) -> Iterator[PathSubject]:
        """The files that a known command writes by its arguments."""
        names = list(all_write_targets(self.arguments)) if self.arguments else []
        yield from self._subjects(dict.fromkeys((*names, *written_inside([self.forms]))), EDITORS)

    def perhaps_written(self) -> Iterator[PathSubject]:
        """The files in the arguments of a command that may change them, for all that is known of it."""
        if self.arguments:
            yield from self._subjects(possible_targets(self.arguments), EDITORS)
        yield from self._subjects(named_in_code(self.forms), EDITORS)
        if "patch" in map(program, self.arguments):
            given = (item.body or item.target.text for item in self.parsed.redirects if item.op[:2] == "<<")
            yield from self._subjects((name for text in given for name in patched(text)), EDITORS)

    def redirected(self) -> Iterator[PathSubject]:
        """The files that the simple command's redirects write."""
        targets = (name for item in self.parsed.redirects if item.writes for name in self.targets(item))
        yield from self._subjects((target for target in targets if not shared_device(target)), EDITORS)

    def _subjects(self, paths: Iterable[str], tools: tuple[str, ...]) -> Iterator[PathSubject]:
        """A subject for each path; beyond a bound, one that may be any file."""
        if self.expanded is None:
            yield PathSubject(tools, ANY_PATH)
        led = (name for path in paths for name in (path, *self.command.linked(path)))
        for number, path in enumerate(led):
            if number == _MAX_PATHS:
                yield PathSubject(tools, ANY_PATH)
                return
            names = self.names_of(path)
            if names.refused is None:
                yield PathSubject(tools, names)
            elif tools[0] != READER:
                yield PathSubject(tools, PathNames(path, uncertain=names.refused))

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The arguments after file-name expansion, as far as it is known."""
        return self.parsed.argv if self.expanded is None else tuple(text for _, text in self.expanded)

    def names_of(self, text: str) -> PathNames:
        """The names of a path as the simple command means it."""
        if HOLE in text:
            return PathNames(text.replace(HOLE, "?"), uncertain="its name is known only when it runs")
        if self.lost and text[:1] not in ("/", "~"):
            return PathNames(text, uncertain="the shell has moved too often to be followed")
        place, home = self.command.place, self.command.place.home
        meanings = [
            resolve(each, place, base)
            for base in self.bases
            for each in readings(text, base, home, self.been)
        ]
        names = meanings[0]
        for other in meanings[1:]:
            names = replace(
                names,
                names=tuple(dict.fromkeys((*names.names, *other.names))),
                canonicals=tuple(dict.fromkeys((*names.canonicals, *other.canonicals))),
            )
        if not self.known and not text.startswith("/"):
            names = replace(names, uncertain="the directory that it is relative to is not known")
        return names

    def _matching(self, rule: CompiledRule) -> tuple[TextGlob, View] | None:
        """The glob and the view that match and leave the least unnamed."""
        matches = [
            (glob, view)
            for view in self.views
            for glob in rule.command_globs
            if view.text.startswith(glob.prefix) and glob.matches(view.text)
        ]
        return max(matches, key=lambda pair: (pair[0].exact, len(pair[0].prefix)), default=None)
