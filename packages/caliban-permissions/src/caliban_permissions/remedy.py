"""What a person can do about a call that was denied because nobody could be asked."""

from __future__ import annotations

from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import Judgement

_MAX_NAMED = 3


def headless_reason(tool: JudgedTool, judgement: Judgement, suggestions: tuple[str, ...]) -> str:
    """The reason of a deny that was an ask, with the least permissive remedy first."""
    return f"{judgement.reason}. Nobody can be asked here. {_remedy(tool, judgement, suggestions)}"


def _remedy(tool: JudgedTool, judgement: Judgement, suggestions: tuple[str, ...]) -> str:
    if any(only.kind != "outside" for only in judgement.human_only):
        return f"No option helps, {judgement.human_only_reason}. Run caliban interactively to approve it."
    flags = " ".join(f"--allow '{pattern}'" for pattern in suggestions[:_MAX_NAMED])
    if tool.edits and not judgement.human_only:
        return f"To allow it, run with --permission-mode acceptEdits or a narrow rule: {flags}."
    if tool.command is not None:
        if judgement.opaque:
            named = ", ".join(list(dict.fromkeys(judgement.opaque))[:_MAX_NAMED])
            return (
                f"No wildcard rule covers a command with {named}: rewrite it without that, or run with "
                "--auto-allow (dangerous: every ask becomes an allow)."
            )
        narrow = flags or f"--allow '{tool.name}(<glob>)'"
        return (
            f"To allow it, run with {narrow}, or with --auto-allow (dangerous: every ask becomes an allow)."
        )
    return f"To allow it, run with {flags or f'--allow {tool.name!r}'}, or with --auto-allow."
