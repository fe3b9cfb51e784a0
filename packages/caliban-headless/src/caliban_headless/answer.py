"""What the other end may answer to a question, read strictly: anything else denies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast, get_args

from caliban_common.permission import Action, PermissionMode
from caliban_common.text import one_line
from caliban_drive.lasting import DESTINATIONS, PermissionUpdate, RuleWords

MODES: Final = tuple(mode for mode in get_args(PermissionMode) if mode != "disabled")
MAX_RULES: Final = 100
MESSAGE_CHARS: Final = 4000
_NOT_TAKEN: Final = ("replaceRules", "removeRules", "addDirectories", "removeDirectories")


class HostAnswer(NamedTuple):
    """An answer. `updated_input` is another input than was shown; `objection` says why no update counts."""

    allows: bool
    message: str = ""
    interrupts: bool = False
    updated_input: Mapping[str, Any] | None = None
    updates: tuple[PermissionUpdate, ...] = ()
    objection: str | None = None


def rule_words(pattern: str) -> RuleWords:
    """A pattern of ours in the words of the dialect."""
    tool, paren, rest = pattern.partition("(")
    if paren and ":" not in tool and rest.endswith(")"):
        return RuleWords(tool, rest[:-1])
    tool, colon, rest = pattern.partition(":")
    return RuleWords(tool, rest if colon else None)


def host_answer(response: Mapping[str, Any], tool_use_id: str, shown: Mapping[str, Any]) -> HostAnswer:
    """The answer in a `response`, about the call `tool_use_id` whose input was `shown`."""
    if response.get("subtype") == "error":
        words = one_line(str(response.get("error", "")), max_chars=MESSAGE_CHARS)
        return _denied(f"whoever was asked could not decide: {words or 'no reason given'}")
    body = response.get("response")
    if response.get("subtype") != "success" or not isinstance(body, Mapping):
        return _malformed("it is neither a success nor an error")
    if body.get("toolUseID") not in (None, tool_use_id):
        return _malformed("it is about another call")
    if body.get("behavior") == "deny":
        message, interrupts = body.get("message"), body.get("interrupt", False)
        words = message.strip()[:MESSAGE_CHARS] if isinstance(message, str) else ""
        return _denied(words or "the user said no", interrupts=interrupts is True)
    if body.get("behavior") != "allow":
        return _malformed("its behavior is neither allow nor deny")
    changed = body.get("updatedInput")
    if changed is not None and not isinstance(changed, Mapping):
        return _malformed("its updatedInput is no object")
    if changed == shown:
        changed = None
    updates, objection = _updates(body.get("updatedPermissions"))
    return HostAnswer(allows=True, updated_input=changed, updates=updates, objection=objection)


def _updates(value: object) -> tuple[tuple[PermissionUpdate, ...], str | None]:
    """All updates, or none and why: one that cannot be read voids the others."""
    if value is None:
        return (), None
    if not isinstance(value, list):
        return (), "updatedPermissions is no list"
    updates: list[PermissionUpdate] = []
    for number, item in enumerate(value, 1):
        update = _update(item)
        if isinstance(update, str):
            return (), f"update {number}: {update}"
        updates.append(update)
    return tuple(updates), None


def _update(item: object) -> PermissionUpdate | str:
    if not isinstance(item, Mapping):
        return "it is no object"
    kind, destination = item.get("type"), item.get("destination")
    if kind in _NOT_TAKEN:
        return f"{kind} is not part of this version"
    if destination not in DESTINATIONS:
        return f"its destination is none of {', '.join(DESTINATIONS)}"
    if kind == "setMode":
        mode = item.get("mode")
        if mode not in MODES:
            return "its mode is not known"
        return PermissionUpdate(destination=destination, mode=cast(PermissionMode, mode))
    if kind != "addRules":
        return "its type is not known"
    behavior, rules = item.get("behavior"), item.get("rules")
    if behavior not in get_args(Action):
        return "its behavior is none of allow, ask, deny"
    if not isinstance(rules, list) or not 0 < len(rules) <= MAX_RULES:
        return f"its rules are no list of 1 to {MAX_RULES}"
    words = [_rule(rule) for rule in rules]
    if None in words:
        return "a rule names no tool, or its ruleContent is no text"
    return PermissionUpdate(
        destination=destination,
        behavior=cast(Action, behavior),
        rules=tuple(word for word in words if word is not None),
    )


def _rule(item: object) -> RuleWords | None:
    if not isinstance(item, Mapping):
        return None
    tool, content = item.get("toolName"), item.get("ruleContent")
    if not isinstance(tool, str) or not tool.strip():
        return None
    if "ruleContent" in item and (not isinstance(content, str) or not content.strip()):
        return None
    return RuleWords(tool, content)


def _denied(message: str, *, interrupts: bool = False) -> HostAnswer:
    return HostAnswer(allows=False, message=message, interrupts=interrupts)


def _malformed(why: str) -> HostAnswer:
    return _denied(f"the answer could not be read: {why}")
