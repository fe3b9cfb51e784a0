"""A shell command as subjects for rules: its simple commands, the line as a whole, and the files it names."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from caliban_common.lazy import cached_property, lazy_pattern
from caliban_permissions.commands.forms import Forms, doubt_forms, text_forms
from caliban_permissions.commands.moves import WorkingDirectory, moves, runs_here
from caliban_permissions.commands.option_rules import means_options
from caliban_permissions.commands.scripts import Written, text_said, written_files
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.commands.steering import feeders, keeps_repositories, links_of, steers
from caliban_permissions.commands.suggest import simple_patterns
from caliban_permissions.commands.wildcards import Directories
from caliban_permissions.paths import PathContext
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.glob import TextGlob
from caliban_permissions.rules.pattern import Anywhere, Bare
from caliban_permissions.shell import (
    HOLE,
    Opacity,
    ParsedLine,
    Redirect,
    SimpleCommand,
    loose_commands,
    print_line,
    read_line,
)
from caliban_permissions.shell.loose import dequoted, loose_scripts

_BLANKS = lazy_pattern(r"[ \t]+")
_WORD_START = lazy_pattern(" ")
_NETWORK = ("/dev/tcp/", "/dev/udp/")
_MAX_COMMANDS = 128
_MAX_SCRIPTS = 64
_AND_THEN = frozenset(("&&", "|", "|&"))
"""What joins commands of which none runs where the first one failed."""


class ShellCommand:
    """One shell command, read once, and everything rules may ask about it.

    `tools` are the names under which rules may speak of it, `been` the directories of the shell that runs it.
    """

    def __init__(
        self, text: str, place: PathContext, cwd: str, tools: tuple[str, ...], been: tuple[str, ...] = ()
    ) -> None:
        self.text = text
        self.tools = tools
        self.place = place
        self.cwd = cwd
        self.line: ParsedLine = read_line(text)
        self.directories: Directories = Directories()
        self._been = been

    @property
    def simple_commands(self) -> tuple[SimpleSubject, ...]:
        """The simple commands in order.

        A `cd` adds a directory in which later simple commands may run; one that the line begins with, and on
        which all else in it depends, says where they run.
        """
        return self._followed[0]

    @property
    def been(self) -> tuple[str, ...]:
        """The directories that the shell may be in at the end, or has been in."""
        return self._followed[1]

    @cached_property
    def _followed(self) -> tuple[tuple[SimpleSubject, ...], tuple[str, ...]]:
        subjects = []
        commands = self.line.simple_commands[:_MAX_COMMANDS]
        where = WorkingDirectory(self.place, self.cwd, self._been, self.directories)
        where.known = not any(simple.repeated and moves(simple) for simple in commands)
        for simple in commands:
            subject = SimpleSubject(self, simple, where.bases, where.known, tuple(where.been))
            subject.lost = where.lost
            subjects.append(subject)
            where.follow(simple, certain=simple is self._condition)
            if runs_here(simple):
                where.wander(known=not simple.opaque and bool(subject.forms.inner))
                for inner in subject.forms.inner:
                    where.follow(inner)
        return tuple(subjects), tuple(where.been)

    @property
    def _condition(self) -> SimpleCommand | None:
        """The `cd` in `cd DIRECTORY && A | B && C`: where it fails, nothing of the line runs."""
        first, *rest = self.line.pieces or ("",)
        if not isinstance(first, SimpleCommand) or first.assigns or first.redirects or self.line.opaque:
            return None
        operators = [piece for piece in rest if not isinstance(piece, SimpleCommand)]
        return first if operators[:1] == ["&&"] and _AND_THEN.issuperset(operators) else None

    @cached_property
    def plain(self) -> bool:
        """Whether nothing in it may change what the names of programs and their options mean."""
        if self.line.opaque or len(self.line.simple_commands) > _MAX_COMMANDS:
            return False
        return not any(map(steers, self.line.simple_commands))

    @cached_property
    def scripts(self) -> tuple[tuple[str, str], ...]:
        """The scripts in it as far as a bound, each with the directories that it may run in."""
        scripts = [
            (text, base)
            for simple in self.simple_commands
            for base in simple.bases
            for text in simple.forms.scripts
        ]
        scripts += ((text, self.cwd) for forms in self.other_forms for text in forms.scripts)
        if not self.line.clear:
            scripts += ((text, self.cwd) for text in loose_scripts(self.text))
        return tuple(dict.fromkeys(scripts))[:_MAX_SCRIPTS]

    @cached_property
    def told(self) -> bool:
        """Whether the simple commands are all that runs, and no more than values of theirs is unknown."""
        simple_commands = self.line.simple_commands
        return not self.line.opaque and all(
            opacity.value_only for simple in simple_commands for opacity in simple.opaque
        )

    @cached_property
    def looks(self) -> bool:
        """Whether nothing in it may change a repository."""
        return all(keeps_repositories(simple.argv) for simple in self.line.simple_commands)

    @cached_property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The links that the line makes, each with what it leads to."""
        return tuple(link for simple in self.line.simple_commands for link in links_of(simple.argv))

    def holds(self, simple: SimpleCommand) -> bool:
        """Whether a simple command stands in it, as it is."""
        return any(other.words == simple.words for other in self.line.simple_commands)

    def linked(self, name: str) -> tuple[str, ...]:
        """What a name leads to by the links that the line makes."""
        return tuple(
            posixpath.join(target, name[len(link) :].lstrip("/"))
            for link, target in self.links
            if posixpath.normpath(name).startswith(link) and name[len(link) :][:1] in ("", "/")
        )

    def given(self, simple: SimpleCommand) -> str | None:
        """The text that the line itself hands to a simple command by a pipe, as far as it stands there."""
        for feeder in feeders(self.line.pieces, simple):
            text = text_said(feeder)
            if text is not None:
                return text
        return None

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """The files that the command writes, as far as it may run them."""
        return written_files(self.line.simple_commands[:_MAX_COMMANDS], self.line.redirects)

    @cached_property
    def printed(self) -> str | None:
        """The form in which the command runs once a rule allowed it; `None` where none has one reading."""
        return print_line(self.line)

    @cached_property
    def opaque(self) -> tuple[Opacity, ...]:
        """Everything in the command whose effect cannot be read off its text."""
        doubts = [*self.line.opaque]
        for simple in self.simple_commands:
            doubts += simple.opaque
        if len(self.line.simple_commands) > _MAX_COMMANDS:
            doubts.append(Opacity(f"more than {_MAX_COMMANDS} commands", runs=True))
        doubts += (
            Opacity("network redirect", redirect.target.text, runs=True)
            for redirect in self.redirects
            if redirect.target.text.startswith(_NETWORK)
        )
        if self.printed is None and all(opacity.value_only for opacity in doubts):
            doubts.append(Opacity("more than one reading", runs=True))
        if not self.place.inside(self.cwd):
            doubts.append(Opacity("working directory outside the workspace", self.cwd))
        return tuple(doubts)

    @cached_property
    def obscure(self) -> bool:
        """Whether more of the command is unknown than the values of words."""
        return any(not opacity.value_only for opacity in self.opaque)

    @cached_property
    def doubtful(self) -> bool:
        """Whether the simple commands are not all that the line may run."""
        return not self.line.clear or len(self.line.simple_commands) > _MAX_COMMANDS

    @cached_property
    def unsure(self) -> bool:
        """Whether the command is opaque, or may run what does not stand in it."""
        return bool(self.opaque) or any(forms.unsure for forms in self.forms)

    @cached_property
    def unbounded(self) -> bool:
        """Whether anything at all may run: what runs stands neither in the text nor in a rule about it."""
        unread = (
            item for item in self.opaque if item.runs or (item.script is not None and not item.value_only)
        )
        return next(unread, None) is not None or any(forms.unknown for forms in self.forms)

    @cached_property
    def forms(self) -> tuple[Forms, ...]:
        """Every form of every simple command, of doubts about the line, and of what that may run."""
        return (*(simple.forms for simple in self.simple_commands), *self.other_forms)

    @cached_property
    def other_forms(self) -> tuple[Forms, ...]:
        """The forms of what no simple command shows: of doubts about the line, and of what that may run."""
        return (doubt_forms(self.line.opaque, self.cwd, self.place.home), *self.loose)

    @cached_property
    def redirects(self) -> tuple[Redirect, ...]:
        """All redirects, those of groups included."""
        own = (redirect for simple in self.line.simple_commands for redirect in simple.redirects)
        return (*own, *self.line.redirects)

    @cached_property
    def raw_texts(self) -> tuple[str, ...]:
        """The whole text as typed, without quotes, and cut into what a doubtful line may run."""
        texts = [_BLANKS.sub(" ", self.text), dequoted(self.text)]
        if self.doubtful:
            texts += loose_commands(self.text)
            texts += (text + " " for forms in self.forms for text in forms.texts)
        return tuple(dict.fromkeys(texts))

    @cached_property
    def all_text(self) -> str:
        """All of `raw_texts`: to look once is quicker than in every text."""
        return "\n".join(self.raw_texts)

    @cached_property
    def loose(self) -> tuple[Forms, ...]:
        """The forms of every candidate command of a doubtful line, inner commands included."""
        if not self.doubtful:
            return ()
        texts = loose_commands(self.text)[:_MAX_COMMANDS]
        return tuple(text_forms(text, self.cwd, self.place.home) for text in texts)

    def patterns(self, settled: frozenset[str]) -> tuple[str, ...]:
        """The rules that "always allow" would write for what is not `settled`; none for an opaque command."""
        unclear = self.obscure or not all(simple.only_values for simple in self.simple_commands)
        return () if unclear else simple_patterns(self.tools[0], self.simple_commands, settled)

    def may_match(self, rule: CompiledRule) -> bool:
        """Whether the command, of which one is unsure, may do what the rule is about when it runs."""
        if rule.bare or any(opacity.runs for opacity in self.opaque):
            return True
        if any(forms.unknown for forms in self.forms):
            return True
        texts = (text for forms in self.forms for text in forms.texts)
        anywhere = isinstance(rule.pattern.argument, Anywhere)
        return any(_may_begin(rule, text, anywhere=anywhere) for text in texts)


class LineSubject:
    """The whole command: for rules whose pattern spans commands, and for what no simple command shows."""

    def __init__(self, command: ShellCommand) -> None:
        self.tools: tuple[str, ...] = command.tools
        self.command = command

    def covered_by(self, rule: CompiledRule) -> bool:
        """Whether an allow rule covers the command whatever it does."""
        return rule.bare or rule.spells_out(self.command.text)

    def touched_by(self, rule: CompiledRule) -> bool:
        """Whether a deny or ask rule means the text, as typed or taken apart."""
        if rule.pattern.problem is not None:
            return False
        match rule.pattern.argument:
            case Bare():
                return True
            case Anywhere():
                return any(glob.occurs_in(text) for glob, text in self._candidates(rule))
            case _:
                loose = (argv for forms in self.command.other_forms for argv in forms.commands)
                meant = any(glob.matches(text) for glob, text in self._candidates(rule))
                return meant or means_options(rule, loose)

    def _candidates(self, rule: CompiledRule) -> Iterator[tuple[TextGlob, str]]:
        """The globs of a rule that may match a text of the command, with every text."""
        for glob in rule.wide_globs:
            if glob.may_match_in(self.command.all_text):
                for text in self.command.raw_texts:
                    yield glob, text


def _may_begin(rule: CompiledRule, text: str, *, anywhere: bool) -> bool:
    """Whether a text with holes, filled in some way, could match."""
    head, hole, _ = text.partition(HOLE)
    if not hole:
        return False
    if rule.may_begin(head, 0):
        return True
    return anywhere and any(
        rule.may_begin(head, start.end()) for start in _WORD_START.finditer(head) if start.end() < len(head)
    )
