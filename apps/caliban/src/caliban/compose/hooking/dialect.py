"""How tools are called in what hook programs read and write: by Claude's names, which those know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from caliban_common.paths import expand_user

TOOLS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "AskUser": ("AskUserQuestion",),
        "Agent": ("Agent", "Task"),
    }
)
"""A tool of ours -> what hook programs may call it, first the name that they are told."""

MEMBERS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        **{name: {"path": "file_path"} for name in ("Read", "Write", "Edit", "MultiEdit")},
        "NotebookEdit": {"path": "notebook_path", "action": "edit_mode", "source": "new_source"},
        "Grep": {"include": "glob", "max_matches": "head_limit"},
        "Bash": {"timeout_seconds": "timeout", "background": "run_in_background"},
    }
)
"""A tool -> a member of its input -> how hook programs call that."""

PATHS: Final = ("file_path", "notebook_path")
"""Members that are absolute for hook programs."""


_STDOUT: Final = "\n→ Stdout:\n"
_STDERR: Final = "\n→ Stderr:\n"
_EMPTY: Final = "(empty)"
"""How a shell command's result is laid out for the model."""


class ClaudeDialect:
    """The names of Claude's tools, in a `workspace` that relative paths start from. A `Dialect`."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def names(self, tool: str) -> tuple[str, ...]:
        """See `Dialect`."""
        return tuple(dict.fromkeys((*TOOLS.get(tool, ()), tool)))

    def told(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Dialect`."""
        renamed = MEMBERS.get(tool, {})
        translated = {renamed.get(name, name): value for name, value in args.items()}
        for name in PATHS:
            if isinstance(translated.get(name), str):
                translated[name] = self._absolute(translated[name])
        seconds = args.get("timeout_seconds")
        if "timeout" in translated and isinstance(seconds, int | float) and not isinstance(seconds, bool):
            translated["timeout"] = int(seconds * 1000)
        return translated

    def taken(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Dialect`."""
        ours = {theirs: own for own, theirs in MEMBERS.get(tool, {}).items()}
        if any(own in args and theirs in args for theirs, own in ours.items()):
            return args  # two names for one member: nobody can say which is meant, and the gate refuses it
        taken = {ours.get(name, name): value for name, value in args.items()}
        ms = args.get("timeout")
        if "timeout_seconds" in taken and isinstance(ms, int | float) and not isinstance(ms, bool):
            taken["timeout_seconds"] = max(1, -(-int(ms) // 1000))
        return taken

    def response(self, tool: str, args: Mapping[str, Any], text: str) -> Any:
        """See `Dialect`."""
        translated = self.told(tool, args)
        path = next((translated[name] for name in PATHS if name in translated), None)
        if "command" in translated:
            out, err = _streams(text)
            return {"stdout": out, "stderr": err, "interrupted": False, "isImage": False}
        if path is not None:
            return {"filePath": path, "success": True, "content": text}
        return {"content": text}

    def _absolute(self, path: str) -> str:
        try:
            return str(self._workspace / expand_user(path))
        except (OSError, RuntimeError, ValueError):
            return path


def _streams(text: str) -> tuple[str, str]:
    """The two streams in the result of a shell command; a text of another layout is the first one."""
    _, mark, rest = text.partition(_STDOUT)
    if not mark:
        return text, ""
    out, _, err = rest.rpartition(_STDERR)
    return out.removesuffix(_EMPTY) if out == _EMPTY else out, "" if err == _EMPTY else err
