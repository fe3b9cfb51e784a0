"""What stands before the classifier: who may not be overruled, and the lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.permission import Decision
from caliban_common.tool import ToolSpec
from caliban_permissions.auto.lists import AutoLists
from caliban_permissions.auto.question import question
from caliban_permissions.characters import hidden_character
from caliban_permissions.engine import Engine
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import Judgement
from caliban_permissions.rules.chain import RuleChain
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
        pattern = listed.rule
        if listed.action == "deny":
            reason = f"the auto mode refuses it by hard_deny {pattern}" if pattern else listed.reason
            refused = Decision(action="deny", reason=reason, rule=pattern, match=decision.match, by="auto")
            return AutoRuling(standing="listed", decision=refused)
        if listed.explicit or listed.human_only:
            why = _why_asked(listed)
            return AutoRuling(standing="listed", decision=_asked(decision, why, by="auto"))
        if engine._would_allow(tool, args, self._allow):
            reason = "allowed by a list of the auto mode"
            allowed = engine.allowed(tool, args, reason, by="auto", asked=decision)
            return AutoRuling(standing="listed", decision=allowed)
        if not judged.vouched:
            return _for_person(decision, f"only {tool.name} itself says what it does")
        asked = question(tool.name, args, str(engine._place.cwd))
        if asked is None:
            return _for_person(decision, "the call is too long to be judged")
        return AutoRuling(standing="open", decision=decision, question=asked)


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


def _why_asked(listed: Judgement) -> str:
    """Which entry leaves the call to a person, or what keeps the lists from being read on it."""
    asking = (part for part in listed.parts if part.action == "ask" and part.ruling.explicit)
    rule = next((part.ruling.rule for part in asking if part.ruling.rule is not None), None)
    return listed.human_only_reason if rule is None else f"soft_deny {rule.rule.pattern} leaves it to you"


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
