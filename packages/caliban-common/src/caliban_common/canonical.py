"""What a model sent as what the tool asks for: its own names, and values of its types.

Models know other tools: they say `file_path` for `path`, `"2"` for 2, and add a description. What means one
thing only is taken as that, before anybody judges the call; everything else stays as it was sent, for the
tool to refuse in words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from caliban_common.codec import is_deep
from caliban_common.tool import ToolSpec

_WHOLE: Final = r"(?a)[+-]?\d{1,18}"
_NUMBER: Final = r"(?a)[+-]?(\d{1,18}(\.\d{1,18})?|\.\d{1,18})([eE][+-]?\d{1,3})?"
_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_MANY_SECONDS: Final = 1000
"""A time-out in milliseconds below this was meant in seconds: no command is that short."""


def canonical_arguments(spec: ToolSpec, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """`args` under the names and in the types of `spec`; the same object where nothing is to be changed."""
    properties = spec.input_schema.get("properties")
    if not isinstance(properties, Mapping):
        return args
    taken: dict[str, Any] = {}
    for name, value in args.items():
        right = name if name in properties else spec.aliases.get(name)
        if right is None:
            if name not in spec.extras:
                taken[name] = value
        elif value == "" and _means_nothing(right, spec, properties[right]):
            continue
        elif name != right and right in args:
            if args[right] != value:
                taken[name] = value  # two names with two values: nobody can say which was meant
        else:
            meant = _in_unit(name, right, _typed(value, properties.get(right)))
            if taken.setdefault(right, meant) != meant:
                taken[name] = value
    same = len(taken) == len(args) and all(taken.get(name, taken) is value for name, value in args.items())
    return args if same else taken


def _means_nothing(name: str, spec: ToolSpec, schema: object) -> bool:
    """Whether an empty text can only mean that an argument is left out: models fill in all of a form."""
    if name in (spec.input_schema.get("required") or ()) or not isinstance(schema, Mapping):
        return False
    wanted = schema.get("type")
    if wanted == "string":
        return name in spec.roles or "" not in (schema.get("enum") or ("",))
    return isinstance(wanted, str)


def _typed(value: Any, schema: object) -> Any:
    """A string that is one number, boolean, list or object as that, where the schema asks for it."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(value, str):
        return value
    text = value.strip()
    match wanted:
        case "integer" if re.fullmatch(_WHOLE, text):
            return int(text)
        case "number" if re.fullmatch(_NUMBER, text):
            return float(text)
        case "boolean":
            return _FLAGS.get(text.lower(), value)
        case "array" if text.startswith("["):
            return _parsed(text, value)
        case "object" if text.startswith("{"):
            return _parsed(text, value)
        case _:
            return value


def _parsed(text: str, value: str) -> Any:
    """What the JSON in `text` says; `value` where it is none, or says anything twice or too deeply."""
    try:
        parsed = json.loads(text, object_pairs_hook=_unlike, parse_constant=_refused)
    except (ValueError, RecursionError):
        return value
    return value if is_deep(parsed) else parsed


def _unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice")
    return members


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _in_unit(name: str, right: str, value: Any) -> Any:
    """A time in milliseconds as seconds, where only the alias counts in milliseconds."""
    if name == right or not right.endswith("_seconds") or name.endswith(("_seconds", "_s", "_secs")):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value < _MANY_SECONDS:
        return value
    return int(-(-value // _MANY_SECONDS))
