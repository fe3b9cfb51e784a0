"""What a person can do about a call that was denied because nobody could be asked.

Whatever is printed was tried on the engine before: a remedy is named only where the call would then run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from caliban_common.tool import ToolSpec
from caliban_permissions.characters import hidden_character
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import JudgedPart, Judgement
from caliban_permissions.paths import PathContext, resolve
from caliban_permissions.rules.glob import escaped, literal_text
from caliban_permissions.rules.pattern import ArgumentGlob, parse_pattern

_MAX_NAMED = 4
_MAX_CHARS = 300
_BLANKS = r"[\x00-\x1f\x7f]+| {2,}"


class RemedyWords(Struct, frozen=True, kw_only=True):
    """What a face calls the remedies, each behind "run with".

    `rule` is an allow rule, with its pattern as one word of a shell in the place of `{}`; several are put
    together with `joint`. `anything` turns every ask into an allow, `edits` allows those in the workspace.
    `approved` is what carries out a plan that a person has read.
    """

    rule: str = "the allow rule {}"
    joint: str = " and "
    anything: str = "`auto_allow` (dangerous: every ask becomes an allow)"
    edits: str = "the mode acceptEdits"
    approved: str = "another mode than plan"


LIBRARY_WORDS: Final = RemedyWords()
"""What the options of an engine are called where no face gave them names of its own."""


class Trial:
    """The engine that denied a call, to be asked again with more rules.

    `unasked` says whether it runs once every ask is an allow.
    """

    def __init__(
        self,
        tool: JudgedTool,
        args: Mapping[str, Any],
        place: PathContext,
        allows: Callable[[ToolSpec, Mapping[str, Any], tuple[str, ...]], bool],
        unasked: bool,
    ) -> None:
        self.tool = tool
        self.args = args
        self.place = place
        self.unasked = unasked
        self._allows = allows

    def with_rules(self, patterns: tuple[str, ...]) -> bool:
        """Whether the call runs once the patterns are allowed on the command line."""
        return bool(patterns) and self._allows(self.tool.spec, self.args, patterns)


def headless_reason(
    judgement: Judgement, suggestions: tuple[str, ...], trial: Trial, words: RemedyWords
) -> str:
    """The reason of a deny that was an ask, with the least permissive remedy first."""
    remedy = _remedy(judgement, suggestions, trial, words)
    return f"{judgement.asked_reason}. Nobody can be asked here. {remedy}"


def _remedy(judgement: Judgement, suggestions: tuple[str, ...], trial: Trial, words: RemedyWords) -> str:
    patterns = _narrow(judgement, suggestions, trial)
    anything = trial.unasked
    if patterns:
        rules = words.joint.join(words.rule.format(_quoted(pattern)) for pattern in patterns)
        others = [f"or with {words.anything}"] if anything else []
        if trial.tool.edits and not judgement.human_only and not judgement.explicit:
            others = [f"or all edits in the workspace with {words.edits}"]
        return f"{', '.join([f'To allow it, run with {rules}', *others])}."
    if trial.tool.spec.ends_plan and any(only.kind == "plan" for only in judgement.human_only):
        return f"Put the plan into your answer; once it is approved, it is carried out with {words.approved}."
    asking = _asking(judgement)
    if asking is not None:
        return f"No rule on the command line overrules it: {asking}."
    why = _why_none(judgement)
    if anything:
        return f"No narrow rule can allow it{why}: only {words.anything} would."
    if judgement.human_only:
        return f"No option allows it{why}: {judgement.human_only_reason}."
    return f"No option allows it{why}."


def _narrow(judgement: Judgement, suggestions: tuple[str, ...], trial: Trial) -> tuple[str, ...]:
    """The narrowest patterns that allow the call; none where what runs cannot be told."""
    if judgement.command is not None and judgement.command.unbounded:
        return ()
    if len(suggestions) > _MAX_NAMED:
        suggestions = ()
    for patterns in (*_exact(trial), suggestions):
        if trial.with_rules(patterns):
            return patterns
    return ()


def _exact(trial: Trial) -> Iterator[tuple[str, ...]]:
    """A pattern that means nothing but this call, where there is one that fits on a line."""
    tool, args = trial.tool, trial.args
    for name, role in tool.roles.items():
        value = args.get(name)
        if not isinstance(value, str) or role == "directory":
            continue
        text = value
        if role in ("reads", "searches", "writes"):
            names = resolve(value, trial.place)
            text = names.canonical if names.refused is None and names.uncertain is None else ""
        pattern = f"{tool.name}:{escaped(text)}"
        if _means_only(pattern, text):
            yield (pattern,)


def _means_only(pattern: str, text: str) -> bool:
    """Whether the pattern, typed on a command line, is read as this text and nothing else."""
    if not text or text != text.strip() or "\n" in text or len(text) > _MAX_CHARS or hidden_character(text):
        return False
    parsed = parse_pattern(pattern)
    argument = parsed.argument
    readable = parsed.problem is None and isinstance(argument, ArgumentGlob)
    return readable and isinstance(argument, ArgumentGlob) and literal_text(argument.text) == text


def _asking(judgement: Judgement) -> str | None:
    """The rule of a person that asks, and where it stands."""
    part = next((part for part in judgement.parts if _asks(part)), None)
    if part is None or part.ruling.rule is None:
        return None
    rule = part.ruling.rule
    if rule.scope == "cli":
        where = "on the command line comes before every allow rule there"
        return f"the ask rule {rule.rule.pattern} {where}; leave it out"
    if rule.scope == "managed":
        return f"the ask rule {rule.rule.pattern} of the managed settings holds against every other rule"
    where = f"the {rule.rule.source or rule.scope} settings"
    return f"the ask rule {rule.rule.pattern} of {where} asks first; change it there"


def _asks(part: JudgedPart) -> bool:
    return part.action == "ask" and part.ruling.explicit and part.ruling.action == "ask"


def _why_none(judgement: Judgement) -> str:
    if not judgement.opaque:
        return ""
    named = ", ".join(list(dict.fromkeys(judgement.opaque))[:_MAX_NAMED])
    return f" (what runs cannot be told from {named})"


def _quoted(pattern: str) -> str:
    """The pattern as one word of a shell, blanks in such a form that a line of text keeps them."""
    if re.search(_BLANKS, pattern):
        plain = pattern.replace("\\", "\\\\").replace("'", "\\'")
        shown = re.sub(_BLANKS, lambda blanks: "".join(f"\\x{ord(char):02x}" for char in blanks[0]), plain)
        return f"$'{shown}'"
    return "'" + pattern.replace("'", "'\\''") + "'"
