"""What a person can do about a call that was denied because nobody could be asked."""

from __future__ import annotations

from caliban_common.tool import ToolSpec
from caliban_permissions.calls import EDIT_TOOLS
from caliban_permissions.outcome import Outcome


def headless_reason(tool: ToolSpec, outcome: Outcome, suggestions: tuple[str, ...]) -> str:
    """The reason of a deny that was an ask, with the least permissive remedy first."""
    return f"{outcome.reason}. Nobody can be asked here. {_remedy(tool, outcome, suggestions)}"


def _remedy(tool: ToolSpec, outcome: Outcome, suggestions: tuple[str, ...]) -> str:
    floors = [floor for floor in outcome.floors if floor.kind != "outside"]
    if floors:
        return "No option allows this without a person: run caliban interactively to approve it."
    flags = " ".join(f"--allow '{pattern}'" for pattern in suggestions[:3])
    if tool.name in EDIT_TOOLS:
        return f"To allow it, run with --permission-mode acceptEdits or a narrow rule: {flags}."
    if tool.name == "Bash":
        if outcome.opaque:
            named = ", ".join(dict.fromkeys(outcome.opaque))
            return (
                f"No wildcard rule covers a command with {named}: rewrite it without that, or run with "
                "--auto-allow (dangerous: every ask becomes an allow)."
            )
        narrow = flags or "--allow 'Bash(<glob>)'"
        return (
            f"To allow it, run with {narrow}, or with --auto-allow (dangerous: every ask becomes an allow)."
        )
    return f"To allow it, run with {flags or f'--allow {tool.name!r}'}, or with --auto-allow."
