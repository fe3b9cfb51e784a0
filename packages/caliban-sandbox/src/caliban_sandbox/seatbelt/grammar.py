"""What a profile must be so that Seatbelt could read it: the part of its language that we write.

There is no description of the language by its maker, and no machine that runs it was at hand: this is a check
of what we generate against what shipped profiles look like, and no promise that Seatbelt takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_sandbox.seatbelt.reader import Clause, Node, Regex, Symbol, Text, Unreadable, read_forms
from caliban_sandbox.seatbelt.words import FILTERS, MODIFIERS, OPERATIONS, PROTOCOLS, SYMBOLS, Subject

_PLACE: Final = lazy_pattern(r"(?:localhost|\*):(?:\*|[1-9][0-9]{0,4})")
_BEGINNING: Final = (
    (Symbol(name="version"), Symbol(name="1")),
    (Symbol(name="deny"), Symbol(name="default")),
)


def profile_faults(text: str, parameters: Iterable[str]) -> tuple[str, ...]:
    """What is wrong with a profile to which `parameters` are given, each with its line; empty for a good one.

    Balanced, `(version 1)` and `(deny default)` first, then rules of known operations, filters that fit them
    and modifiers; every parameter that is used is given, and every given one is used.
    """
    forms = read_forms(text)
    if isinstance(forms, Unreadable):
        return (f"line {forms.line}: {forms.reason}",)
    if tuple(form.items for form in forms[:2]) != _BEGINNING:
        return ("line 1: it does not begin with (version 1) and (deny default)",)
    names = set(parameters)
    faults = [fault for form in forms[2:] for fault in _rule_faults(form)]
    used = {name for form in forms for name in _parameters(form)}
    faults += [f"line 1: the parameter {name} is not given" for name in sorted(used - names)]
    faults += [f"line 1: the parameter {name} is not used" for name in sorted(names - used)]
    return tuple(faults)


def _rule_faults(form: Clause) -> Iterator[str]:
    head, *rest = form.items or (Symbol(name=""),)
    if not isinstance(head, Symbol) or head.name not in ("allow", "deny"):
        yield f"line {form.line}: a rule is (allow ...) or (deny ...)"
        return
    operations = [node for node in rest if isinstance(node, Symbol)]
    conditions = [node for node in rest if isinstance(node, Clause)]
    if not operations or (*operations, *conditions) != tuple(rest):
        yield f"line {form.line}: a rule names operations, and then filters"
        return
    for operation in operations:
        if operation.name not in OPERATIONS:
            yield f"line {form.line}: there is no operation {operation.name}"
    subjects = {OPERATIONS[each.name] for each in operations if each.name in OPERATIONS}
    for condition in conditions:
        yield from _condition_faults(condition, subjects)


def _condition_faults(form: Clause, subjects: set[Subject]) -> Iterator[str]:
    head, *rest = form.items or (Symbol(name=""),)
    name = head.name if isinstance(head, Symbol) else ""
    if name == "with":
        if not _is_modifier(rest):
            yield f"line {form.line}: there is no such modifier"
    elif name in ("require-all", "require-any", "require-not"):
        if not rest or (name == "require-not" and len(rest) > 1):
            yield f"line {form.line}: {name} has the wrong number of filters"
        for part in rest:
            if isinstance(part, Clause):
                yield from _condition_faults(part, subjects)
            else:
                yield f"line {form.line}: {name} takes filters only"
    elif name not in FILTERS:
        yield f"line {form.line}: there is no filter {name}"
    elif subjects - {FILTERS[name][0]}:
        yield f"line {form.line}: the filter {name} is not for that operation"
    elif not rest or not _takes(name, rest):
        yield f"line {form.line}: the filter {name} does not take that"


def _is_modifier(rest: list[Node]) -> bool:
    match rest:
        case [Symbol(name="message"), Text()]:
            return True
        case [Symbol(name=name)]:
            return name in MODIFIERS
        case _:
            return False


def _takes(name: str, rest: list[Node]) -> bool:
    """Whether a filter takes these arguments."""
    match FILTERS[name][1]:
        case "path":
            return all(_is_parameter(node) or _is_path(node) for node in rest)
        case "text":
            return all(_is_parameter(node) or (isinstance(node, Text) and node.value != "") for node in rest)
        case "regex":
            return all(isinstance(node, Regex) and node.value != "" for node in rest)
        case "symbol":
            return len(rest) == 1 and isinstance(rest[0], Symbol) and rest[0].name in SYMBOLS[name]
        case "place":
            return _is_place(rest)


def _is_place(rest: list[Node]) -> bool:
    match rest:
        case [Symbol(name="unix-socket")]:
            return True
        case [Symbol(name=protocol), Text(value=place)]:
            port = place.rpartition(":")[2]
            is_port = port == "*" or (len(port) < 6 and port.isdecimal() and int(port) < 1 << 16)
            return protocol in PROTOCOLS and _PLACE.fullmatch(place) is not None and is_port
        case _:
            return False


def _is_path(node: Node) -> bool:
    return isinstance(node, Text) and node.value.startswith("/")


def _is_parameter(node: Node) -> bool:
    match node:
        case Clause(items=(Symbol(name="param"), Text(value=name))):
            return name != ""
        case _:
            return False


def _parameters(form: Clause) -> Iterator[str]:
    match form.items:
        case (Symbol(name="param"), Text(value=name)):
            yield name
        case items:
            for item in items:
                if isinstance(item, Clause):
                    yield from _parameters(item)
