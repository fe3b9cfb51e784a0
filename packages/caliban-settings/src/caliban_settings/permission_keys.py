"""The settings of permissions: rules, modes, and the log of decisions."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import FLAG, MODES, PERSON, RULE, TEXTS, Key

PERMISSION_KEYS: Final[tuple[Key, ...]] = (
    Key(
        path="permissions.allow",
        form=TEXTS,
        merge="join",
        guard="trust",
        doc="Patterns that need no question.",
    ),
    Key(path="permissions.ask", form=TEXTS, merge="join", doc="Patterns that a person is asked about."),
    Key(path="permissions.deny", form=TEXTS, merge="join", doc="Patterns that are refused."),
    Key(
        path="permissions.rules",
        form={"type": "array", "items": RULE},
        merge="append",
        guard="rules",
        doc="Rules in order; the first that matches decides. Buckets of the same file stand behind them.",
    ),
    Key(
        path="permissions.enforce",
        restart=True,
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        doc="Refuse to start without permissions or in bypass mode.",
    ),
    Key(
        path="permissions.default_mode",
        restart=True,
        form=MODES,
        scopes=PERSON,
        doc="The mode that a session begins in.",
    ),
    Key(
        path="permissions.auto_allow_read_only",
        form=FLAG,
        scopes=PERSON,
        default=True,
        doc="Commands that provably only read inside the workspace need no rule.",
    ),
    Key(
        path="permissions.audit_log",
        restart=True,
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=True,
        doc="Write every decision to a log.",
    ),
    Key(
        path="permissions.audit_required",
        restart=True,
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        doc="Run no call whose decision cannot be logged; the log is then always on.",
    ),
    # hooks
)
