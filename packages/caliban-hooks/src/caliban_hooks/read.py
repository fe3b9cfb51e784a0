"""Hooks from settings: the form of our own files, and that of Claude's settings.

Both are groups by event. A group has a matcher and a list of hooks, called `handlers` here and `hooks` there.
Nothing is ignored: an unknown or unfitting member is an error that names its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_common.lazy import lazy_pattern
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_hooks.errors import BadHook, PatternRefused
from caliban_hooks.events import EVENTS
from caliban_hooks.matcher import Matcher
from caliban_hooks.spec import FailurePolicy, HookKind, HookSpec

DEFAULT_TIMEOUT_S: Final = 30.0
AGENT_TIMEOUT_S: Final = 60.0
"""For agents, which use tools before they judge."""

MAX_TIMEOUT_S: Final = 3600.0
MAX_HOOKS: Final = 500

_POLICY: Final = frozenset({"on_failure", "onFailure"})
_GROUP: Final = frozenset({"matcher", "if", "handlers", "hooks", "on_failure", "onFailure", "description"})
_SHARED: Final = frozenset(
    {
        *("type", "if", "timeout", "async", "once", "on_failure", "onFailure"),
        *("statusMessage", "status_message", "description"),
    }
)
_ALONE: Final = frozenset({"type", "command", "url", "prompt", "agent", "tool", "mcp", "server"})
"""Members that only a hook has, never a group."""

_OWN: Final[Mapping[HookKind, frozenset[str]]] = {
    "command": frozenset({"command", "args", "env", "shell"}),
    "http": frozenset({"url", "headers", "allowedEnvVars", "allowed_env_vars"}),
    "prompt": frozenset({"prompt", "model"}),
    "agent": frozenset({"prompt", "model", "agent"}),
    "mcp": frozenset({"mcp", "server", "tool", "input"}),
}
_OTHER_NAMES: Final[Mapping[str, HookKind]] = {"mcp_tool": "mcp"}
"""What Claude's settings call a kind -> what ours do."""

_DURATION: Final = lazy_pattern(r"(\d{1,7}(?:\.\d{1,6})?)\s*(ms|s|m|h)?", 256)  # re.ASCII
_UNITS: Final[Mapping[str | None, float]] = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0}


def read_hooks(table: object, *, source: str) -> tuple[HookSpec, ...]:
    """The hooks of one scope's table `hooks`, in order; `source` is the file, for words. Raises `BadHook`."""
    if not isinstance(table, Mapping):
        raise BadHook(source, f"`hooks` must be a table of events, not {_kind(table)}")
    specs = tuple(spec for name, groups in table.items() for spec in _of_event(str(name), groups, source))
    if len(specs) > MAX_HOOKS:
        raise BadHook(source, f"there are more than {MAX_HOOKS} hooks")
    return specs


def _of_event(name: str, groups: object, source: str) -> Iterator[HookSpec]:
    place = f"{source}: `hooks.{one_line(name, max_chars=60)}`"
    if name not in EVENTS:
        advice = did_you_mean(name, EVENTS) or f"the events are {', '.join(sorted(EVENTS))}"
        raise BadHook(place, f"there is no such event; {advice}")
    if not isinstance(groups, list | tuple):
        raise BadHook(place, f"must be a list of groups, not {_kind(groups)}")
    for number, group in enumerate(groups):
        yield from _of_group(name, group, f"{source}: `hooks.{name}[{number}]`")


def _of_group(event: str, group: object, place: str) -> Iterator[HookSpec]:
    group = _grouped(_table(group, place))
    _known(group, _GROUP, place)
    matcher = _text(group, "matcher", place)
    try:
        Matcher(matcher)
    except PatternRefused as error:
        raise BadHook(place, f"the matcher {one_line(matcher, max_chars=80)!r}: {error.message}") from None
    both = [name for name in ("handlers", "hooks") if name in group]
    if len(both) != 1:
        raise BadHook(place, "has no `handlers`" if not both else "has `handlers` and `hooks`: one of them")
    handlers = group[both[0]]
    if not isinstance(handlers, list | tuple) or not handlers:
        raise BadHook(place, f"`{both[0]}` must be a list with at least one hook")
    condition = _text(group, "if", place)
    policy = {name: group[name] for name in _POLICY & group.keys()}
    for number, handler in enumerate(handlers):
        own = f"{place.removesuffix('`')}.{both[0]}[{number}]`"
        given = _table(handler, own)
        given = given if _POLICY & given.keys() else {**policy, **given}
        yield _of_handler(event, matcher, condition, given, own)


def _grouped(group: dict[str, Any]) -> dict[str, Any]:
    """A group that is a hook itself as a group of one."""
    if not _ALONE & group.keys() or {"handlers", "hooks"} & group.keys():
        return group
    own = {name: value for name, value in group.items() if name not in _GROUP or name == "description"}
    return {**{name: value for name, value in group.items() if name not in own}, "handlers": [own]}


def _of_handler(event: str, matcher: str, condition: str, given: dict[str, Any], place: str) -> HookSpec:
    kind = _hook_kind(given, place)
    _known(given, _SHARED | _OWN[kind], place)
    own = _text(given, "if", place)
    if own and condition:
        raise BadHook(place, "has an `if` of its own beside that of its group: leave one of them out")
    if (own or condition) and not is_about_calls(event):
        raise BadHook(place, f"`if` is about tool calls, and {event} has none")
    background = _flag(given, "async", place)
    parts = _PARTS[kind](given, place)
    spec = HookSpec(
        event=event,
        kind=kind,
        place=place,
        matcher=matcher,
        condition=own or condition,
        timeout_s=_timeout(
            given.get("timeout"), place, AGENT_TIMEOUT_S if kind == "agent" else DEFAULT_TIMEOUT_S
        ),
        background=background,
        once=_flag(given, "once", place),
        on_failure=_policy(given, place),
        **parts,
    )
    if spec.on_failure == "block" and (background or EVENTS[event].role != "guard"):
        why = "nobody waits for it" if background else f"{event} cannot be blocked"
        raise BadHook(place, f"on_failure = block does nothing here: {why}")
    return spec


def is_about_calls(event: str) -> bool:
    """Whether an event is about a tool call."""
    return event in (
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "PermissionDenied",
    )


def _hook_kind(given: Mapping[str, Any], place: str) -> HookKind:
    kind = given.get("type", "command" if "command" in given else None)
    if isinstance(kind, str):
        kind = _OTHER_NAMES.get(kind, kind)
    for known in _OWN:
        if kind == known:
            return known
    raise BadHook(place, f"`type` must be one of {', '.join(_OWN)}, not {_shown(kind)}")


def _of_command(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    command = _text(given, "command", place)
    if not command.strip():
        raise BadHook(place, "has no `command`")
    if "\0" in command:
        raise BadHook(place, "the command has a NUL character in it")
    args = given.get("args")
    if args is not None and not (isinstance(args, list | tuple) and all(_is_argument(arg) for arg in args)):
        raise BadHook(place, "`args` must be a list of texts")
    shell = _text(given, "shell", place)
    if shell not in ("", "bash", "sh"):
        raise BadHook(place, f"`shell` must be bash or sh, not {_shown(shell)}")
    return {
        "command": command,
        "args": None if args is None else tuple(args),
        "shell": shell,
        "env": _texts(given, "env", place),
    }


def _of_http(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    url = _text(given, "url", place)
    if not url:
        raise BadHook(place, "has no `url`")
    return {"url": url, "headers": _texts(given, "headers", place)}


def _of_prompt(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    prompt = _text(given, "prompt", place)
    if not prompt.strip():
        raise BadHook(place, "has no `prompt`")
    return {"prompt": prompt, "model": _text(given, "model", place)}


def _of_agent(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {**_of_prompt(given, place), "agent": _text(given, "agent", place).strip()}


def _of_mcp(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    both = [name for name in ("mcp", "server") if name in given]
    server = _text(given, both[0], place) if len(both) == 1 else ""
    if not server.strip():
        raise BadHook(place, "has no `mcp`, which names a server" if not both else "names no one server")
    tool = _text(given, "tool", place)
    if not tool.strip():
        raise BadHook(place, "has no `tool`")
    args = given.get("input", {})
    if not isinstance(args, Mapping):
        raise BadHook(place, f"`input` must be a table, not {_kind(args)}")
    return {"server": server, "tool": tool, "input": dict(args)}


_PARTS: Final[Mapping[HookKind, Callable[[Mapping[str, Any], str], dict[str, Any]]]] = MappingProxyType(
    {"command": _of_command, "http": _of_http, "prompt": _of_prompt, "agent": _of_agent, "mcp": _of_mcp}
)


def _policy(given: Mapping[str, Any], place: str) -> FailurePolicy:
    value = given.get("on_failure", given.get("onFailure", "default"))
    match value:
        case "block" | "default":
            return value  # type: ignore[no-any-return]
        case "allow" | "continue":
            return "allow"
        case _:
            raise BadHook(place, f"on_failure must be block or allow, not {_shown(value)}")


def _timeout(value: object, place: str, usual_s: float) -> float:
    if value is None:
        return usual_s
    seconds = math.nan
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())) is not None:
        seconds = float(match[1]) * _UNITS[match[2]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    if not 0 < seconds <= MAX_TIMEOUT_S:
        raise BadHook(place, f"timeout must be seconds, or text such as 5s or 200ms, not {_shown(value)}")
    return seconds


def _table(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise BadHook(place, f"must be a table, not {_kind(value)}")
    return {str(name): member for name, member in value.items()}


def _known(given: Mapping[str, Any], names: frozenset[str], place: str) -> None:
    for name in given:
        if name not in names:
            advice = did_you_mean(name, names) or f"what there is: {', '.join(sorted(names))}"
            raise BadHook(place, f"`{one_line(name, max_chars=60)}` is not known here; {advice}")


def _text(given: Mapping[str, Any], name: str, place: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise BadHook(place, f"`{name}` must be text, not {_kind(value)}")
    return value


def _flag(given: Mapping[str, Any], name: str, place: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise BadHook(place, f"`{name}` must be true or false, not {_shown(value)}")
    return value


def _texts(given: Mapping[str, Any], name: str, place: str) -> dict[str, str]:
    value = given.get(name, {})
    if not isinstance(value, Mapping) or not all(
        isinstance(key, str) and key and "=" not in key and _is_argument(key) and _is_argument(text)
        for key, text in value.items()
    ):
        raise BadHook(place, f"`{name}` must be a table of texts")
    return dict(value)


def _is_argument(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _kind(value: object) -> str:
    names = {dict: "a table", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else "that")


def _shown(value: object) -> str:
    return one_line(repr(value), max_chars=60)
