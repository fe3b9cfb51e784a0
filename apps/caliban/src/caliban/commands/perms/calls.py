"""`caliban perms test FILE`: calls with what the rules should say, for the machine that judges a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

from msgspec import Struct

from caliban.errors import ConfigError, MissingError
from caliban.stdio import print_text
from caliban_common.errors import FileFailed, NotRegularFile, TooLarge
from caliban_common.files import read_regular
from caliban_common.near import did_you_mean
from caliban_common.permission import Action
from caliban_common.text import one_line, plural
from caliban_permissions import Explanation

MAX_BYTES: Final = 1 << 20
FORM: Final = 'such as [[call]], tool = "Bash", input = { command = "git push" }, expect = "ask"'
_MEMBERS: Final = ("tool", "input", "expect", "comment")


class ExpectedCall(Struct, frozen=True, kw_only=True):
    """A call, and what the rules should say to it."""

    tool: str
    input: Mapping[str, Any]
    expect: Action


def judge_calls(path: Path, judge: Callable[[str, Mapping[str, Any]], Explanation]) -> int:
    """Judge every call of a file: 0 when each is decided as expected, else 1, with each that is not."""
    calls = read_calls(path)
    lines = []
    for number, call in enumerate(calls, 1):
        explanation = judge(call.tool, call.input)
        if explanation.verdict != call.expect:
            asked = f"{call.tool} {one_line(str(dict(call.input)), max_chars=200)}"
            rule = explanation.rule or "(default)"
            lines.append(
                f"call {number}: {asked}: expected {call.expect}, got {explanation.verdict} by {rule}"
            )
    wrong = len(lines)
    end = (
        f"{plural(wrong, 'call')} of {len(calls)} not as expected"
        if wrong
        else f"OK ({plural(len(calls), 'call')})"
    )
    return print_text("\n".join((*lines, end, ""))) or (1 if wrong else 0)


def read_calls(path: Path) -> tuple[ExpectedCall, ...]:
    """The calls of a file. Raises `MissingError` and `ConfigError`."""
    import tomllib

    try:
        data = tomllib.loads(read_regular(path, max_bytes=MAX_BYTES).decode("utf-8"))
    except FileFailed as error:
        raise MissingError(error.message, hint="name a file of calls, or a TOOL and its JSON") from error
    except (NotRegularFile, TooLarge) as error:
        raise ConfigError(error.message) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {one_line(str(error))}", hint=FORM) from error
    calls = data.get("call")
    if not isinstance(calls, list) or not calls or set(data) != {"call"}:
        raise ConfigError(f"{path}: there must be [[call]] tables and nothing else", hint=FORM)
    return tuple(_call(item, f"{path}: call {number}") for number, item in enumerate(calls, 1))


def _call(item: object, place: str) -> ExpectedCall:
    if not isinstance(item, dict) or not isinstance(item.get("tool"), str) or not item["tool"]:
        raise ConfigError(f"{place} names no tool", hint=FORM)
    unknown = next((name for name in item if name not in _MEMBERS), None)
    if unknown is not None:
        raise ConfigError(
            f"{place} has the unknown member {one_line(unknown)!r}", hint=did_you_mean(unknown, _MEMBERS)
        )
    given = item.get("input", {})
    if not isinstance(given, dict):
        raise ConfigError(f"{place}: its input must be a table", hint=FORM)
    if item.get("expect") not in get_args(Action):
        raise ConfigError(f"{place}: what is expected must be allow, ask or deny", hint=FORM)
    return ExpectedCall(tool=item["tool"], input=given, expect=cast(Action, item["expect"]))
