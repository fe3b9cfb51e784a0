"""From a call to a judgement: every part of the call is a subject, and the strictest part decides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from caliban_common.tool import ArgumentRole
from caliban_permissions.characters import excerpt, refused_input
from caliban_permissions.facts import PATH_ROLES, JudgedTool, claimed_in, paths_of
from caliban_permissions.judgement import HumanOnly, JudgedPart, Judgement, refusal, strictest
from caliban_permissions.names import FETCHER, names_for
from caliban_permissions.paths import PathContext, PathNames, hard_linked, resolve
from caliban_permissions.protected import WHY, protection
from caliban_permissions.rules.chain import RuleChain, Ruling
from caliban_permissions.rules.url import Url, unreachable
from caliban_permissions.subjects import CallSubject, PathSubject

if TYPE_CHECKING:
    from caliban_permissions.commands.command import ShellCommand


def judge_call(
    tool: JudgedTool, args: Mapping[str, Any], chain: RuleChain, place: PathContext, now: datetime
) -> Judgement:
    """The judgement for a call of any tool but the shell, as far as its own rules match it."""
    reason = refused_input(args)
    if reason is not None:
        return refusal(tool.name, f"the input of {tool.name} is refused: {reason}")
    parts: list[JudgedPart] = []
    written = False
    for role, text in paths_of(tool, args):
        written = written or role == "writes"
        part = _path_part(tool, (role, text), chain, place, now)
        if isinstance(part, Judgement):
            return part
        parts.append(part)
    urls = [name for name, role in tool.roles.items() if role == "url"]
    arguments: Sequence[str | None] = urls or ([] if parts else [tool.spec.main_argument])
    for argument in arguments:
        subject = CallSubject(tool, args, argument, is_url=bool(urls))
        part = _plain_part(subject, chain, now)
        if subject.url is not None and tool.vouched and tool.name == FETCHER:
            part = _reachable(part, subject.url, place)
        if isinstance(part, Judgement):
            return part
        parts.append(part)
    if tool.kind == "edit" and not written:
        only = HumanOnly("outside", "the file it changes is not known")
        parts[0] = replace(parts[0], human_only=(*parts[0].human_only, only))
    parts[0] = unreadable((tool.name,), parts[0], chain)
    return conclude(tuple(parts))


def judge_claims(
    tool: JudgedTool, args: Mapping[str, Any], chain: RuleChain, place: PathContext, now: datetime
) -> Iterator[JudgedPart]:
    """The parts of the paths and URLs that only bind: no allow rule is asked about them."""
    for role, text in claimed_in(tool, args):
        if role in PATH_ROLES:
            part = _path_part(tool, (role, text), chain, place, now)
        elif role == "url":
            part = _plain_part(CallSubject(tool, {role: text}, role, is_url=True), chain, now)
        else:
            continue
        yield from part.parts if isinstance(part, Judgement) else (part,)


def bound(judgement: Judgement, claimed: Iterable[JudgedPart]) -> Judgement:
    """The judgement after what deny and ask rules and the nature of files say to the claimed parts."""
    binding = tuple(
        part
        for part in claimed
        if part.action == "deny" or part.human_only or (part.action == "ask" and part.ruling.explicit)
    )
    return conclude((*judgement.parts, *binding), judgement.command) if binding else judgement


def judge_path(
    subject: PathSubject, kind: str, chain: RuleChain, place: PathContext, now: datetime
) -> JudgedPart:
    """The part for a path: what rules say, then what the file is."""
    ruling = chain.decide(subject, now)
    names = subject.names
    part = JudgedPart(
        "write" if kind == "edit" else "read", names.given, ruling.action, ruling, subject=subject
    )
    if names.uncertain is not None and part.action != "deny":
        human_only = [HumanOnly("uncertain", names.uncertain)]
        human_only += (
            HumanOnly("may match", f"it may be what the rule {rule.rule.pattern} denies")
            for rule in chain.written
            if rule.action == "deny"
            and any(rule.names(tool) for tool in subject.tools)
            and subject.may_be_touched_by(rule)
        )
        part = replace(
            part, action="ask", notes=(names.uncertain,), human_only=tuple(human_only[1:] or human_only)
        )
    return guarded(part, names, place) if kind == "edit" and part.action != "deny" else part


def guarded(part: JudgedPart, names: PathNames, place: PathContext) -> JudgedPart:
    """The part of an edit after the protected-path floor; only a rule that names the file passes it."""
    human_only, notes = list(part.human_only), list(part.notes)
    lifted = part.action
    rule = part.ruling.rule
    exact = rule is not None and rule.action == "allow" and rule.literal is not None
    for canonical in names.canonicals:
        level = protection(canonical, place)
        covered = exact or (level != "authority" and part.ruling.explicit and part.action == "allow")
        if level is not None and not covered:
            human_only.append(HumanOnly("protected", f"{canonical} is protected: {WHY[level]}"))
            lifted = "ask"
        if part.action == "allow" and not place.inside(canonical) and hard_linked(canonical):
            human_only.append(HumanOnly("protected", f"{canonical} has another name elsewhere (a hard link)"))
            lifted = "ask"
        if lifted == "ask" and not place.inside(canonical):
            human_only.append(HumanOnly("outside", f"{canonical} is outside the workspace"))
        elif lifted == "ask" and not canonical.endswith(posixpath.normpath(names.given)):
            notes.append(f"it is {canonical}")
    return replace(part, action=lifted, human_only=tuple(human_only), notes=tuple(dict.fromkeys(notes)))


def conclude(parts: tuple[JudgedPart, ...], command: ShellCommand | None = None) -> Judgement:
    """The judgement of several parts: the strictest, and why."""
    parts = tuple(_with_managed_floor(part) for part in parts)
    decisive = strictest(parts)
    ruling = decisive.ruling
    rule = ruling.rule.rule.pattern if ruling.rule is not None and ruling.action == decisive.action else None
    reason = "" if decisive.action == "allow" else explain_part(decisive)
    return Judgement(decisive.action, reason, parts, rule, command)


def explain_part(part: JudgedPart) -> str:
    """Why the part is denied or asked about, in a sentence for the model and the person."""
    rule = part.ruling.rule
    what = f"`{excerpt(part.text)}`"
    verb = {"call": "", "command": "running ", "line": "", "write": "writing ", "read": "reading "}[part.kind]
    human_only = [only.text for only in part.human_only if only.kind not in ("managed", "rule")]
    if part.ruling.explicit and rule is not None and part.ruling.action == part.action:
        verdict = "is denied" if part.action == "deny" else "needs approval"
        text = f"{verb}{what} {verdict} by the rule {rule.rule.pattern} ({rule.scope})"
        if rule.rule.reason:
            text += f": {rule.rule.reason}"
    elif part.action == "deny":
        text = f"{verb}{what} is refused"
    elif human_only:
        text = f"{verb}{what} needs approval"
    else:
        text = f"{verb}{what} is covered by no allow rule"
    details = [*human_only, *part.notes]
    return f"{text} ({'; '.join(dict.fromkeys(details))})" if details else text


def unreadable(tools: tuple[str, ...], part: JudgedPart, chain: RuleChain) -> JudgedPart:
    """The part after deny and ask rules that cannot be read: a person decides on what they may mean."""
    for rule in chain.unreadable:
        if part.action != "deny" and any(rule.pattern.names_tool(tool) for tool in tools):
            text = f"the {rule.action} rule {rule.rule.pattern} cannot be read: {rule.pattern.problem}"
            return replace(
                part, action="ask", human_only=(*part.human_only, HumanOnly("rule", text)), notes=(text,)
            )
    return part


def _path_part(
    tool: JudgedTool, path: tuple[ArgumentRole, str], chain: RuleChain, place: PathContext, now: datetime
) -> JudgedPart | Judgement:
    role, text = path
    names = resolve(text, place)
    if names.refused is not None:
        return refusal(text, f"`{excerpt(text)}` is not a path that {tool.name} takes: {names.refused}")
    subject = PathSubject(names_for(tool.name, role), names)
    kind = "edit" if role == "writes" else "read"
    return replace(judge_path(subject, kind, chain, place, now), kind="call")


def _plain_part(subject: CallSubject, chain: RuleChain, now: datetime) -> JudgedPart | Judgement:
    if subject.url is not None and subject.url.refused is not None:
        return refusal(subject.main or "", f"the URL is refused: {subject.url.refused}")
    ruling: Ruling = chain.decide(subject, now)
    notes = ("the URL carries user information",) if subject.url is not None and subject.url.userinfo else ()
    return JudgedPart(
        "call",
        subject.main or subject.tool.name,
        ruling.action,
        ruling,
        notes if ruling.action == "ask" else (),
        subject=subject,
    )


def _reachable(part: JudgedPart | Judgement, url: Url, place: PathContext) -> JudgedPart | Judgement:
    """`part`, or a refusal where the tool would refuse whatever the rules say (ADR 0036)."""
    reason = None if url.refused else unreachable(url, place.web_hosts)
    return part if reason is None else refusal(url.given, f"the URL is refused: {reason}")


def _with_managed_floor(part: JudgedPart) -> JudgedPart:
    rule = part.ruling.rule
    if part.action != "ask" or rule is None or rule.scope != "managed":
        return part
    only = HumanOnly("managed", f"the policy asks: {rule.rule.pattern}")
    return replace(part, human_only=tuple(dict.fromkeys((*part.human_only, only))))
