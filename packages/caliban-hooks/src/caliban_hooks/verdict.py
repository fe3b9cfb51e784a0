"""The answers of all hooks to one event as one verdict: the strictest wins, whatever their order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from caliban_common.hook import HookDecision, HookVerdict
from caliban_common.message import ResultPart, TextBlock
from caliban_common.text import clean
from caliban_hooks.answer import HookAnswer
from caliban_hooks.events import EVENTS

_ORDER: Final[Sequence[HookDecision]] = ("continue", "ask", "deny")
CONFLICT: Final = "[two hooks changed this output, each to another one: it is left out]"


def merge(event: str, answers: Sequence[HookAnswer]) -> HookVerdict:
    """What hooks say together to `event`, by the role of that."""
    role = EVENTS[event].role
    decision: HookDecision = "continue"
    for answer in answers:
        decision = max(decision, answer.decision, key=_ORDER.index)
    reason = _joined(answer.reason for answer in answers if answer.decision == decision != "continue")
    context = _joined(answer.context for answer in answers)
    stopping = [answer for answer in answers if answer.stop]
    if role == "end":
        # Stopping is what is about to happen anyway, so it wins over a wish to go on.
        going = decision == "deny" and not stopping
        return HookVerdict(decision="deny" if going else "continue", reason=reason if going else "")
    if stopping:
        reason = _joined(answer.reason for answer in stopping) or reason
    if role == "feedback":
        objection = reason if decision == "deny" else ""
        return HookVerdict(
            reason=reason if stopping else "",
            updated_output=_output(answers),
            added_context=_joined((objection, context)),
            stop=bool(stopping),
        )
    if role == "observer":
        return HookVerdict(added_context=context, stop=bool(stopping), reason=reason if stopping else "")
    replies = [answer.reply for answer in answers if answer.reply is not None]
    if any(reply != replies[0] for reply in replies) and decision != "deny":
        return HookVerdict(decision="deny", reason="two hooks gave a server two different answers")
    inputs = _distinct(answer.updated_input for answer in answers)
    if len(inputs) > 1 and decision != "deny":
        return HookVerdict(decision="deny", reason="two hooks changed the input, each to another one")
    return HookVerdict(
        decision=decision,
        reason=reason,
        updated_input=inputs[0] if inputs else None,
        added_context=context,
        stop=bool(stopping),
        reply=replies[0] if replies else None,
    )


def _output(answers: Iterable[HookAnswer]) -> tuple[ResultPart, ...] | None:
    outputs = _distinct(answer.updated_output for answer in answers)
    if not outputs:
        return None
    return (TextBlock(text=CONFLICT if len(outputs) > 1 else clean(_text_of(outputs[0]))),)


def _text_of(value: Any) -> str:
    """A changed output as text: text, blocks of text, or whatever else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and set(value) == {"content"}:
        value = value["content"]
    if isinstance(value, str):
        return value
    blocks = value if isinstance(value, list) else ()
    texts = [
        text for block in blocks if isinstance(block, dict) and isinstance(text := block.get("text"), str)
    ]
    if blocks and len(texts) == len(blocks):
        return "\n".join(texts)
    return json.dumps(value, ensure_ascii=False)


def _distinct(values: Iterable[Any]) -> list[Any]:
    seen: dict[str, Any] = {}
    for value in values:
        if value is not None:
            seen.setdefault(json.dumps(value, sort_keys=True), value)
    return list(seen.values())


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))
