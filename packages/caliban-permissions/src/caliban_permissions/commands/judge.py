"""From a shell command to a judgement: its simple commands, the line, and the files it reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.characters import excerpt, refused_command
from caliban_permissions.commands.command import LineSubject, ShellCommand
from caliban_permissions.commands.destruction import dangers
from caliban_permissions.commands.files import STAYS, shared_device
from caliban_permissions.commands.reading import ONLY_READS, ReadOnlyCommands
from caliban_permissions.commands.simple import SimpleSubject
from caliban_permissions.commands.touched import (
    fed_names,
    read_in_texts,
    read_inside,
    redirected_in,
    written_inside,
)
from caliban_permissions.commands.wrappers import program
from caliban_permissions.judge import conclude, guarded, judge_path, unreadable
from caliban_permissions.judgement import HumanOnly, JudgedPart, Judgement, refusal
from caliban_permissions.names import EDITORS, READER, names_for
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.protected import protection
from caliban_permissions.rules.chain import RuleChain, Ruling, means, raised_to
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.shell import HOLE, Redirect
from caliban_permissions.subjects import PathSubject

_MANY = 1_000
"""How many pairs of rules and simple commands are looked at one by one."""
_GIVEN = lazy_pattern(r"\$\{?[0-9@*]")


def judge_bash(
    command: ShellCommand, chain: RuleChain, now: datetime, *, reads_free: bool = False
) -> Judgement:
    """The judgement for one shell command; with `reads_free` what only reads the workspace needs no rule."""
    return _CommandJudge(command, chain, now, reads_free=reads_free).judgement()


def read_command(text: str, cwd: str, place: PathContext, tool: str) -> ShellCommand | Judgement:
    """A command of `tool` that would run in `cwd`, a canonical directory; or why no shell can be given it."""
    reason = refused_command(text)
    if reason is not None:
        return refusal(text[:200], f"the command is refused: {reason}")
    return ShellCommand(text, place, cwd, names_for(tool, "command"))


class _CommandJudge:
    def __init__(self, command: ShellCommand, chain: RuleChain, now: datetime, *, reads_free: bool) -> None:
        self.readers = ReadOnlyCommands(command, chain, now) if reads_free else None
        self.command = command
        self.chain = chain
        self.now = now
        self.place = command.place
        self.line = LineSubject(command)
        self._allowing: list[CompiledRule] | None = None

    def judgement(self) -> Judgement:
        rulings, line = self._rulings()
        simple_commands = tuple(self.command.simple_commands)
        commands = [
            self._command_part(simple, ruling)
            for simple, ruling in zip(simple_commands, rulings, strict=True)
        ]
        blanket = all(ruling.action == "allow" and self._blanket(ruling) for ruling in rulings)
        if not simple_commands:
            blanket = line.action == "allow" and self._blanket(line)
        parts = [*commands]
        if not simple_commands or line.rule is not None:
            parts.append(
                JudgedPart(
                    "line", self.command.text, line.action, line, self._doubts(simple_commands), (), self.line
                )
            )
        parts += self._destruction()
        exact = all(self._exact(ruling) for ruling in rulings) if simple_commands else self._exact(line)
        parts += self._writes(blanket=blanket, exact=exact)
        if not exact:
            parts += self._perhaps_writes()
        parts += self._reads()
        parts += self._below(exact=exact)
        parts += self._scripted(exact=exact)
        parts = [unreadable(self.command.tools, part, self.chain) for part in parts]
        parts = self._with_may_match(parts)
        return conclude(tuple(parts), self.command)

    def _rulings(self) -> tuple[list[Ruling], Ruling]:
        """The ruling of each simple command and of the line, floors included."""
        rulings, line = self._walk(self.chain.all)
        if self.chain.user and any(ruling.scope == "project" for ruling in (*rulings, line)):
            floors, line_floor = self._walk(self.chain.user)
            pairs = zip(rulings, floors, strict=True)
            rulings = [
                raised_to(ruling, floor) if ruling.scope == "project" else ruling for ruling, floor in pairs
            ]
            line = raised_to(line, line_floor)
        if self.chain.managed:
            floors, line_floor = self._walk(self.chain.managed)
            rulings = [raised_to(ruling, floor) for ruling, floor in zip(rulings, floors, strict=True)]
            line = raised_to(line, line_floor)
        return rulings, line

    def _walk(self, rules: Sequence[CompiledRule]) -> tuple[list[Ruling], Ruling]:
        """First match for each simple command, then for the line among the rules before the last of them."""
        chain, now = self.chain, self.now
        rules = self._relevant(rules)
        rulings = [chain.first(rules, simple, now) for simple in self.command.simple_commands]
        if not rulings:
            return rulings, chain.first(rules, self.line, now)
        limit = max(ruling.order for ruling in rulings)
        if len(self.command.line.simple_commands) > len(rulings):
            limit = len(chain.all)
        earlier = [rule for rule in rules if rule.order < limit and rule.action != "allow" and not rule.bare]
        return rulings, chain.first(earlier, self.line, now)

    def _relevant(self, rules: Sequence[CompiledRule]) -> Sequence[CompiledRule]:
        """The rules without those that can match no part of the command, where it pays to look."""
        simple_commands = self.command.simple_commands
        if len(rules) * len(simple_commands) < _MANY:
            return rules
        texts = [self.command.text, self.command.all_text]
        for simple in simple_commands:
            texts.append(simple.all_texts)
            texts += (view.text for view in simple.views)
        everything = "\n".join(texts)
        text = self.command.text
        return [rule for rule in rules if rule.may_match_in(everything) or rule.spells_out(text)]

    def _blanket(self, ruling: Ruling) -> bool:
        """Whether the rule covers everything about the command: no argument part, or the whole text."""
        rule = ruling.rule
        return rule is not None and (rule.bare or rule.spells_out(self.command.text))

    def _command_part(self, simple: SimpleSubject, ruling: Ruling) -> JudgedPart:
        text = simple.parsed.raw if simple.parsed.words else simple.parsed.raw or self.command.text
        if ruling.action != "ask":
            return JudgedPart("command", text, ruling.action, ruling, subject=simple)
        problem = "" if self.readers is None or ruling.explicit else self.readers.problem(simple)
        if problem is None:
            free = Ruling("allow", None, len(self.chain.all))
            return JudgedPart("command", text, "allow", free, (ONLY_READS,), subject=simple)
        notes = (*self._why_uncovered(simple), *filter(None, (problem,)))
        return JudgedPart("command", text, ruling.action, ruling, notes, subject=simple)

    def _why_uncovered(self, simple: SimpleSubject) -> tuple[str, ...]:
        """What keeps an allow rule that matches the words from covering the simple command."""
        for rule in self._allows():
            if not simple.textually_covered_by(rule):
                continue
            doubts = [str(opacity) for opacity in simple.opaque] or [
                str(item) for item in self.command.opaque
            ]
            doubts += (f"{excerpt(item.text)} {item.why}" for item in simple.unnamed(rule))
            if doubts:
                listed = ", ".join(dict.fromkeys(doubts))
                return (f"the rule {rule.rule.pattern} does not cover it because of: {listed}",)
        doubts = [str(opacity) for opacity in simple.opaque]
        return (f"it cannot be analysed because of: {', '.join(dict.fromkeys(doubts))}",) if doubts else ()

    def _allows(self) -> list[CompiledRule]:
        """The allow rules that may have to do with the command."""
        if self._allowing is None:
            tool, now = self.command.tools[0], self.now
            allows = [rule for rule in self.chain.written if rule.action == "allow"]
            allows = [rule for rule in allows if rule.names(tool) and rule.in_force(now)]
            self._allowing = list(self._relevant(allows))
        return self._allowing

    def _doubts(self, simple_commands: tuple[SimpleSubject, ...]) -> tuple[str, ...]:
        if simple_commands:
            return ()
        doubts = ", ".join(dict.fromkeys(str(opacity) for opacity in self.command.opaque))
        return (f"it cannot be analysed because of: {doubts}",) if doubts else ()

    def _destruction(self) -> Iterator[JudgedPart]:
        """Units for commands that keep a last question, or of which nobody can say what they delete."""
        nobody = Ruling("allow", None, len(self.chain.all))
        for danger in dangers(self.command):
            if danger.certain:
                only = HumanOnly("catastrophic", danger.why)
                yield JudgedPart("command", danger.text, "ask", nobody, (), (only,))
            else:
                yield JudgedPart(
                    "command", danger.text, "allow", nobody, (), (HumanOnly("uncertain", danger.why),)
                )

    def _writes(self, *, blanket: bool, exact: bool) -> Iterator[JudgedPart]:
        """Redirects are Write decisions; what a known command writes must pass deny rules and the floor.

        A rule for the whole tool covers redirects in the workspace, a rule that is the whole command
        (`exact`) those outside as well.
        """
        for subject in self._redirect_targets():
            part = judge_path(subject, "edit", self.chain, self.place, self.now)
            passable = not part.human_only or (
                exact and all(only.kind == "outside" for only in part.human_only)
            )
            if blanket and passable and part.action == "ask" and not part.ruling.explicit:
                part = replace(part, action="allow", human_only=())
            yield part
        for subject in self._written():
            ruling = self.chain.decide(subject, self.now)
            text = subject.names.given
            if ruling.explicit and ruling.action != "allow":
                yield JudgedPart("write", text, ruling.action, ruling, subject=subject)
            elif any(protection(name, self.place) == "authority" for name in subject.names.canonicals):
                free = Ruling("allow", None, len(self.chain.all))
                yield guarded(JudgedPart("write", text, "allow", free), subject.names, self.place)

    def _written(self) -> Iterator[PathSubject]:
        for simple in self.command.simple_commands:
            yield from simple.written()
        names = [*written_inside(self.command.other_forms)]
        if self.command.doubtful:
            names += (name for name in redirected_in(self.command.text) if not shared_device(name))
        yield from self._of_doubts(names, EDITORS)

    def _perhaps_writes(self) -> Iterator[JudgedPart]:
        """What may change a file that is protected, or that a rule for edits means, is asked about.

        Whichever program does it: whether it does is known only when it runs.
        """
        free = Ruling("allow", None, len(self.chain.all))
        for subject in (path for simple in self.command.simple_commands for path in simple.perhaps_written()):
            part = JudgedPart("write", subject.names.given, "allow", free)
            if any(protection(name, self.place) == "authority" for name in subject.names.canonicals):
                yield guarded(part, subject.names, self.place)
            elif self.chain.guards_edits:
                rule = self.chain.decide(subject, self.now).rule
                if rule is not None and rule.scope != "default" and rule.action != "allow":
                    text = f"it may change what the rule {rule.rule.pattern} is about"
                    only = HumanOnly("may match", text)
                    yield replace(part, action="ask", notes=(text,), human_only=(only,))

    def _redirect_targets(self) -> Iterator[PathSubject]:
        for simple in self.command.simple_commands:
            yield from simple.redirected()
        for redirect in self.command.line.redirects:
            if redirect.writes and not redirect.target.text.startswith("/dev/null"):
                yield from self._of_group(redirect, EDITORS)

    def _of_group(self, redirect: Redirect, tools: tuple[str, ...]) -> Iterator[PathSubject]:
        """The files that a redirect of a group or loop may mean."""
        last = self.command.simple_commands[-1] if self.command.simple_commands else None
        names = {redirect.target.text: None} if tools == (READER,) or last is None else {}
        if last is not None:
            names.update(dict.fromkeys(last.targets(redirect)))
        for name in names:
            for base in (self.command.cwd,) if last is None else last.bases:
                yield PathSubject(tools, resolve(name.replace(HOLE, "?"), self.place, base))

    def _reads(self) -> Iterator[JudgedPart]:
        """Deny and ask rules for Read bind the arguments of commands."""
        if not self.chain.guards_reads:
            return
        for subject in (*self._read_by_groups(), *self._read_by_commands()):
            ruling = self.chain.decide(subject, self.now)
            if ruling.explicit and ruling.action != "allow":
                given = subject.names.given
                wildcards = (simple.taken_in_by(given) for simple in self.command.simple_commands)
                notes = tuple(f"`{excerpt(word)}` takes it in" for word in dict.fromkeys(wildcards) if word)
                yield JudgedPart("read", given, ruling.action, ruling, notes[:1], (), subject)
            elif subject.names.uncertain is not None:
                yield from self._perhaps_read(subject)

    def _below(self, *, exact: bool) -> Iterator[JudgedPart]:
        """What the line reaches below directories, and in repositories, of what rules deny or ask about."""
        guards = self.chain.guards_reads or self.chain.guards_edits
        if guards and not all(map(_stays, self.command.simple_commands)):
            from caliban_permissions.commands.below import Below

            yield from Below(self.command, self.chain, self.now).parts(exact=exact)

    def _scripted(self, *, exact: bool) -> Iterator[JudgedPart]:
        """What rules for files say to the scripts in it, each taken as a line of its own.

        What is known only when it runs is no doubt of its own where the script is given its names: those are
        arguments of the command around it.
        """
        if not (self.chain.guards_reads or self.chain.guards_edits):
            return
        for text, base in self.command.scripts:
            command = ShellCommand(text, self.place, base, self.command.tools, self.command.been)
            inner = _CommandJudge(command, self.chain, self.now, reads_free=False)
            given = _GIVEN.search(text) is not None
            yield from (part for part in inner._reads() if not (given and part.human_only))
            yield from inner._below(exact=exact)
            for subject in (*inner._redirect_targets(), *inner._written()):
                ruling = self.chain.decide(subject, self.now)
                if ruling.explicit and ruling.action != "allow":
                    yield JudgedPart("write", subject.names.given, ruling.action, ruling, subject=subject)

    def _read_by_commands(self) -> Iterator[PathSubject]:
        for simple in self.command.simple_commands:
            yield from simple.reads()
        forms = self.command.other_forms
        loose = (
            () if self.command.plain and self.command.told else (*read_inside(forms), *read_in_texts(forms))
        )
        names = (*loose, *fed_names(self.command.line.simple_commands))
        yield from self._of_doubts(names, (READER,))

    def _of_doubts(self, names: Iterable[str], tools: tuple[str, ...]) -> Iterator[PathSubject]:
        """The files that what no simple command shows may name."""
        for name in dict.fromkeys(filter(None, names)):
            resolved = resolve(name.replace(HOLE, "?"), self.place, self.command.cwd)
            if resolved.refused is None:
                yield PathSubject(tools, resolved)

    def _read_by_groups(self) -> Iterator[PathSubject]:
        """The files that groups and loops are given as input."""
        for redirect in self.command.line.redirects:
            if redirect.op in ("<", "<>"):
                yield from self._of_group(redirect, (READER,))

    def _perhaps_read(self, subject: PathSubject) -> Iterator[JudgedPart]:
        """A file whose name is known only when the command runs may be one that a rule denies."""
        for rule in self.chain.written:
            denies = rule.action == "deny" and any(rule.names(tool) for tool in subject.tools)
            if denies and (not subject.names.names or subject.may_be_touched_by(rule)):
                text = f"it may read what the rule {rule.rule.pattern} denies"
                free = Ruling("allow", None, len(self.chain.all))
                only = HumanOnly("may match", text)
                yield JudgedPart("read", subject.names.given, "ask", free, (text,), (only,))
                return

    def _with_may_match(self, parts: list[JudgedPart]) -> list[JudgedPart]:
        """A command that is not clear is not waved on past a deny rule that it may match."""
        if not self.command.unsure or any(part.action == "deny" for part in parts):
            return parts
        judged = []
        for part in parts:
            if part.kind not in ("command", "line") or self._exact(part.ruling):
                judged.append(part)
                continue
            rule = next(self._possible(part), None)
            if rule is not None:
                verb = "denies" if rule.action == "deny" else "asks about"
                text = f"it may run what the rule {rule.rule.pattern} {verb}"
                part = replace(
                    part,
                    action="ask",
                    notes=(*part.notes, text),
                    human_only=(*part.human_only, HumanOnly("may match", text)),
                )
            judged.append(part)
        return judged

    def _exact(self, ruling: Ruling) -> bool:
        return ruling.rule is not None and ruling.rule.spells_out(self.command.text)

    def _possible(self, part: JudgedPart) -> Iterator[CompiledRule]:
        """The denies that may apply, and the asks of the policy; before a bare allow the other asks, too."""
        for rule in self.chain.written:
            if rule.action == "allow" or rule.pattern.problem is not None:
                continue
            if not means(rule, self.command.tools):
                continue
            if part.action == "allow":
                above = rule.scope == "managed" or (rule.scope == "user" and part.ruling.scope == "project")
                relevant = above or rule.order < part.ruling.order
            else:
                relevant = rule.action == "deny" or rule.scope == "managed"
            if relevant and self.command.may_match(rule):
                yield rule


def _stays(simple: SimpleSubject) -> bool:
    """Whether a simple command has nothing to do with what lies below directories, as most have not."""
    argv = simple.arguments
    known = not argv or program(argv[0]) in STAYS
    return known and not simple.forms.inner and not any(HOLE in word for word in argv)
