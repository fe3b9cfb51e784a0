"""Words that the loop, the permission engine and the faces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from msgspec import Struct

Action: TypeAlias = Literal["allow", "ask", "deny"]

PermissionMode: TypeAlias = Literal[
    "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "disabled"
]
"""`disabled` is the mode of `--no-permissions`: no rule is read."""


DecidedBy: TypeAlias = Literal[
    "rule", "default", "mode", "plan", "auto", "classifier", "headless", "hook", "person", "check", "fence"
]
"""Who had the last word on a call. `auto`: a list of the auto mode, `classifier`: its model; `headless`: it
needed a person, and there is none; `check`: it was no call that could be judged; `fence`: the tool itself
refused what it was allowed to be asked."""

AnswerScope: TypeAlias = Literal["once", "session", "local", "user"]
"""How far a person's answer reaches: this call, this process, the workspace's own settings, the person's."""

JudgedPaths: TypeAlias = Mapping[str, tuple[str, ...]]
"""What the paths of a call were when it was judged: the text of each, and the canonical names it may have."""

ANSWER_SCOPES: Final[tuple[AnswerScope, ...]] = get_args(AnswerScope)
"""All of them, the narrowest first."""


class RuleMatch(Struct, frozen=True, kw_only=True):
    """The rule behind a decision; `source` is the scope in which it stands."""

    pattern: str
    action: Action
    source: str


class Decision(Struct, frozen=True, kw_only=True):
    """The verdict on one tool call.

    `reason` is told to the model and to the person; `rule` is the pattern that decided, if one did, and
    `match` that rule with its action: an allow by a mode may stand on a rule that asks. `by` is for the log.
    `updated_input` belongs to an allow: the input as it was judged, which runs in the place of the one given.
    `suggestions` belong to an ask: the rules that "always allow" would write, one for each part of the call
    that nothing allows yet; none where no rule should last. `paths` are those that file tools were judged by:
    the text of an argument, and what it led to.
    """

    action: Action
    reason: str = ""
    rule: str | None = None
    match: RuleMatch | None = None
    by: DecidedBy | None = None
    updated_input: Mapping[str, Any] | None = None
    suggestions: tuple[str, ...] = ()
    paths: JudgedPaths | None = None
