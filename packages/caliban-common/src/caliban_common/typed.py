"""Plain JSON data as typed values, and words for what does not fit: where it is and what was expected there.

The decoder is msgspec's. It names types as Python does; a person who wrote the file or the frame is told the
place, what may stand there, and what does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, overload

from msgspec import Struct, ValidationError, convert

from caliban_common.errors import DataError
from caliban_common.text import clean

_T = TypeVar("_T")
DataPath: TypeAlias = tuple[str | int, ...]
Mend: TypeAlias = Callable[[object], object]

MAX_FAULTS: Final = 20
"""Faults that `fitting` leaves out one by one; each costs a pass over the data."""

_FAULT: Final = r"(?s)(.*?)(?: - at `(key` in `)?\$(.*)`)?"
_STEP: Final = r"\.([^.\[]+)|\[(\d+)\]"
_EXPECTED: Final = r"Expected `([^`]*)`(.*?)(?:, got `.*`)?"
_MEMBER: Final = r"Object (missing required|contains unknown) field `(.*)`"
_WORDS: Final[Mapping[str, str]] = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
}


class Fault(Struct, frozen=True, kw_only=True):
    """The first thing in some data that does not fit: where it is, what to say of it, and the value there."""

    path: DataPath
    text: str
    value: Any


@overload
def typed(value: object, kind: type[_T], *, what: str, mend: Mend | None = None) -> _T: ...


@overload
def typed(value: object, kind: Any, *, what: str, mend: Mend | None = None) -> Any: ...


def typed(value: object, kind: Any, *, what: str, mend: Mend | None = None) -> Any:
    """`value` as `kind`; `what` names the whole in messages. Raises `DataError` naming the first fault.

    `mend` is asked for another form of a value that does not fit.
    """
    try:
        return _decoded(value, kind)
    except ValidationError as error:
        if mend is not None:
            return typed(mend(value), kind, what=what)
        raise DataError(_fault(error, value, kind, what).text) from error


@overload
def fitting(value: Mapping[str, Any], kind: type[_T], *, what: str) -> tuple[_T, list[str]]: ...


@overload
def fitting(value: Mapping[str, Any], kind: Any, *, what: str) -> tuple[Any, list[str]]: ...


def fitting(value: Mapping[str, Any], kind: Any, *, what: str) -> tuple[Any, list[str]]:
    """What of `value` fits `kind`, and a sentence on each part that was left out because it does not.

    The smallest part is left out; a null is left out without a word. Raises `DataError` where that leaves
    less than `kind` requires.
    """
    faults: list[Fault] = []
    data: Any = value
    while True:
        try:
            remarks = [f"{fault.text}; it is left out" for fault in faults if fault.value is not None]
            return _decoded(data, kind), remarks
        except ValidationError as error:
            fault = _fault(error, data, kind, what)
            if not fault.path:
                raise DataError([*faults, fault][0].text) from error
            faults.append(fault)
            data = _without(data, fault.path if len(faults) < MAX_FAULTS else fault.path[:1])


def shown(value: object) -> str:
    """`value` for a message: a short scalar as JSON has it, anything else by its type."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value) if len(value) <= 60 else "a long string"
        case float():
            return repr(value)
        case int():
            return repr(value) if value.bit_length() < 200 else "a long number"
        case dict():
            return "an object"
        case _:
            return "a list"


def _decoded(value: object, kind: Any) -> Any:
    """`value` as `kind`. Raises msgspec's `ValidationError`.

    The decoder trips over half of a surrogate pair where it looks for a word that it knows: halves are then
    replaced first. Raises `DataError` where they are nested too deeply for that.
    """
    try:
        return convert(value, kind)
    except UnicodeEncodeError:
        return convert(_encodable(value), kind)


def _fault(error: ValidationError, data: object, kind: Any, what: str) -> Fault:
    """What `error` says about `data`, in our words."""
    match = re.fullmatch(_FAULT, str(error))
    complaint, key, below = (match[1], match[2], match[3] or "") if match else (str(error), None, "")
    known, table, _ = below.partition("[...]")
    path: DataPath = tuple(name or int(index) for name, index in re.findall(_STEP, known))
    place, value = _place(path, what), _at(data, path)
    if key or table:  # the decoder names the table only
        text = f"a {'key' if key else 'value'} of {place} {_wanted(complaint)}"
    else:
        text = f"{place} {_text(complaint, path, data, kind)}"
    return Fault(path=path, text=text, value=value)


def _text(complaint: str, path: DataPath, data: object, kind: Any) -> str:
    if member := re.fullmatch(_MEMBER, complaint):
        if member[1] == "missing required":
            return f"has no {member[2]!r}"
        known = ", ".join(_allowed(kind, data, (*path, "")))
        return f"has the unknown member {member[2]!r:.80}" + (f" (known: {known})" if known else "")
    allowed = _allowed(kind, data, path) if complaint.startswith("Invalid ") else []
    wanted = f"must be {_either(allowed)}" if allowed else _wanted(complaint)
    return f"{wanted}, not {shown(_at(data, path))}"


def _wanted(complaint: str) -> str:
    """What the decoder expected, in words."""
    match = re.fullmatch(_EXPECTED, complaint)
    if match is None:
        return f"does not fit ({complaint})"
    types = [_WORDS.get(name, name) for name in match[1].split(" | ") if name != "null"]
    return f"must be {_either(types)}{match[2].replace('>=', '≥').replace('<=', '≤')}"


def _allowed(kind: Any, data: object, path: DataPath) -> list[str]:
    """What may stand at `path` where only some words may; for a name of "", the members that may stand there.

    Asks for the types' descriptions, which are loaded for a fault only.
    """
    from msgspec import inspect

    types: list[Any] = [inspect.type_info(kind)]
    for step in path:
        types = [part for type in types for part in getattr(type, "types", (type,))]
        structs = [type for type in types if isinstance(type, inspect.StructType)]
        if isinstance(step, int):
            types = [type.item_type for type in types if hasattr(type, "item_type")]
        elif any(type.tag_field == step for type in structs):
            return [str(type.tag) for type in structs]
        else:
            tag = data.get(structs[0].tag_field) if structs and isinstance(data, dict) else None
            fields = [field for type in structs if type.tag in (None, tag) for field in type.fields]
            if not step:
                return [
                    name for name in (structs[0].tag_field, *(field.encode_name for field in fields)) if name
                ]
            types = [field.type for field in fields if field.encode_name == step]
        data = _at(data, (step,))
    types = [part for type in types for part in getattr(type, "types", (type,))]
    return [str(value) for type in types for value in getattr(type, "values", ())]


def _at(data: Any, path: DataPath) -> Any:
    """What stands at `path` in `data`; `None` where nothing does."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _encodable(value: object) -> object:
    """JSON data with U+FFFD for every lone surrogate."""
    try:
        return json.loads(clean(json.dumps(value, ensure_ascii=False)))
    except RecursionError as error:
        raise DataError("a value is nested too deeply to be read") from error


def _without(data: Any, path: DataPath) -> Any:
    """`data` without what stands at `path`; only what contains it is copied."""
    step, below = path[0], path[1:]
    copy: Any = dict(data) if isinstance(data, Mapping) else list(data)
    if below:
        copy[step] = _without(copy[step], below)
    else:
        del copy[step]
    return copy


def _place(path: DataPath, what: str) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{what}'s {text.removeprefix('.')}" if text else what


def _either(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else names[0]
