"""Whether a value has the form that the schema asks for: the few words of JSON Schema that it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_settings.key import Form
from caliban_settings.parse import kind_of

KeyPath = tuple[str | int, ...]
_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "string": "a string",
        "boolean": "a boolean",
        "integer": "an integer",
        "number": "a number",
        "array": "an array",
        "object": "a table",
        "null": "null",
    }
)


def problem(form: Form, value: Any) -> tuple[KeyPath, str] | None:
    """The first thing wrong with `value`: where below it, and a sentence's end; `None` when it fits."""
    return next(problems(form, value), None)


def problems(form: Form, value: Any) -> Iterator[tuple[KeyPath, str]]:
    """All that is wrong with `value`."""
    if "anyOf" in form:
        yield from _any_of(form["anyOf"], value)
        return
    if "enum" in form:
        if value not in form["enum"] or isinstance(value, bool):
            yield (), f"must be one of {', '.join(form['enum'])}, got {_shown(value)}"
        return
    types = _types(form)
    if types and not any(_is(value, type) for type in types):
        yield (), f"must be {_either(types)}, got {kind_of(value)}"
    elif isinstance(value, dict):
        yield from _table(form, value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(index, form.get("items", {}), item)
    elif isinstance(value, str):
        if "pattern" in form and not value.strip(" \t\r\n"):
            yield (), "must not be empty"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _range(form, value)


def _any_of(forms: list[Form], value: Any) -> Iterator[tuple[KeyPath, str]]:
    """The problems with the form of the right type, which say more than that none fits."""
    fitting = [form for form in forms if any(_is(value, type) for type in _types(form))]
    if not fitting:
        types = [type for form in forms for type in _types(form)]
        yield (), f"must be {_either(types)}, got {kind_of(value)}"
    elif all(problem(form, value) for form in fitting):
        yield from problems(fitting[0], value)


def _table(form: Form, value: dict[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    known = form.get("properties", {})
    for name in form.get("required", ()):
        if name not in value:
            yield (), f"has no `{name}`"
    for name, item in value.items():
        if name in known:
            yield from _below(name, known[name], item)
        elif form.get("additionalProperties") is False:
            yield (name,), f"is unknown (known: {', '.join(known)})"


def _below(step: str | int, form: Form, value: Any) -> Iterator[tuple[KeyPath, str]]:
    for place, text in problems(form, value):
        yield (step, *place), text


def _range(form: Form, value: float) -> Iterator[tuple[KeyPath, str]]:
    low, high = form.get("minimum"), form.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        wanted = f"at least {low}" if high is None else f"between {low} and {high}"
        yield (), f"must be {wanted}, got {value}"


def _types(form: Form) -> list[str]:
    types = form.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _is(value: Any, type: str) -> bool:
    match type:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _either(types: list[str]) -> str:
    return " or ".join(dict.fromkeys(_NAMES[type] for type in types))


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str) else kind_of(value)
