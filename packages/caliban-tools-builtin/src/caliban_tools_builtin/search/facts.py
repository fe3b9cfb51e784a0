"""What the specs of the search tools say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_tools_builtin.facts import SAID, ToolFacts, plain, text, whole

_FOLDER: Final[Mapping[str, str]] = {"directory": "path", "dir_path": "path", "dir": "path", "folder": "path"}

FACTS: Final[Mapping[str, ToolFacts]] = {
    "Glob": ToolFacts(
        kind="read",
        properties={"pattern": plain("string"), "path": plain("string")},
        required=("pattern",),
        roles={"path": "searches"},
        repeat_key="all",
        aliases={**_FOLDER, "glob": "pattern", "glob_pattern": "pattern"},
    ),
    "Grep": ToolFacts(
        kind="read",
        properties={
            "pattern": plain("string"),
            "path": plain("string"),
            "include": text("glob of the files to search"),
            "max_matches": whole("default 100", low=1, high=500),
        },
        required=("pattern",),
        roles={"path": "searches"},
        repeat_key="all",
        aliases={
            **_FOLDER,
            "file_path": "path",
            "regex": "pattern",
            "query": "pattern",
            "glob": "include",
            "include_pattern": "include",
            "head_limit": "max_matches",
            "limit": "max_matches",
        },
        extras=(*SAID, "-n", "output_mode"),
    ),
}
