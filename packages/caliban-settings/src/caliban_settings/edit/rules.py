"""Rules added to and taken out of the text of a settings file.

A rule is added behind the others, in the form that the file has. Whatever comes out is read again before it
is believed: it must say what was asked for, and nothing else may have changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_settings.edit.scan import Array, Block, Layout, TextSpan, scan
from caliban_settings.errors import SettingsError, SettingsNotWritten
from caliban_settings.parse import kind_of, parse
from caliban_settings.rules import BUCKETS, clean_patterns, clean_rules, from_legacy

RuleTable = Mapping[str, Any]
_TABLE: Final = "permissions"
_MEMBERS: Final = ("comment", "reason", "expires_at")
_REST_OF_LINE: Final = lazy_pattern(r"[ \t]*,?[ \t]*(?:#[^\n]*)?\r?\n")
_CONVERT: Final = "write the rules anew in order: what an export of them prints is that form"


class RuleEntry(Struct, frozen=True, kw_only=True):
    """One rule of a file as it is read, and where it stands: a path of keys, the last an index.

    `problem` is why it does not count, where it does not; `fatal`, that nothing starts with it.
    """

    rule: RuleTable
    place: tuple[str | int, ...]
    problem: str | None = None
    fatal: bool = False


def rule_entries(data: Mapping[str, Any], *, own_file: bool) -> tuple[RuleEntry, ...]:
    """The rules of a file in the order in which they count; allows of buckets beside ordered ones do not.

    `own_file` is a permissions.toml, which needs no table `permissions`.
    """
    table = data.get(_TABLE)
    inner = table if isinstance(table, dict) else {}
    buckets: dict[str, list[RuleEntry]] = {}
    for action in BUCKETS:
        place, items = _array(data, inner, action, own_file=own_file)
        buckets[action] = [_of_bucket(action, item, (*place, n)) for n, item in enumerate(items)]
    place, items = _array(data, inner, "rules", own_file=own_file)
    ordered = [_ordered(item, (*place, n)) for n, item in enumerate(items)]
    if own_file:
        old = data.get("rule")
        legacy = from_legacy({"rule": old})["rules"] if isinstance(old, list) else []
        ordered += [_ordered(item, ("rule", n)) for n, item in enumerate(legacy)]
    if ordered:
        return (*buckets["deny"], *ordered, *buckets["ask"])
    return (*buckets["deny"], *buckets["ask"], *buckets["allow"])


def with_rule(text: str, rule: RuleTable, *, own_file: bool) -> str:
    """`text` with `rule` behind the others of its form. Raises `SettingsNotWritten`."""
    data, _ = parse(text, name="the file", toml=True)
    table = data.get(_TABLE)
    inner = table if isinstance(table, dict) else {}
    place, ordered = _array(data, inner, "rules", own_file=own_file)
    allows = _array(data, inner, "allow", own_file=own_file)[1]
    layout = _layout(text)
    if own_file and isinstance(data.get("rule"), list) and data["rule"]:
        changed = _appended(text, "rule", rule, legacy=True)
    elif ordered and layout.array(place) is not None:
        changed = _inserted(text, layout.array(place), _inline(rule))
    elif not ordered and allows:
        changed = _in_bucket(text, layout, data, inner, rule, own_file=own_file)
    else:
        changed = _appended(text, ".".join(place if ordered else (_TABLE, "rules")), rule)
    _check_added(text, changed, rule, own_file=own_file)
    return changed


def without_rule(text: str, entry: RuleEntry, *, own_file: bool) -> str:
    """`text` without the rule of `entry`. Raises `SettingsNotWritten`."""
    layout = _layout(text)
    path, index = tuple(map(str, entry.place[:-1])), entry.place[-1]
    array = layout.array(path)
    blocks = layout.elements(path)
    if array is not None and isinstance(index, int) and index < len(array.items):
        changed = _without_item(text, array, index)
    elif isinstance(index, int) and index < len(blocks):
        changed = _without_block(text, blocks[index])
    else:
        raise SettingsNotWritten(
            "the rule is written in a form that is not changed here", hint="take it out by hand"
        )
    before, after = _read(text, own_file=own_file), _read(changed, own_file=own_file)
    if [item.rule for item in before if item.place != entry.place] != [item.rule for item in after]:
        allows = _allows_come_back(before, after, entry)
        if not allows:
            raise SettingsNotWritten(
                "to take the rule out would change what the others say", hint="take it out by hand"
            )
        raise SettingsNotWritten(
            "it is the last ordered rule, and without it the allow rules of the buckets would count",
            hint="take it out by hand, or the buckets first",
        )
    _check_rest(text, changed)
    return changed


def toml_rules(rules: Sequence[RuleTable]) -> str:
    """`rules` as a permissions.toml."""
    return "\n".join(_block((_TABLE, "rules"), rule, "\n") + "\n" for rule in rules)


def _allows_come_back(before: Sequence[RuleEntry], after: Sequence[RuleEntry], entry: RuleEntry) -> bool:
    kept = [item.rule for item in before if item.place != entry.place]
    return [item.rule for item in after if "allow" not in item.place] == kept


def _array(
    data: Mapping[str, Any], inner: Mapping[str, Any], name: str, *, own_file: bool
) -> tuple[tuple[str, ...], list[Any]]:
    """Where the list `name` of a file stands, and what is in it."""
    at_top = own_file and name in data and name not in inner
    place = (name,) if at_top else (_TABLE, name)
    value = data[name] if at_top else inner.get(name)
    if value is not None and not isinstance(value, list):
        raise SettingsError(f"`{'.'.join(place)}` must be an array, got {kind_of(value)}")
    return place, value or []


def _of_bucket(action: str, item: Any, place: tuple[str | int, ...]) -> RuleEntry:
    kept, findings = clean_patterns(action, [item])
    rule = {"pattern": item, "action": action}
    problem = findings[0] if findings else None
    return RuleEntry(
        rule=rule,
        place=place,
        problem=problem.text if problem is not None and not kept else None,
        fatal=problem is not None and problem.fatal,
    )


def _ordered(item: Any, place: tuple[str | int, ...]) -> RuleEntry:
    kept, findings = clean_rules([item])
    if kept:
        problem = findings[0].text if findings else None
        return RuleEntry(rule=kept[0], place=place, problem=problem)
    shown = dict(item) if isinstance(item, dict) else {"pattern": item}
    return RuleEntry(rule=shown, place=place, problem=findings[0].text, fatal=findings[0].fatal)


def _layout(text: str) -> Layout:
    try:
        return scan(text)
    except (ValueError, IndexError, RecursionError) as error:
        raise SettingsNotWritten(
            f"the form of the file is not understood: {error}", hint="change it by hand"
        ) from error


def _read(text: str, *, own_file: bool) -> tuple[RuleEntry, ...]:
    data, _ = parse(text, name="the file", toml=True)
    return rule_entries(data, own_file=own_file)


def _newline(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _appended(text: str, path: str, rule: RuleTable, *, legacy: bool = False) -> str:
    """`text` and a table behind it; whether it ends with a line end stays as it was."""
    line = _newline(text)
    block = _block(tuple(path.split(".")), rule, line, legacy=legacy)
    if not text.strip("\ufeff"):
        return f"{text}{block}{line}"
    return f"{text}{line}{block}{line}" if text.endswith("\n") else f"{text}{line}{line}{block}"


def _block(path: tuple[str, ...], rule: RuleTable, line: str, *, legacy: bool = False) -> str:
    members = [
        (_name(name, legacy=legacy), rule[name]) for name in ("pattern", "action", *_MEMBERS) if name in rule
    ]
    return line.join((f"[[{'.'.join(path)}]]", *(f"{name} = {_quoted(value)}" for name, value in members)))


def _name(name: str, *, legacy: bool) -> str:
    return "tool" if legacy and name == "pattern" else name


def _inline(rule: RuleTable) -> str:
    members = (f"{name} = {_quoted(rule[name])}" for name in ("pattern", "action", *_MEMBERS) if name in rule)
    return f"{{ {', '.join(members)} }}"


def _in_bucket(
    text: str,
    layout: Layout,
    data: Mapping[str, Any],
    inner: Mapping[str, Any],
    rule: RuleTable,
    *,
    own_file: bool,
) -> str:
    """The pattern among the others of its action: an ordered rule would switch the allows of buckets off."""
    if any(name in rule for name in _MEMBERS):
        raise SettingsNotWritten(
            "the rules of this file stand in lists without order, where a rule has no comment, reason or end",
            hint=_CONVERT,
        )
    place, _ = _array(data, inner, rule["action"], own_file=own_file)
    array = layout.array(place)
    if array is not None:
        return _inserted(text, array, _quoted(rule["pattern"]))
    allows = layout.array(_array(data, inner, "allow", own_file=own_file)[0])
    if allows is None:
        raise SettingsNotWritten(
            "the rules of this file stand in a form that is not changed here", hint=_CONVERT
        )
    start = _line_start(text, allows.start)
    indent = text[start : len(text) - len(text[start:].lstrip(" \t"))]
    new = f"{indent}{rule['action']} = [{_quoted(rule['pattern'])}]{_newline(text)}"
    return text[:start] + new + text[start:]


def _inserted(text: str, array: Array | None, item: str) -> str:
    """`item` as the last of a static array, on a line of its own where the last has one."""
    if array is None:
        raise SettingsNotWritten(
            "the rules of this file stand in a form that is not changed here", hint=_CONVERT
        )
    if not array.items:
        return f"{text[: array.start + 1]} {item} {text[array.start + 1 :]}"
    last = array.items[-1]
    line = _line_of(text, array, last)
    if line is None:
        return f"{text[: last.end]}, {item}{text[last.end :]}"
    indent = text[line.start : last.start]
    rest = text[last.end : line.end]
    if rest.lstrip(" \t").startswith(","):
        return f"{text[: line.end]}{indent}{item},{_newline(text)}{text[line.end :]}"
    return f"{text[: last.end]},{rest}{indent}{item}{_newline(text)}{text[line.end :]}"


def _line_of(text: str, array: Array, item: TextSpan) -> TextSpan | None:
    """The line that an element has to itself, its comma and a comment included; its end is behind it."""
    start = text.rfind("\n", 0, item.start) + 1
    rest = _REST_OF_LINE.match(text, item.end)
    if start <= array.start or text[start : item.start].strip() or rest is None:
        return None
    return TextSpan(start=start, end=rest.end())


def _without_item(text: str, array: Array, index: int) -> str:
    """An element gone: its line where it has one, else with the comma and the blanks before it."""
    items = array.items
    item = items[index]
    line = _line_of(text, array, item)
    if line is not None:
        changed = text[: line.start] + text[line.end :]
        has_comma = text[item.end : line.end].lstrip(" \t").startswith(",")
        if index and index == len(items) - 1 and not has_comma:
            at = text.index(",", items[index - 1].end)
            changed = changed[:at] + changed[at + 1 :]
        return changed
    if index:
        return text[: items[index - 1].end] + text[item.end :]
    if len(items) > 1:
        return text[: item.start] + text[items[1].start :]
    return _without_only_item(text, array, item)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1 or int(text.startswith("\ufeff"))


def _without_only_item(text: str, array: Array, item: TextSpan) -> str:
    """The array emptied; its whole line gone where that is as we write one."""
    start = _line_start(text, array.start)
    plain = f"{array.path[-1]} = [{text[item.start : item.end]}]"
    rest = _REST_OF_LINE.match(text, array.end)
    if text[start : array.end].lstrip(" \t") == plain and rest is not None and not rest[0].strip():
        return text[:start] + text[rest.end() :]
    before, behind = text[: item.start], text[item.end :]
    if before.endswith("[ ") and behind.startswith(" "):
        return before[:-1] + behind[1:]
    tail = behind.lstrip(" \t")
    return before + (tail[1:] if tail.startswith(",") else behind)


def _without_block(text: str, block: Block) -> str:
    """A table gone, with the empty line before it."""
    start, end = block.start, block.end
    if end == len(text) and not text.endswith("\n"):
        for _ in range(2):
            start -= 2 if text.endswith("\r\n", 0, start) else 1 if text.endswith("\n", 0, start) else 0
        return text[:start]
    before = text[:start]
    for empty in ("\r\n", "\n"):
        if before.endswith(empty) and (before == empty or before[: -len(empty)].endswith("\n")):
            return before[: -len(empty)] + text[end:]
    return before + text[end:]


def _check_added(text: str, changed: str, rule: RuleTable, *, own_file: bool) -> None:
    """What was read before, and `rule`: nothing else."""
    try:
        before, after = _read(text, own_file=own_file), list(_read(changed, own_file=own_file))
    except SettingsError as error:
        raise SettingsNotWritten(
            "the form of this file does not take a further rule", hint=_CONVERT
        ) from error
    rules = [item.rule for item in after]
    for place, candidate in enumerate(rules):
        if candidate == rule and rules[:place] + rules[place + 1 :] == [item.rule for item in before]:
            return _check_rest(text, changed)
    raise SettingsNotWritten("a further rule would change what the others of this file say", hint=_CONVERT)


def _check_rest(text: str, changed: str) -> None:
    """Whatever is no rule says what it said."""
    if _without_rules(text) != _without_rules(changed):
        raise SettingsNotWritten("the change would reach what is no rule", hint="change the file by hand")


def _without_rules(text: str) -> dict[str, Any]:
    data, _ = parse(text, name="the file", toml=True)
    names = (*BUCKETS, "rules", "rule")
    table = data.get(_TABLE)
    inner = (
        {name: item for name, item in table.items() if name not in names}
        if isinstance(table, dict)
        else table
    )
    rest = {name: item for name, item in data.items() if name not in (*names, _TABLE)}
    return {**rest, _TABLE: inner} if inner else rest


def _quoted(text: str) -> str:
    """A TOML string on one line."""
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
    return '"' + "".join(signs.get(char) or _shown(char) for char in text) + '"'


def _shown(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        raise SettingsNotWritten("the text is not Unicode")
    return char if char.isprintable() else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
