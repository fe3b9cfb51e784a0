"""What stands before the classifier: who may not be overruled, and the lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.permission import Decision, RuleMatch
from caliban_common.tool import ToolSpec
from caliban_permissions.auto.lists import FILE_NAME, AutoLists
from caliban_permissions.auto.question import question
from caliban_permissions.characters import hidden_character
from caliban_permissions.engine import Engine
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import Judgement
from caliban_permissions.rules.chain import RuleChain
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.rule import RuleSet

Standing: TypeAlias = Literal["settled", "listed", "person", "open"]
"""`settled`: the rules decide it; `listed`: a list does; `person`: no classifier may; `open`: one may."""

_MAX_NAMED = 4


class AutoRuling(Struct, frozen=True, kw_only=True):
    """Where a call stands before the classifier.

    `decision` is what holds unless a classifier allows an `open` call; an ask in it is for a person.
    `question` is what the classifier is to be asked about an `open` one.
    """

    standing: Standing
    decision: Decision
    question: str = ""


class AutoJudge:
    """Judges calls for one engine in the mode `auto`. Nothing that it adds lifts what the engine denies."""

    def __init__(self, engine: Engine, lists: AutoLists) -> None:
        self.engine = engine.asking()
        self._allow = lists.allow
        place = engine._place
        self._binding = RuleChain(RuleSet(user=lists.binding), place, engine._vouched.values())

    def judge(self, tool: ToolSpec, args: Mapping[str, Any]) -> AutoRuling:
        """The ruling on a call: hard deny before soft deny before allow, and only where the rules ask."""
        engine = self.engine
        decision = engine.decide(tool, args)
        if decision.action != "ask":
            return AutoRuling(standing="settled", decision=decision)
        judged = engine._judged(tool)
        judgement = engine._judge(judged, args, engine._chain)
        barrier = _barrier(judged, judgement, args)
        if barrier is not None:
            return _for_person(decision, barrier)
        listed = engine._judge(judged, args, self._binding)
        if listed.action == "deny":
            entry = listed.rule
            reason = f"the auto mode refuses it by hard_deny {entry}" if entry else listed.reason
            refused = Decision(action="deny", reason=reason, by="auto")
            return _listed(refused, listed.match)
        if listed.explicit or listed.human_only:
            rule = _leaving(listed)
            why = listed.human_only_reason if rule is None else f"soft_deny {_entry(rule)} leaves it to you"
            return _listed(_asked(decision, why, by="auto"), None if rule is None else _match(rule))
        lifted = engine._with_allows(self._allow)
        if lifted.allows(tool, args):
            reason = "allowed by a list of the auto mode"
            allowed = engine.allowed(tool, args, reason, by="auto", asked=decision)
            return _listed(allowed, self._lifting(lifted._verdict(judged, args)[0]))
        if not judged.vouched:
            return _for_person(decision, f"only {tool.name} itself says what it does")
        asked = question(tool.name, args, str(engine._place.cwd))
        if asked is None:
            return _for_person(decision, "the call is too long to be judged")
        return AutoRuling(standing="open", decision=decision, question=asked)

    def _lifting(self, judgement: Judgement) -> RuleMatch | None:
        """The entry without which the rules would have asked: they may cover other parts themselves."""
        rules = (part.ruling.rule for part in judgement.parts)
        lifting = (rule for rule in rules if rule is not None and rule.scope == "cli")
        return next((_match(rule) for rule in lifting if _entry(rule) in self._allow), None)


def _barrier(tool: JudgedTool, judgement: Judgement, args: Mapping[str, Any]) -> str | None:
    """Why neither a list nor a classifier may answer in a person's place."""
    if judgement.human_only:
        return "; ".join(dict.fromkeys(only.text for only in judgement.human_only))
    if judgement.explicit:
        return f"the rule {judgement.rule} asks" if judgement.rule else "a rule asks"
    if judgement.opaque:
        named = ", ".join(list(dict.fromkeys(judgement.opaque))[:_MAX_NAMED])
        return f"what runs cannot be told from {named}"
    known = tool.spec.input_schema.get("properties")
    if tool.vouched and isinstance(known, Mapping):
        unknown = next((name for name in args if name not in known), None)
        if unknown is not None:
            return f"{tool.name} has no argument {unknown!r}"
    hidden = next(filter(None, map(hidden_character, _texts(args))), None)
    return None if hidden is None else f"it holds the character {hidden}, which does not show"


def _leaving(listed: Judgement) -> CompiledRule | None:
    """The entry that leaves the call to a person; `None` where something keeps the lists from being read."""
    asking = (part for part in listed.parts if part.action == "ask" and part.ruling.explicit)
    return next((part.ruling.rule for part in asking if part.ruling.rule is not None), None)


def _entry(rule: CompiledRule) -> str:
    return rule.rule.pattern


def _match(rule: CompiledRule) -> RuleMatch:
    return RuleMatch(pattern=_entry(rule), action=rule.action, source=FILE_NAME)


def _listed(decision: Decision, match: RuleMatch | None) -> AutoRuling:
    """The ruling of a list; without an entry behind it the decision stands on the rule that it had."""
    if match is not None:
        decision = replace(decision, rule=match.pattern, match=replace(match, source=FILE_NAME))
    return AutoRuling(standing="listed", decision=decision)


def _texts(value: object) -> Iterator[str]:
    """Every text in an input; the engine has refused what is nested too deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _for_person(decision: Decision, why: str) -> AutoRuling:
    return AutoRuling(standing="person", decision=_asked(decision, why))


def _asked(decision: Decision, why: str, *, by: Literal["auto"] | None = None) -> Decision:
    reason = decision.reason if why in decision.reason else f"{decision.reason} (auto mode: {why})"
    return replace(decision, reason=reason, by=by or decision.by)
