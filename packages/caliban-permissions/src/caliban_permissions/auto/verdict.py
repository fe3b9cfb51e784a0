"""What the classifier may answer. Anything but the one documented form is no answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct

from caliban_common.text import one_line
from caliban_permissions.errors import BadVerdict

Label: TypeAlias = Literal["allow", "soft_deny", "hard_deny"]
"""`soft_deny` leaves the call to a person."""

LABELS: Final[tuple[Label, ...]] = get_args(Label)
REASON_CHARS: Final = 500
_MEMBERS: Final = ("decision", "reason")

SCHEMA: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "type": "object",
        "properties": {"decision": {"type": "string", "enum": [*LABELS]}, "reason": {"type": "string"}},
        "required": ["decision", "reason"],
        "additionalProperties": False,
    }
)
"""The answer as a JSON Schema, for models that can be held to one."""


class ClassifierVerdict(Struct, frozen=True, kw_only=True):
    """The answer; `reason` is one line of the model's, shown to people and never obeyed."""

    decision: Label
    reason: str


def read_verdict(reply: str) -> ClassifierVerdict:
    """The verdict that is the whole of `reply`: one JSON object with the two members, and nothing around it.

    It is never searched for in text: what a model quotes of a call could hold one. Raises `BadVerdict`.
    """
    try:
        value = json.loads(reply, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise BadVerdict(f"the classifier answered with no verdict: {_shown(reply)}") from error
    if not isinstance(value, dict) or sorted(value) != sorted(_MEMBERS):
        raise BadVerdict(f"the classifier answered in another form: {_shown(reply)}")
    decision, reason = value["decision"], value["reason"]
    if decision not in LABELS or not isinstance(reason, str):
        raise BadVerdict(f"the classifier answered with an unknown verdict: {_shown(reply)}")
    return ClassifierVerdict(
        decision=cast(Label, decision), reason=one_line(reason, max_chars=REASON_CHARS) or "no reason given"
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose members are each there once: of two answers none counts."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a member is there twice")
    return dict(pairs)


def _shown(reply: str) -> str:
    return one_line(reply, max_chars=80) or "nothing"
