"""From a shell command to an outcome: its leaves, the line, and the files it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain

from caliban_permissions.characters import refused_command
from caliban_permissions.commands.command import Command, LineSubject
from caliban_permissions.commands.destruction import dangers
from caliban_permissions.commands.simple import LeafSubject
from caliban_permissions.judge import conclude, guarded, judge_path, unreadable
from caliban_permissions.judgement import HumanOnly, Outcome, Unit, refusal
from caliban_permissions.names import EDITORS, names_for
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.protected import protection
from caliban_permissions.rules.chain import Hit, RuleChain, means, raised_to
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.shell.line import excerpt
from caliban_permissions.subjects import PathSubject


def judge_bash(command: Command, book: RuleChain, now: datetime) -> Outcome:
    """The outcome for one shell command."""
    return _Judge(command, book, now).outcome()


def read_command(text: str, cwd: str, place: PathContext, tool: str) -> Command | Outcome:
    """A command of `tool` that would run in `cwd`, a canonical directory; or why no shell can be given it."""
    reason = refused_command(text)
    if reason is not None:
        return refusal(text[:200], f"the command is refused: {reason}")
    return Command(text, place, cwd, names_for(tool, "command"))


class _Judge:
    def __init__(self, command: Command, book: RuleChain, now: datetime) -> None:
        self.command = command
        self.book = book
        self.now = now
        self.place = command.place
        self.line = LineSubject(command)

    def outcome(self) -> Outcome:
        hits, line = self._hits()
        leaves = tuple(self.command.leaves)
        commands = [self._command_unit(leaf, hit) for leaf, hit in zip(leaves, hits, strict=True)]
        blanket = all(hit.action == "allow" and self._blanket(hit) for hit in hits)
        if not leaves:
            blanket = line.action == "allow" and self._blanket(line)
        units = [*commands]
        if not leaves or line.rule is not None:
            units.append(Unit("line", self.command.text, line.action, line, self._doubts(leaves)))
        units += self._destruction()
        exact = all(self._exact(hit) for hit in hits) if leaves else self._exact(line)
        units += self._writes(blanket=blanket, exact=exact)
        units += self._reads()
        units = [unreadable(self.command.tools, unit, self.book) for unit in units]
        units = self._with_may_match(units)
        return conclude(tuple(units), self.command)

    def _hits(self) -> tuple[list[Hit], Hit]:
        """The hit of each leaf and of the line, floors included."""
        hits, line = self._walk(self.book.all)
        if self.book.user and any(hit.scope == "project" for hit in (*hits, line)):
            floors, line_floor = self._walk(self.book.user)
            pairs = zip(hits, floors, strict=True)
            hits = [raised_to(hit, floor) if hit.scope == "project" else hit for hit, floor in pairs]
            line = raised_to(line, line_floor)
        if self.book.managed:
            floors, line_floor = self._walk(self.book.managed)
            hits = [raised_to(hit, floor) for hit, floor in zip(hits, floors, strict=True)]
            line = raised_to(line, line_floor)
        return hits, line

    def _walk(self, rules: Sequence[CompiledRule]) -> tuple[list[Hit], Hit]:
        """First match for each leaf, then for the line among the rules that came before the last of them."""
        book, now = self.book, self.now
        hits = [book.first(rules, leaf, now) for leaf in self.command.leaves]
        if not hits:
            return hits, book.first(rules, self.line, now)
        limit = max(hit.order for hit in hits)
        if len(self.command.line.leaves) > len(hits):
            limit = len(book.all)
        earlier = [rule for rule in rules if rule.order < limit and rule.action != "allow" and not rule.bare]
        return hits, book.first(earlier, self.line, now)

    def _blanket(self, hit: Hit) -> bool:
        """Whether the rule covers everything about the command: no argument part, or the whole text."""
        rule = hit.rule
        return rule is not None and (rule.bare or rule.spells_out(self.command.text))

    def _command_unit(self, leaf: LeafSubject, hit: Hit) -> Unit:
        notes = self._why_uncovered(leaf) if hit.action == "ask" else ()
        text = leaf.leaf.raw if leaf.leaf.words else leaf.leaf.raw or self.command.text
        return Unit("command", text, hit.action, hit, notes)

    def _why_uncovered(self, leaf: LeafSubject) -> tuple[str, ...]:
        """What keeps an allow rule that matches the words from covering the leaf."""
        for rule in self.book.written:
            if rule.action != "allow" or not rule.names(self.command.tools[0]) or not rule.in_force(self.now):
                continue
            if not leaf.textually_covered_by(rule):
                continue
            doubts = [str(opacity) for opacity in leaf.opaque] or [str(item) for item in self.command.opaque]
            doubts += (f"{excerpt(item.text)} {item.why}" for item in leaf.unnamed(rule))
            if doubts:
                listed = ", ".join(dict.fromkeys(doubts))
                return (f"the rule {rule.rule.pattern} does not cover it because of: {listed}",)
        doubts = [str(opacity) for opacity in leaf.opaque]
        return (f"it cannot be analysed because of: {', '.join(dict.fromkeys(doubts))}",) if doubts else ()

    def _doubts(self, leaves: tuple[LeafSubject, ...]) -> tuple[str, ...]:
        if leaves:
            return ()
        doubts = ", ".join(dict.fromkeys(str(opacity) for opacity in self.command.opaque))
        return (f"it cannot be analysed because of: {doubts}",) if doubts else ()

    def _destruction(self) -> Iterator[Unit]:
        """Units for commands that keep a last question, or of which nobody can say what they delete."""
        nobody = Hit("allow", None, len(self.book.all))
        for danger in dangers(self.command):
            if danger.certain:
                floor = HumanOnly("catastrophic", danger.why)
                yield Unit("command", danger.text, "ask", nobody, (), (floor,))
            else:
                yield Unit("command", danger.text, "allow", nobody, (), (HumanOnly("uncertain", danger.why),))

    def _writes(self, *, blanket: bool, exact: bool) -> Iterator[Unit]:
        """Redirects are Write decisions; what a known command writes must pass deny rules and the floor.

        A rule for the whole tool covers redirects in the workspace, a rule that is the whole command
        (`exact`) those outside as well.
        """
        for subject in self._redirect_targets():
            unit = judge_path(subject, "edit", self.book, self.place, self.now)
            passable = not unit.floors or (exact and all(floor.kind == "outside" for floor in unit.floors))
            if blanket and passable and unit.action == "ask" and not unit.hit.explicit:
                unit = unit._replace(action="allow", floors=())
            yield unit
        for subject in chain.from_iterable(leaf.written() for leaf in self.command.leaves):
            hit = self.book.decide(subject, self.now)
            text = subject.names.given
            if hit.explicit and hit.action != "allow":
                yield Unit("write", text, hit.action, hit)
            elif any(protection(name, self.place) == "authority" for name in subject.names.canonicals):
                free = Hit("allow", None, len(self.book.all))
                yield guarded(Unit("write", text, "allow", free), subject.names, self.place)

    def _redirect_targets(self) -> Iterator[PathSubject]:
        for leaf in self.command.leaves:
            yield from leaf.redirected()
        last = self.command.leaves[-1].bases if self.command.leaves else (self.command.cwd,)
        for redirect in self.command.line.redirects:
            if redirect.writes and not redirect.target.text.startswith("/dev/null"):
                for base in last:
                    yield PathSubject(EDITORS, resolve(redirect.target.text, self.place, base))

    def _reads(self) -> Iterator[Unit]:
        """Deny and ask rules for Read bind the arguments of commands."""
        if not self.book.guards_reads:
            return
        for subject in chain.from_iterable(leaf.reads() for leaf in self.command.leaves):
            hit = self.book.decide(subject, self.now)
            if hit.explicit and hit.action != "allow":
                yield Unit("read", subject.names.given, hit.action, hit)

    def _with_may_match(self, units: list[Unit]) -> list[Unit]:
        """A command that is not clear is not waved on past a deny rule that it may match."""
        if not self.command.unsure or any(unit.action == "deny" for unit in units):
            return units
        found = []
        for unit in units:
            if unit.kind not in ("command", "line") or self._exact(unit.hit):
                found.append(unit)
                continue
            rule = next(self._possible(unit), None)
            if rule is not None:
                verb = "denies" if rule.action == "deny" else "asks about"
                text = f"it may run what the rule {rule.rule.pattern} {verb}"
                unit = unit._replace(
                    action="ask",
                    notes=(*unit.notes, text),
                    floors=(*unit.floors, HumanOnly("may match", text)),
                )
            found.append(unit)
        return found

    def _exact(self, hit: Hit) -> bool:
        return hit.rule is not None and hit.rule.spells_out(self.command.text)

    def _possible(self, unit: Unit) -> Iterator[CompiledRule]:
        """The denies that may apply, and the asks of the policy; before a bare allow the other asks, too."""
        for rule in self.book.written:
            if rule.action == "allow" or rule.pattern.problem is not None:
                continue
            if not means(rule, self.command.tools):
                continue
            if unit.action == "allow":
                above = rule.scope == "managed" or (rule.scope == "user" and unit.hit.scope == "project")
                relevant = above or rule.order < unit.hit.order
            else:
                relevant = rule.action == "deny" or rule.scope == "managed"
            if relevant and self.command.may_match(rule):
                yield rule
