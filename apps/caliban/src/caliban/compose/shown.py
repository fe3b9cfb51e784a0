"""What a person is shown of the items of a project: all that they say, but for secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.terminal import visible
from caliban_permissions import Rule
from caliban_permissions.lint import describe, grants_code
from caliban_process.environ import SECRET_NAMES, SECRET_VALUES
from caliban_settings import ProjectSetting

HIDDEN: Final = "[secret]"
ANY_CODE: Final = "RUNS ANY CODE"
_NAMES: Final = rf"(?i)({'|'.join(SECRET_NAMES)})|authorization"
_VALUES: Final = rf"({'|'.join(SECRET_VALUES)}|(?i:\bbearer\s))[^\s\"']*"
_LINE: Final = r"""(?m)^(\s*["']?([\w.-]+)["']?\s*=\s*)(?:"[^"\n]*"|'[^'\n]*')"""
_REFERENCE: Final = r"(?i:bearer |basic |token )?\$\{[A-Za-z_][A-Za-z0-9_]*(:-)?\}"
"""A value that only names a variable: which one is what a person has to see of it."""

_NO_SECRET: Final = (
    "api_key_env",
    "api_key_helper",
    "http_hook_allowed_env_vars",
    "idp_id_token_env",
    "idp_id_token_file",
    "idp_id_token_helper",
    "idp_token_auth",
    "idp_token_url",
)
"""Members whose names sound like secrets, and that name a variable or a program."""


def shown_setting(setting: ProjectSetting) -> str:
    """A setting in lines: each rule with what it matches, another value as JSON."""
    if setting.key.startswith("permissions.") and isinstance(setting.value, list):
        return "\n".join(_rules(setting.key.rpartition(".")[2], setting.value))
    names = setting.key.split(".")
    if names[0] == "mcp_servers" and names[2:3] == ["permissions"] and isinstance(setting.value, list):
        patterns = [f"mcp__{names[1]}__{pattern}" for pattern in setting.value]
        return "\n".join(_rules(names[-1], patterns))
    hides = len(names) > 1 and ("env" in names or "headers" in names) and _is_secret(names[-1])
    hides = hides and isinstance(setting.value, str) and re.fullmatch(_REFERENCE, setting.value) is None
    value = HIDDEN if hides else _masked(setting.value)
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def shown_value(path: tuple[str, ...], value: Any) -> Any:
    """The value of a setting as plain data, without secrets; a `${NAME}` stays, for it is none."""
    if isinstance(value, str) and any(_hides(path[:end]) for end in range(2, len(path) + 1)):
        return value if re.fullmatch(_REFERENCE, value) else HIDDEN
    if isinstance(value, dict):
        return {name: shown_value((*path, name), below) for name, below in value.items()}
    if isinstance(value, list):
        return [shown_value((*path, str(place)), below) for place, below in enumerate(value)]
    return _masked(value)


def _hides(path: tuple[str, ...]) -> bool:
    """Whether what stands at `path` is a header, or has the name of a secret."""
    return path[-2] in ("headers", "extra_body") or _is_secret(path[-1])


def shown_text(data: bytes) -> str:
    """A file as it is, but for secrets; of one that is no text, how long it is."""
    try:
        text = decode_text(data)
    except CalibanError:
        return f"{len(data):,} bytes that are no text"

    def masked(match: re.Match[str]) -> str:
        return f'{match[1]}"{HIDDEN}"' if _is_secret(match[2]) else match[0]

    return visible(_without_values(re.sub(_LINE, masked, text)))


def _rules(bucket: str, items: list[Any]) -> Iterator[str]:
    for item in items:
        table = item if isinstance(item, dict) else {"pattern": item, "action": bucket}
        rule = Rule(pattern=str(table["pattern"]), action=table["action"])
        code = grants_code(rule)
        mark = f"\n    {ANY_CODE}: {code}" if code is not None else ""
        yield visible(f"{rule.action} {_without_values(rule.pattern)}: {describe(rule)}{mark}")


def _is_secret(name: str) -> bool:
    return name not in _NO_SECRET and re.search(_NAMES, name) is not None


def _without_values(text: str) -> str:
    return re.sub(_VALUES, HIDDEN, text)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return _without_values(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {
            name: HIDDEN if isinstance(below, str) and _is_secret(name) else _masked(below)
            for name, below in value.items()
        }
    return value
