"""Rules that other harnesses wrote, as rules of ours: what has no equal is named, and nothing gets wider."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from caliban_common.permission import Action
from caliban_common.text import one_line
from caliban_permissions.errors import ImportRefused, RuleError
from caliban_permissions.names import EDITORS, READER, SEARCHERS, SHELL
from caliban_permissions.rules.rule import Rule, parse_rules

BUCKETS: Final[tuple[Action, ...]] = ("deny", "ask", "allow")
MAX_REMARKS_CHARS: Final = 200
_CODEX_DECISIONS: Final[Mapping[str, Action]] = MappingProxyType(
    {"allow": "allow", "prompt": "ask", "forbidden": "deny"}
)
_CODEX_MODES: Final = ("approval_policy", "sandbox_mode", "sandbox_workspace_write", "permissions_profile")
_NO_PREFIX: Final = frozenset("*?[]{}\\()\n\r")


class ImportedRules(Struct, frozen=True, kw_only=True):
    """The rules that have an equal, in order, and a remark for each that has none."""

    rules: tuple[Rule, ...]
    left_out: tuple[str, ...] = ()


def import_table(data: Mapping[str, Any], *, foreign: bool) -> ImportedRules:
    """Rules from the data of a JSON or TOML file.

    `foreign` says that the buckets are another harness's, whose patterns are translated; ordered rules and
    `[[rule]]`s are our own in every file. Raises `ImportRefused` where there are no rules to be found.
    """
    inner = data.get("permissions")
    table = inner if isinstance(inner, Mapping) else data
    lists = [name for name in (*BUCKETS, "rules", "rule") if isinstance(table.get(name), list)]
    if isinstance(data.get("rule"), list):
        lists = [*(name for name in lists if name != "rule"), "rule"]
        table = {**table, "rule": data["rule"]}
    if not lists:
        modes = [name for name in _CODEX_MODES if name in data]
        if modes:
            raise ImportRefused(
                f"`{modes[0]}` says how Codex asks, and is no rule",
                hint="its rules stand in files that end in .rules",
            )
        raise ImportRefused("there are no permission rules in it")
    taken: list[Rule] = []
    remarks: list[str] = [f"permissions.{name}: it is no rule" for name in _others(table, inner)]
    for name in ("deny", "ask", "rules", "rule", "allow"):
        if name in lists:
            for place, item in enumerate(table[name]):
                rule = _rule(name, item, foreign=foreign)
                if isinstance(rule, Rule):
                    taken.append(rule)
                else:
                    remarks.append(
                        f"{name}[{place}] {one_line(str(item), max_chars=MAX_REMARKS_CHARS)}: {rule}"
                    )
    return ImportedRules(rules=tuple(dict.fromkeys(taken)), left_out=tuple(remarks))


def import_codex_rules(text: str) -> ImportedRules:
    """Rules from a .rules file of Codex, a list of calls of `prefix_rule`. Raises `ImportRefused`.

    The file is read as text and never run.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportRefused(f"it is no list of rules: {one_line(str(error))}") from error
    taken: list[Rule] = []
    remarks: list[str] = []
    for statement in body:
        for rule in _codex_rules(statement):
            if isinstance(rule, Rule):
                taken.append(rule)
            else:
                remarks.append(f"line {statement.lineno}: {rule}")
    return ImportedRules(rules=tuple(dict.fromkeys(taken)), left_out=tuple(remarks))


def _others(table: Mapping[str, Any], inner: object) -> Iterator[str]:
    if inner is not None:
        yield from (str(name) for name in table if name not in (*BUCKETS, "rules", "rule"))


def _rule(name: str, item: object, *, foreign: bool) -> Rule | str:
    """The rule that `item` of the list `name` says, or why there is none."""
    if name in ("rules", "rule"):
        try:
            (rule,) = parse_rules({name: [item]})
        except RuleError as error:
            return error.message.partition(": ")[2] or error.message
        if rule.expires_at is not None and rule.granted_until() is None:
            return "its end cannot be read"
        return rule.problem or rule
    if not isinstance(item, str) or not item.strip():
        return "it is no pattern"
    action = next(action for action in BUCKETS if action == name)
    pattern = _from_claude(item.strip(), action) if foreign else (item, "")
    return pattern[1] or _checked(pattern[0], action)


def _checked(pattern: str, action: Action, reason: str | None = None) -> Rule | str:
    rule = Rule(pattern=pattern, action=action, reason=reason)
    return rule.problem or rule


def _from_claude(pattern: str, action: Action) -> tuple[str, str]:
    """A pattern of Claude Code as one of ours, and why there is none."""
    name, bracket, rest = pattern.partition("(")
    argument = rest.removesuffix(")")
    if name.startswith("mcp__"):
        if bracket:
            return "", "there a rule for a server's tool has no argument"
        bare = name.count("__") == 1
        return (f"{name}__*" if bare and action == "allow" else name), ""
    if not bracket:
        return name, ""
    if not rest.endswith(")"):
        return "", "its bracket has no end"
    if name in (READER, *EDITORS, *SEARCHERS) and argument[:1] == "/" and argument[:2] != "//":
        return "", "there / is the directory of the file of settings: say ./ (the workspace) or // (the root)"
    if name == SHELL and ":*" in argument[:-2]:
        return "", "`:*` has a meaning at the end only"
    return f"{name}({argument})", ""


def _codex_rules(statement: ast.stmt) -> Iterator[Rule | str]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        yield "it is no rule"
        return
    if call.func.id != "prefix_rule" or call.args:
        yield f"`{call.func.id}` has no equal here"
        return
    try:
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        yield "it is no plain rule"
        return
    action = _CODEX_DECISIONS.get(str(given.get("decision", "allow")))
    words = given.get("pattern")
    if action is None or not isinstance(words, (list, tuple)) or not words:
        yield "it has no pattern, or a decision that is none of allow, prompt and forbidden"
        return
    reason = given.get("justification")
    for line in _lines(words):
        if line is None:
            yield "a word of it has blanks or signs that a pattern reads otherwise"
        else:
            spoken = reason if isinstance(reason, str) and action == "deny" else None
            yield _checked(f"{SHELL}({line}:*)", action, spoken)


def _lines(words: Sequence[object]) -> Iterator[str | None]:
    """The beginnings of commands that `words` stand for; a list among them are alternatives."""
    lines: list[str] = [""]
    for word in words:
        others = word if isinstance(word, (list, tuple)) else [word]
        if not others or any(not isinstance(other, str) or not _is_plain(other) for other in others):
            yield None
            return
        lines = [f"{line} {other}".lstrip() for line in lines for other in others]
        if len(lines) > 100:
            yield None
            return
    yield from lines


def _is_plain(word: str) -> bool:
    return bool(word) and not set(word) & _NO_PREFIX and not any(map(str.isspace, word)) and word[0] != "~"
