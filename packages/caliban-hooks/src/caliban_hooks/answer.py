"""The answer of a hook, from its program's exit code and output, or from the body of a response.

Claude's protocol: exit code 2 objects; JSON on standard output says more. What cannot be read for certain is
no answer (`HookFailed`): cut off or doubled JSON, an unknown decision, an answer to another event.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from caliban_common.hook import HookDecision, HookReply
from caliban_common.text import one_line
from caliban_hooks.errors import HookFailed
from caliban_hooks.events import EVENTS, TEXT_IS_CONTEXT
from caliban_hooks.plain import plain

MAX_OUTPUT_BYTES: Final = 64 * 1024
"""How much of a hook's output is read; a longer answer is invalid."""

MAX_REASON_CHARS: Final = 8 * 1024
MAX_CONTEXT_CHARS: Final = 32 * 1024

_DECISIONS: Final[Mapping[str, HookDecision]] = {
    "allow": "continue",
    "deny": "deny",
    "ask": "ask",
    "defer": "ask",
}
_TELLTALES: Final = (b'"hookSpecificOutput"', b'"permissionDecision"', b'"decision"')
"""Found in plain text only where an answer was meant."""

_KNOWN: Final = frozenset(
    {
        *("continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason"),
        *("hookSpecificOutput", "additionalContext", "async", "asyncTimeout"),
        *("permissionDecision", "permissionDecisionReason", "updatedInput"),
    }
)
_KNOWN_INSIDE: Final = frozenset(
    {
        *("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"),
        *("additionalContext", "updatedToolOutput", "updatedMCPToolOutput", "decision", "action", "content"),
    }
)


QUESTIONS: Final = ("Elicitation", "ElicitationResult")
"""Events at which a hook may answer a server."""


class ProgramEnd(Struct, frozen=True, kw_only=True):
    """How a program ended. `stdout` is `None` where it printed more than is read."""

    exit_code: int
    stdout: bytes | None
    stderr: str


class HookAnswer(Struct, frozen=True, kw_only=True):
    """The answer of one hook. `message` is for a person; so are `remarks`, which are about the answer itself.

    `allows` says that it spoke for a call that somebody else may still deny.
    """

    decision: HookDecision = "continue"
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None
    updated_output: Any = None
    context: str = ""
    stop: bool = False
    message: str = ""
    remarks: tuple[str, ...] = ()
    allows: bool = False
    reply: HookReply | None = None


def program_answer(event: str, end: ProgramEnd, *, strict: bool = False) -> HookAnswer:
    """The answer of a program; with `strict` a code other than 0 and 2 is none. Raises `HookFailed`."""
    code = end.exit_code
    if code < 0:
        raise HookFailed(f"it was killed by signal {-code}")
    if code in (126, 127):
        raise HookFailed(f"what it names could not be run (exit code {code}){_tail(end.stderr)}")
    if code > 128:
        raise HookFailed(f"it was killed (exit code {code}){_tail(end.stderr)}")
    if strict and code not in (0, 2):
        raise HookFailed(f"it ended with exit code {code}{_tail(end.stderr)}")
    if code == 2:
        return _objection(event, end)
    if end.stdout is None:
        raise HookFailed(f"it printed more than {MAX_OUTPUT_BYTES // 1024} KiB")
    answer = text_answer(event, end.stdout)
    if code == 0:
        return answer
    remark = f"it ended with exit code {code}, which is neither yes (0) nor no (2){_tail(end.stderr)}"
    return HookAnswer(  # who failed may object, and change nothing
        decision=answer.decision,
        reason=answer.reason,
        stop=answer.stop,
        message=answer.message,
        remarks=(*answer.remarks, remark),
    )


def text_answer(event: str, raw: bytes) -> HookAnswer:
    """The answer in the output of a hook that succeeded: JSON, or text. Raises `HookFailed`."""
    try:
        text = raw.decode("utf-8").strip().removeprefix("\ufeff").strip()
    except UnicodeDecodeError:
        raise HookFailed("what it printed is not UTF-8") from None
    if text.startswith("{"):
        return json_answer(event, text)
    if any(word in raw for word in _TELLTALES):
        raise HookFailed("what it printed holds an answer, and more than that: only the answer may be there")
    context = plain(text, max_chars=MAX_CONTEXT_CHARS) if event in TEXT_IS_CONTEXT else ""
    return HookAnswer(context=context)


def json_answer(event: str, text: str) -> HookAnswer:
    """The answer in one JSON object. Raises `HookFailed`."""
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise HookFailed(f"its answer is no JSON: {one_line(str(error), max_chars=120)}") from None
    if not isinstance(data, dict):
        raise HookFailed("its answer is no JSON object")
    return _read(event, data)


def _read(event: str, data: dict[str, Any]) -> HookAnswer:
    inside = data.get("hookSpecificOutput", {})
    if not isinstance(inside, dict):
        raise HookFailed("hookSpecificOutput is no object")
    named = inside.get("hookEventName", event)
    if named != event:
        raise HookFailed(f"it answers to {_shown(named)}, and was asked about {event}")
    flat = {name: data[name] for name in _KNOWN & data.keys() if name not in inside or name == "decision"}
    both = {**flat, **{name: value for name, value in inside.items() if name != "decision"}}
    decision, reason, allows = _decided(event, both, inside)
    going = _flag(data, "continue", True)
    reason = reason if going else _text(data, "stopReason") or reason
    _flag(data, "suppressOutput", False)
    unknown = sorted((data.keys() - _KNOWN) | (inside.keys() - _KNOWN_INSIDE))
    remarks = [f"its answer has `{one_line(name, max_chars=40)}`, which is not known" for name in unknown]
    if allows and event == "PermissionRequest":
        remarks.append("it allows what the rules leave to a person: no hook can")
    return HookAnswer(
        decision=decision,
        reason=plain(reason, max_chars=MAX_REASON_CHARS),
        updated_input=_input(event, both, remarks),
        updated_output=_output(event, both, remarks),
        context=plain(_text(both, "additionalContext"), max_chars=MAX_CONTEXT_CHARS),
        stop=not going,
        message=plain(_text(data, "systemMessage"), max_chars=MAX_REASON_CHARS),
        reply=_reply(event, inside, remarks),
        remarks=tuple(remarks),
        allows=allows,
    )


def _reply(event: str, inside: dict[str, Any], remarks: list[str]) -> HookReply | None:
    """The answer to what a server asks."""
    action, content = inside.get("action"), inside.get("content")
    if action is None and content is None:
        return None
    if event not in QUESTIONS:
        remarks.append(f"its action does nothing at {event}")
        return None
    if action not in ("accept", "decline", "cancel"):
        raise HookFailed(f"the action {_shown(action)} is none of accept, decline, cancel")
    if content is not None and not isinstance(content, dict):
        raise HookFailed("its content is no object")
    return HookReply(action=action, content=content)


def _decided(event: str, both: dict[str, Any], inside: dict[str, Any]) -> tuple[HookDecision, str, bool]:
    """The strictest of all decisions in an answer, its reason, and whether one of them allows."""
    decisions: list[tuple[HookDecision, str]] = []
    old = both.get("decision")
    if old is not None:
        if old not in ("block", "approve"):
            raise HookFailed(f"the decision {_shown(old)} is none of block, approve")
        decisions.append(("deny" if old == "block" else "continue", _text(both, "reason")))
    permission = both.get("permissionDecision")
    if permission is not None:
        if not isinstance(permission, str) or permission not in _DECISIONS:
            raise HookFailed(
                f"the permissionDecision {_shown(permission)} is none of {', '.join(_DECISIONS)}"
            )
        reason = _text(both, "permissionDecisionReason") or _text(both, "reason")
        decisions.append((_DECISIONS[permission], reason))
    if "decision" in inside:
        decisions.append(_behaviour(event, inside["decision"]))
    if not decisions:
        return "continue", _text(both, "reason"), False
    decision, reason = max(decisions, key=lambda item: ("continue", "ask", "deny").index(item[0]))
    return decision, reason, any(one == "continue" for one, _ in decisions)


def _behaviour(event: str, value: object) -> tuple[HookDecision, str]:
    """The decision on a permission request."""
    if event != "PermissionRequest" or not isinstance(value, dict):
        raise HookFailed("the decision in hookSpecificOutput is one on a permission request")
    behaviour = value.get("behavior")
    if behaviour not in ("allow", "deny"):
        raise HookFailed(f"the behavior {_shown(behaviour)} is none of allow, deny")
    return ("deny" if behaviour == "deny" else "continue"), _text(value, "message")


def _input(event: str, both: dict[str, Any], remarks: list[str]) -> Mapping[str, Any] | None:
    value = both.get("updatedInput")
    if value is None:
        return None
    if event != "PreToolUse":
        remarks.append(f"its updatedInput does nothing at {event}")
        return None
    if not isinstance(value, dict):
        raise HookFailed("its updatedInput is no object")
    return value


def _output(event: str, both: dict[str, Any], remarks: list[str]) -> Any:
    value = both.get("updatedToolOutput", both.get("updatedMCPToolOutput"))
    if value is not None and EVENTS[event].role != "feedback":
        remarks.append(f"its updatedToolOutput does nothing at {event}")
        return None
    return value


def _objection(event: str, end: ProgramEnd) -> HookAnswer:
    """The objection of a program that exited with 2: its standard error, or the reason in its JSON."""
    reason = plain(end.stderr, max_chars=MAX_REASON_CHARS).strip()
    try:
        answer = text_answer(event, end.stdout or b"")
    except HookFailed:
        answer = HookAnswer()
    own = answer.reason if answer.decision == "deny" else ""
    return HookAnswer(
        decision="deny",
        reason=own or reason,
        stop=answer.stop,
        message=answer.message,
        context=answer.context,
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("it has a member twice")
    return data


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise HookFailed(f"its {name} is no text")
    return value


def _flag(data: Mapping[str, Any], name: str, default: bool) -> bool:
    value = data.get(name, default)
    if not isinstance(value, bool):
        raise HookFailed(f"its {name} is {_shown(value)} and neither true nor false")
    return value


def _shown(value: object) -> str:
    return one_line(repr(value), max_chars=60)


def _tail(stderr: str) -> str:
    words = one_line(stderr.strip(), max_chars=300)
    return f": {words}" if words else ""
