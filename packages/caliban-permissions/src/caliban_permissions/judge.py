"""From a call to an outcome: every part of the call is a subject, and the strictest part decides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from caliban_common.tool import ArgumentRole
from caliban_permissions.characters import refused_input
from caliban_permissions.facts import PATH_ROLES, JudgedTool, claimed_in, paths_of
from caliban_permissions.judgement import HumanOnly, Outcome, Unit, refusal, strictest
from caliban_permissions.names import names_for
from caliban_permissions.paths import PathContext, PathNames, hard_linked, resolve
from caliban_permissions.protected import protection
from caliban_permissions.rules.chain import Hit, RuleChain
from caliban_permissions.shell.line import excerpt
from caliban_permissions.subjects import CallSubject, PathSubject

if TYPE_CHECKING:
    from caliban_permissions.commands.command import Command


def judge_call(
    tool: JudgedTool, args: Mapping[str, Any], book: RuleChain, place: PathContext, now: datetime
) -> Outcome:
    """The outcome for a call of any tool but the shell, as far as its own rules match it."""
    reason = refused_input(args)
    if reason is not None:
        return refusal(tool.name, f"the input of {tool.name} is refused: {reason}")
    units: list[Unit] = []
    written = False
    for role, text in paths_of(tool, args):
        written = written or role == "writes"
        unit = _path_unit(tool, (role, text), book, place, now)
        if isinstance(unit, Outcome):
            return unit
        units.append(unit)
    urls = [name for name, role in tool.roles.items() if role == "url"]
    arguments: Sequence[str | None] = urls or ([] if units else [tool.spec.main_argument])
    for argument in arguments:
        unit = _plain_unit(CallSubject(tool, args, argument, is_url=bool(urls)), book, now)
        if isinstance(unit, Outcome):
            return unit
        units.append(unit)
    if tool.kind == "edit" and not written:
        floor = HumanOnly("outside", "the file it changes is not known")
        units[0] = units[0]._replace(floors=(*units[0].floors, floor))
    units[0] = unreadable((tool.name,), units[0], book)
    return conclude(tuple(units))


def judge_claims(
    tool: JudgedTool, args: Mapping[str, Any], book: RuleChain, place: PathContext, now: datetime
) -> Iterator[Unit]:
    """The units of the paths and URLs that only bind: no allow rule is asked about them."""
    for role, text in claimed_in(tool, args):
        if role in PATH_ROLES:
            unit = _path_unit(tool, (role, text), book, place, now)
        elif role == "url":
            unit = _plain_unit(CallSubject(tool, {role: text}, role, is_url=True), book, now)
        else:
            continue
        yield from unit.units if isinstance(unit, Outcome) else (unit,)


def bound(outcome: Outcome, claimed: Iterable[Unit]) -> Outcome:
    """The outcome after what deny and ask rules and the nature of files say to the claimed units."""
    binding = tuple(
        unit
        for unit in claimed
        if unit.action == "deny" or unit.floors or (unit.action == "ask" and unit.hit.explicit)
    )
    return conclude((*outcome.units, *binding), outcome.command) if binding else outcome


def judge_path(subject: PathSubject, kind: str, book: RuleChain, place: PathContext, now: datetime) -> Unit:
    """The unit for a path: what rules say, then what the file is."""
    hit = book.decide(subject, now)
    names = subject.names
    unit = Unit("write" if kind == "edit" else "read", names.given, hit.action, hit)
    if names.uncertain is not None and unit.action != "deny":
        floors = [HumanOnly("uncertain", names.uncertain)]
        floors += (
            HumanOnly("may match", f"it may be what the rule {rule.rule.pattern} denies")
            for rule in book.written
            if rule.action == "deny"
            and any(rule.names(tool) for tool in subject.tools)
            and subject.may_be_touched_by(rule)
        )
        unit = unit._replace(action="ask", notes=(names.uncertain,), floors=tuple(floors[1:] or floors))
    return guarded(unit, names, place) if kind == "edit" and unit.action != "deny" else unit


def guarded(unit: Unit, names: PathNames, place: PathContext) -> Unit:
    """The unit of an edit after the protected-path floor; only a rule that names the file passes it."""
    floors, notes = list(unit.floors), list(unit.notes)
    lifted = unit.action
    rule = unit.hit.rule
    exact = rule is not None and rule.action == "allow" and rule.literal is not None
    for canonical in names.canonicals:
        level = protection(canonical, place)
        covered = exact or (level == "build" and unit.hit.explicit and unit.action == "allow")
        if level is not None and not covered:
            what = (
                "decides what runs here" if level == "authority" else "runs code at the next build or install"
            )
            floors.append(HumanOnly("protected", f"{canonical} is protected: it {what}"))
            lifted = "ask"
        if unit.action == "allow" and not place.inside(canonical) and hard_linked(canonical):
            floors.append(HumanOnly("protected", f"{canonical} has another name elsewhere (a hard link)"))
            lifted = "ask"
        if lifted == "ask" and not place.inside(canonical):
            floors.append(HumanOnly("outside", f"{canonical} is outside the workspace"))
        elif lifted == "ask" and not canonical.endswith(posixpath.normpath(names.given)):
            notes.append(f"it is {canonical}")
    return unit._replace(action=lifted, floors=tuple(floors), notes=tuple(dict.fromkeys(notes)))


def conclude(units: tuple[Unit, ...], command: Command | None = None) -> Outcome:
    """The outcome of several units: the strictest, and why."""
    units = tuple(_with_managed_floor(unit) for unit in units)
    decisive = strictest(units)
    hit = decisive.hit
    rule = hit.rule.rule.pattern if hit.rule is not None and hit.action == decisive.action else None
    reason = "" if decisive.action == "allow" else explain_unit(decisive)
    return Outcome(decisive.action, reason, units, rule, command)


def explain_unit(unit: Unit) -> str:
    """Why the unit is denied or asked about, in a sentence for the model and the person."""
    rule = unit.hit.rule
    what = f"`{excerpt(unit.text)}`"
    verb = {"call": "", "command": "running ", "line": "", "write": "writing ", "read": "reading "}[unit.kind]
    floors = [floor.text for floor in unit.floors if floor.kind not in ("managed", "rule")]
    if unit.hit.explicit and rule is not None and unit.hit.action == unit.action:
        verdict = "is denied" if unit.action == "deny" else "needs approval"
        text = f"{verb}{what} {verdict} by the rule {rule.rule.pattern} ({rule.scope})"
        if rule.rule.reason:
            text += f": {rule.rule.reason}"
    elif unit.action == "deny":
        text = f"{verb}{what} is refused"
    elif floors:
        text = f"{verb}{what} needs approval"
    else:
        text = f"{verb}{what} is covered by no allow rule"
    details = [*floors, *unit.notes]
    return f"{text} ({'; '.join(dict.fromkeys(details))})" if details else text


def unreadable(tools: tuple[str, ...], unit: Unit, book: RuleChain) -> Unit:
    """The unit after deny and ask rules that cannot be read: a person decides on what they may mean."""
    for rule in book.unreadable:
        if unit.action != "deny" and any(rule.pattern.names_tool(tool) for tool in tools):
            text = f"the {rule.action} rule {rule.rule.pattern} cannot be read: {rule.pattern.problem}"
            return unit._replace(action="ask", floors=(*unit.floors, HumanOnly("rule", text)), notes=(text,))
    return unit


def _path_unit(
    tool: JudgedTool, path: tuple[ArgumentRole, str], book: RuleChain, place: PathContext, now: datetime
) -> Unit | Outcome:
    role, text = path
    names = resolve(text, place)
    if names.refused is not None:
        return refusal(text, f"`{excerpt(text)}` is not a path that {tool.name} takes: {names.refused}")
    subject = PathSubject(names_for(tool.name, role), names)
    kind = "edit" if role == "writes" else "read"
    return judge_path(subject, kind, book, place, now)._replace(kind="call")


def _plain_unit(subject: CallSubject, book: RuleChain, now: datetime) -> Unit | Outcome:
    if subject.url is not None and subject.url.refused is not None:
        return refusal(subject.main or "", f"the URL is refused: {subject.url.refused}")
    hit: Hit = book.decide(subject, now)
    notes = ("the URL carries user information",) if subject.url is not None and subject.url.userinfo else ()
    return Unit(
        "call", subject.main or subject.tool.name, hit.action, hit, notes if hit.action == "ask" else ()
    )


def _with_managed_floor(unit: Unit) -> Unit:
    rule = unit.hit.rule
    if unit.action != "ask" or rule is None or rule.scope != "managed":
        return unit
    floor = HumanOnly("managed", f"the policy asks: {rule.rule.pattern}")
    return unit._replace(floors=tuple(dict.fromkeys((*unit.floors, floor))))
