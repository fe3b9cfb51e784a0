"""Markdown with front matter: what stands between the lines `---` as plain data, and the text after it.

Every scalar stays text, for what a file means by it is its reader's business. Files that people write are
often no YAML (`description: Use when: it rains`): those are read line by line as `key: rest of the line`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from caliban_common.errors import DataError
from caliban_common.text import one_line

MAX_HEAD_CHARS = 64 * 1024
MAX_DEPTH = 8
_HEAD = r"---[ \t]*\r?\n(?P<head>.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\r?\n(?P<body>.*))?\Z"
_LINE = r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?"


def split_front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The front matter of `text`, empty where there is none, and its body without blank lines around it.

    Values are text, lists and mappings. Raises `DataError` for front matter that has no end, is not read by
    either way, or is too large or too deep to be meant.
    """
    if not text.startswith("---"):
        return {}, text.strip()
    match = re.match(_HEAD, text, re.DOTALL | re.MULTILINE)
    if match is None:
        raise DataError("the front matter has no end", hint="put a line of --- after it")
    head = match["head"]
    if len(head) > MAX_HEAD_CHARS:
        raise DataError(f"the front matter has more than {MAX_HEAD_CHARS:,} characters")
    keys = Counter(re.findall(r"^([A-Za-z_][\w-]*)[ \t]*:", head, re.MULTILINE))
    twice = next((key for key, count in keys.items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{twice!r} stands twice in the front matter")
    members = _as_yaml(head)
    return (_by_line(head) if members is None else members), (match["body"] or "").strip()


def _as_yaml(head: str) -> Mapping[str, Any] | None:
    """The mapping in `head`; `None` where it is no YAML, or more of it than we take."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(head, Loader=loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                return None
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise DataError(f"the front matter is nested more than {MAX_DEPTH} deep")
        value = yaml.load(head, Loader=loader)
    except (yaml.YAMLError, ValueError, TypeError):
        return None
    if value is None or value == "":
        return {}
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def _by_line(head: str) -> Mapping[str, Any]:
    """`key: rest of the line`, and more indented lines as going on. Raises `DataError`."""
    members: dict[str, Any] = {}
    last = ""
    for number, line in enumerate(head.splitlines(), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = re.fullmatch(_LINE, line)
        if match is not None:
            last = match[1]
            members[last] = _unquoted((match[2] or "").strip())
        elif last and line[0] in " \t-":
            members[last] = f"{members[last]}\n{line.strip()}".strip()
        else:
            raise DataError(f"line {number} of the front matter is no `key: value`: {one_line(line)}")
    return members


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
