"""A new plugin to begin with."""

from __future__ import annotations

import json
import re
from pathlib import Path

from caliban_plugins.errors import ManifestRefused
from caliban_plugins.manifest import NAME, SCHEMA
from caliban_plugins.paths import shown_path
from caliban_plugins.tree import write_file

_SKILL = """---
name: {skill}
description: Say when this skill is needed, in one sentence.
---
What to do, step by step.
"""
_COMMAND = """---
description: What /{name}:hello does.
---
Say hello to $ARGUMENTS.
"""


def make_plugin(folder: Path, name: str) -> tuple[str, ...]:
    """Write the files of a plugin called `name` into `folder`; their paths. Nothing is written over.

    It is a plugin of Claude's layout too. Raises `ManifestRefused` and `FileFailed`.
    """
    if re.fullmatch(NAME, name) is None:
        raise ManifestRefused(f"{shown_path(name)} is no name for a plugin", hint="a-z, 0-9 and - make one")
    about = {"name": name, "version": "0.1.0", "description": "What this plugin is for"}
    files = {
        ".claude-plugin/plugin.json": json.dumps(about, indent=2) + "\n",
        "plugin.json": json.dumps({"$schema": SCHEMA, **about}, indent=2) + "\n",
        "skills/example/SKILL.md": _SKILL.format(skill="example"),
        "commands/hello.md": _COMMAND.format(name=name),
    }
    for path, text in files.items():
        write_file(folder, path, text.encode(), executable=False)
    return tuple(files)
