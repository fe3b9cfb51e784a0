"""YAML read with suspicion: bounded depth, no aliases, no tags, no key twice; every scalar stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from caliban_common.text import one_line
from caliban_telemetry.errors import RatesError

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 8
MAX_SCALAR_CHARS = 1_000


def parse_yaml(data: bytes, *, source: str) -> object:
    """The one document in `data` as mappings, lists and text. Raises `RatesError` with the line.

    Depth is checked on the stream of events, before anything recursive looks at the document.
    """
    import yaml

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RatesError(f"{one_line(source)}: not UTF-8 at byte {error.start}") from error
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _check(yaml.parse(text, Loader=loader), source)
        node = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise RatesError(
            f"{one_line(source)}{where}: not YAML: {one_line(problem, max_chars=200)}"
        ) from error
    if node is None:
        raise RatesError(f"{one_line(source)}: the file is empty", hint="begin it with `version: 1`")
    return _plain(node, source)


def _check(events: Any, source: str) -> None:
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            _fail(source, event, "anchors and aliases are not taken here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                _fail(source, event, f"nested more than {MAX_DEPTH} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and len(event.value) > MAX_SCALAR_CHARS:
            _fail(source, event, f"a value of more than {MAX_SCALAR_CHARS:,} characters")
        if getattr(event, "tag", None):
            _fail(source, event, "tags are not taken here")


def _plain(node: yaml.Node, source: str) -> object:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, source) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return node.value
    members: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            _fail(source, key, "a key that is not text")
        if key.value in members:
            _fail(source, key, f'"{one_line(key.value, max_chars=60)}" stands here twice')
        members[key.value] = _plain(value, source)
    return members


def _fail(source: str, at: Any, why: str) -> NoReturn:
    raise RatesError(f"{one_line(source)}:{at.start_mark.line + 1}: {why}")
