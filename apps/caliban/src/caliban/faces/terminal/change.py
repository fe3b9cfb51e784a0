"""What a call would change in a file, for the person who decides about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from caliban_common.errors import CalibanError, FileFailed
from caliban_common.files import read_regular
from caliban_common.paths import expand_user
from caliban_common.tool import ToolSpec

MAX_BYTES: Final = 2_000_000


class FileChange(Struct, frozen=True, kw_only=True):
    """A file before (`None`: there is none) and after a call; `problem` says why that is not known."""

    path: str
    before: str | None = None
    after: str = ""
    problem: str = ""


def planned_change(tool: ToolSpec, given: Mapping[str, Any], workspace: Path) -> FileChange | None:
    """The change of a call that writes a text file, or `None` where it is no such call. Reads the file."""
    path = next((given.get(name) for name, role in tool.roles.items() if role == "writes"), None)
    if not isinstance(path, str) or tool.kind != "edit" or not _is_textual(given):
        return None
    try:
        before = _text_of(workspace / expand_user(path))
        return FileChange(path=path, before=before, after=_after(before, given))
    except (CalibanError, OSError, ValueError) as error:
        words = error.message if isinstance(error, CalibanError) else str(error)
        return FileChange(path=path, problem=f"what it changes cannot be shown: {words}")


def _is_textual(given: Mapping[str, Any]) -> bool:
    return any(isinstance(given.get(name), str) for name in ("content", "new_string")) or isinstance(
        given.get("edits"), Sequence
    )


def _text_of(path: Path) -> str | None:
    from caliban_tools_builtin.fs.text import decode

    try:
        return decode(read_regular(path, max_bytes=MAX_BYTES), str(path)).text
    except FileFailed as error:
        if error.missing:
            return None
        raise


def _after(before: str | None, given: Mapping[str, Any]) -> str:
    content = given.get("content")
    if isinstance(content, str):
        return content
    edits = given.get("edits")
    text = before or ""
    for edit in edits if isinstance(edits, Sequence) and not isinstance(edits, str) else (given,):
        text = _edited(text, edit)
    return text


def _edited(text: str, edit: object) -> str:
    from caliban_tools_builtin.fs.match import TooMany, apply, find

    old = edit.get("old_string") if isinstance(edit, Mapping) else None
    new = edit.get("new_string") if isinstance(edit, Mapping) else None
    if not isinstance(old, str) or not isinstance(new, str):
        raise ValueError("an edit has no old_string or no new_string")
    if not old:
        if text:
            raise ValueError("old_string is empty, and the file is not")
        return new
    try:
        matches = find(text, old, new)
    except TooMany as error:
        raise ValueError(str(error)) from error
    if matches is None:
        raise ValueError("the file does not have the text that is to be replaced")
    several = len(matches.spans) > 1
    if several and not (isinstance(edit, Mapping) and edit.get("replace_all") is True):
        raise ValueError(f"{len(matches.spans)} places have the text that is to be replaced")
    return apply(text, matches.spans)
