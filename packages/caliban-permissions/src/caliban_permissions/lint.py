"""What is wrong, useless or dangerous in a list of rules, for `perms lint` and for consent to a project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_permissions.commands.wrappers import SHELLS, WRAPPERS, program
from caliban_permissions.names import EDITORS, FETCHER, READER, SHELL
from caliban_permissions.rules.glob import TextGlob, compile_text
from caliban_permissions.rules.pattern import (
    Anywhere,
    ArgumentGlob,
    Bare,
    KeyPairs,
    Pattern,
    Prefix,
    parse_pattern,
)
from caliban_permissions.rules.rule import Rule
from caliban_permissions.rules.url import open_host
from caliban_permissions.side_effects import side_effects
from caliban_permissions.side_effects.interpreters import interpreter_evidence

FindingKind: TypeAlias = Literal[
    "unreadable", "duplicate", "unreachable", "grants code", "open host", "expiry", "not enforced"
]

_PROBE = ("__argument__",)


class LintFinding(Struct, frozen=True, kw_only=True):
    """One remark about the rule at `index`, with the rule's pattern and what to do about it."""

    kind: FindingKind
    index: int
    pattern: str
    message: str


def lint(rules: Sequence[Rule]) -> tuple[LintFinding, ...]:
    """Every finding about rules in the order of evaluation; empty when there is nothing to say."""
    patterns = [parse_pattern(rule.pattern) for rule in rules]
    findings: list[LintFinding] = []
    code = next((index for index, rule in enumerate(rules) if _runs_code(rule)), None)
    for index, (rule, pattern) in enumerate(zip(rules, patterns, strict=True)):
        findings += (
            LintFinding(kind=kind, index=index, pattern=rule.pattern, message=message)
            for kind, message in _remarks(rule, pattern)
        )
        earlier = next((n for n in range(index) if _shadows(rules[n], patterns[n], rule, pattern)), None)
        if earlier is not None:
            kind: FindingKind = "duplicate" if rules[earlier].pattern == rule.pattern else "unreachable"
            text = f"rule {earlier + 1} ({rules[earlier].pattern}) already decides every call that it matches"
            findings.append(LintFinding(kind=kind, index=index, pattern=rule.pattern, message=text))
        if code is not None and _guards_files(rule, pattern):
            allowed = f"rule {code + 1} ({rules[code].pattern})"
            text = f"programs that {allowed} allows can open the file; only a sandbox stops them"
            findings.append(LintFinding(kind="not enforced", index=index, pattern=rule.pattern, message=text))
    return tuple(findings)


def grants_code(rule: Rule) -> str | None:
    """Why allowing this is allowing arbitrary code, or `None`: what a consent screen must say."""
    pattern = parse_pattern(rule.pattern)
    if rule.action != "allow" or pattern.problem is not None:
        return None
    name = pattern.tool.prefix
    if not pattern.tool.exact:
        covers_shell = pattern.names_tool(SHELL)
        return "it allows every tool" if covers_shell else "it allows tools that nobody has seen yet"
    return _grants_commands(pattern) if name == SHELL else None


def describe(rule: Rule) -> str:
    """What the rule matches, in words."""
    pattern = parse_pattern(rule.pattern)
    if pattern.problem is not None:
        return f"nothing: {pattern.problem}"
    tool = "every tool" if pattern.text == "*" else _tool_part(pattern)
    match pattern.argument:
        case Bare():
            return f"every call of {tool}" if pattern.text != "*" else "every call of every tool"
        case Prefix(text):
            return f"commands that are `{text}` or begin with `{text} `"
        case Anywhere(text):
            return f"commands in which `{text}` occurs at the start of a word"
        case KeyPairs(_, pairs):
            fields = " and ".join(f"{'.'.join(path)} matches `{glob}`" for path, glob in pairs)
            return f"calls of {tool} whose {fields}"
        case ArgumentGlob(text) if pattern.tool.prefix == SHELL:
            return f"commands that match `{text}`, each command of a line on its own"
        case ArgumentGlob(text):
            return f"calls of {tool} whose main argument matches `{text}`"


def _runs_code(rule: Rule) -> bool:
    return parse_pattern(rule.pattern).names_tool(SHELL) and grants_code(rule) is not None


def _guards_files(rule: Rule, pattern: Pattern) -> bool:
    """Whether the rule denies or asks about single files."""
    guards = rule.action != "allow" and isinstance(pattern.argument, ArgumentGlob)
    return guards and pattern.tool.prefix in (READER, *EDITORS)


def _tool_part(pattern: Pattern) -> str:
    return pattern.text.partition("(")[0].partition(":")[0]


def _remarks(rule: Rule, pattern: Pattern) -> list[tuple[FindingKind, str]]:
    remarks: list[tuple[FindingKind, str]] = []
    if pattern.problem is not None:
        remarks.append(("unreadable", f"it matches nothing: {pattern.problem}"))
        return remarks
    if isinstance(pattern.argument, Anywhere) and not pattern.names_tool(SHELL):
        remarks.append(("unreadable", "`~` has a meaning for Bash only: it matches nothing"))
    if rule.expires_at is not None and rule.granted_until() is None:
        remarks.append(("expiry", f"its expiry {rule.expires_at!r} cannot be read"))
    grants = grants_code(rule)
    if grants is not None:
        remarks.append(("grants code", f"it grants arbitrary code: {grants}"))
    argument = pattern.argument
    fetches = rule.action == "allow" and pattern.tool.prefix == FETCHER
    if fetches and isinstance(argument, ArgumentGlob) and open_host(argument.text):
        remarks.append(("open host", "the end of the host is open, so that it covers hosts of anybody"))
    return remarks


def _grants_commands(pattern: Pattern) -> str | None:
    match pattern.argument:
        case Bare():
            return "it allows every command"
        case KeyPairs():
            return "it allows commands by another field than their text"
        case Anywhere(text) | ArgumentGlob(text) | Prefix(text):
            wildcard = isinstance(pattern.argument, (Prefix, Anywhere)) or not compile_text(text).exact
            return _grants_program(compile_text(text), wildcard=wildcard)


def _grants_program(glob: TextGlob, *, wildcard: bool) -> str | None:
    """Why a command pattern covers arbitrary code: no program, or one that runs what it is given."""
    words = tuple(glob.prefix.split())
    if not words:
        return "it allows every command"
    if not wildcard:
        return None
    name = program(words[0])
    interprets = bool(interpreter_evidence((words[0], *_PROBE)))
    if not interprets and name not in SHELLS and name not in WRAPPERS:
        return None
    beyond = any(item.word >= len(words) for item in side_effects((*words, *_PROBE)))
    named = len(words) > 1 and not beyond and not (interprets and words[-1].startswith("-"))
    return None if named else f"{name} runs any program it is given"


def _shadows(first: Rule, one: Pattern, second: Rule, other: Pattern) -> bool:
    """Whether every call that the second rule matches is decided by the first before it."""
    if one.problem is not None or other.problem is not None or first.expires_at is not None:
        return False
    if first.pattern == second.pattern:
        return True
    if not one.tool.matches(other.tool.prefix) or not (other.tool.exact or one.text == "*"):
        return one.text == "*"
    match one.argument:
        case Bare():
            return True
        case ArgumentGlob(text) if set(text) == {"*"}:
            return not isinstance(other.argument, Bare)
        case ArgumentGlob(text) | Prefix(text) if isinstance(other.argument, (ArgumentGlob, Prefix)):
            head = text[:-1] if isinstance(one.argument, ArgumentGlob) else text + " "
            plain = isinstance(one.argument, Prefix) or (text.endswith("*") and compile_text(text[:-1]).exact)
            return plain and other.argument.text.startswith(head)
        case _:
            return False
