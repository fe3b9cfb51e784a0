"""The result of a rewind, in words and as data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from caliban.compose.truncation import Cut
from caliban_checkpoint import RestoredFile
from caliban_common.terminal import visible
from caliban_common.text import plural

DONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "restore": "put back",
        "delete": "removed",
        "unchanged": "as it was",
        "conflict": "CHANGED",
        "impossible": "NOT KEPT",
    }
)
"""How a step is described, done or only planned."""


class Rewound(Struct, frozen=True, kw_only=True):
    """What became of the files and of the conversation; `barred` says that something is in its way."""

    files: tuple[RestoredFile, ...]
    cut: Cut | None
    done: bool
    barred: bool = False


def told(rewound: Rewound, workspace: Path, *, dry_run: bool) -> str:
    """A line a file, and one for the conversation."""
    lines = []
    for item in rewound.files:
        step = item.step
        path = os.path.relpath(step.path, workspace) if _is_inside(step.path, workspace) else step.path
        word = "NOT DONE" if item.problem and step.kind in ("restore", "delete") else DONE[step.kind]
        reason = item.problem or step.reason
        overwritten = step.kind in ("restore", "delete") and step.reason and not item.problem
        words = f": {'overwritten although ' if overwritten else ''}{visible(reason)}" if reason else ""
        lines.append(f"{word:9} {visible(path)}{words}")
    if rewound.cut is not None:
        gone = plural(rewound.cut.removed, "message")
        verb = "went back by" if rewound.done else "would go back by"
        lines.append(f"the conversation {verb} {gone}; {plural(len(rewound.cut.kept), 'message')} left")
    elif not rewound.files:
        lines.append(
            "no file was changed since, as far as is known" if rewound.barred else "no file was changed since"
        )
    if dry_run:
        lines.append("(nothing was done)")
    return "".join(f"{line}\n" for line in lines)


def steps_json(rewound: Rewound) -> list[dict[str, Any]]:
    """The files as data."""
    return [
        {
            "path": item.step.path,
            "action": item.step.kind,
            "done": rewound.done
            and not item.problem
            and item.step.kind in ("restore", "delete", "unchanged"),
            "reason": item.problem or item.step.reason or None,
        }
        for item in rewound.files
    ]


def conversation_json(rewound: Rewound) -> dict[str, Any] | None:
    """The conversation as data."""
    if rewound.cut is None:
        return None
    return {"removed": rewound.cut.removed, "kept": len(rewound.cut.kept)}


def _is_inside(path: str, workspace: Path) -> bool:
    return path.startswith(str(workspace) + os.sep)
