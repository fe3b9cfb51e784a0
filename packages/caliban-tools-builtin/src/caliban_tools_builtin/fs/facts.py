"""What the specs of the file tools say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_tools_builtin.facts import PATH_ALIASES, ToolFacts, flag, plain, sequence, text, whole

FACTS: Final[Mapping[str, ToolFacts]] = {
    "Read": ToolFacts(
        kind="read",
        properties={
            "path": text("file to read"),
            "offset": whole("first line or PDF page, from 1", low=1),
            "limit": whole("lines (default 2000) or pages to show", low=1),
        },
        required=("path",),
        roles={"path": "reads"},
        repeat_key=("path", "offset", "limit"),
        aliases={**PATH_ALIASES, "start_line": "offset"},
    ),
    "Write": ToolFacts(
        kind="edit",
        properties={"path": text("file to write"), "content": text("the whole content")},
        required=("path", "content"),
        roles={"path": "writes"},
        aliases={**PATH_ALIASES, "contents": "content", "file_text": "content", "text": "content"},
    ),
    "Edit": ToolFacts(
        kind="edit",
        properties={
            "path": text("file to change"),
            "old_string": text("text to replace, as the file has it"),
            "new_string": text("text to put in its place"),
            "replace_all": flag("replace every occurrence (default false)"),
        },
        required=("path", "old_string", "new_string"),
        roles={"path": "writes"},
        aliases={
            **PATH_ALIASES,
            "old_str": "old_string",
            "oldString": "old_string",
            "old_text": "old_string",
            "new_str": "new_string",
            "newString": "new_string",
            "new_text": "new_string",
            "replaceAll": "replace_all",
        },
    ),
    "MultiEdit": ToolFacts(
        kind="edit",
        properties={
            "path": text("file to change"),
            "edits": sequence(
                {
                    "old_string": plain("string"),
                    "new_string": plain("string"),
                    "replace_all": plain("boolean"),
                },
                required=("old_string", "new_string"),
            ),
        },
        required=("path", "edits"),
        roles={"path": "writes"},
        aliases=PATH_ALIASES,
    ),
    "NotebookEdit": ToolFacts(
        kind="edit",
        properties={
            "path": plain("string"),
            "action": plain("string", "add", "edit", "delete"),
            "index": whole("cell, from 0; add puts it before (default: last)", low=0),
            "cell_type": plain("string", "code", "markdown", "raw"),
            "source": plain("string"),
        },
        required=("path", "action"),
        roles={"path": "writes"},
        aliases={
            **PATH_ALIASES,
            "notebook_path": "path",
            "edit_mode": "action",
            "new_source": "source",
            "cell_index": "index",
            "cell_number": "index",
        },
    ),
}
