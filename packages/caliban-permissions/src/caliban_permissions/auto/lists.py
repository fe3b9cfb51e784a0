"""`auto-mode.toml`: which calls the auto mode refuses, leaves to a person, or allows without its model.

Four arrays of patterns, in the order in which they count: `hard_deny`, `soft_deny`, `allow`, and `env`, which
is more of `allow`. A list that a file leaves out is the built-in one; `"$defaults"` (or `"$defaults.LIST"`)
in a list stands for the built-in entries. A list decides only on what the rules leave to a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct

from caliban_common.near import did_you_mean
from caliban_common.permission import Action
from caliban_common.text import one_line
from caliban_permissions.errors import RuleError
from caliban_permissions.rules.rule import Rule

FILE_NAME: Final = "auto-mode.toml"
ListName: TypeAlias = Literal["hard_deny", "soft_deny", "allow", "env"]
LISTS: Final[tuple[ListName, ...]] = get_args(ListName)
SPLICE: Final = "$defaults"
MAX_ENTRIES: Final = 1000

DEFAULTS: Final[Mapping[ListName, tuple[str, ...]]] = MappingProxyType(
    {
        "hard_deny": (
            *(f"Bash:~{program} *" for program in ("sudo", "doas", "su", "pkexec", "runuser")),
            *(f"Bash:{shell}{rest}" for shell in ("sh", "bash", "zsh", "dash") for rest in ("", " -s*")),
            "Bash:~mkfs*",
            "Bash:~dd *of=/dev/*",
            "WebFetch:http://*",
        ),
        "soft_deny": (
            *(f"Bash:~{program} *" for program in ("rm", "rmdir", "unlink", "shred", "truncate", "mv")),
            *(f"Bash:~{program} *" for program in ("chmod", "chown", "chgrp", "kill", "pkill", "killall")),
            *(f"Bash:~{program} *" for program in ("ssh", "scp", "sftp", "rsync", "nc", "ncat", "socat")),
            *(f"Bash:~{program} *" for program in ("kubectl", "terraform", "tofu", "helm", "aws", "gcloud")),
            *(f"Bash:~{program} publish*" for program in ("npm", "pnpm", "yarn", "cargo", "uv", "poetry")),
            "Bash:~twine upload*",
            "Bash:~docker push*",
            "Bash:~crontab*",
            "Bash:~git push*",
            "Bash:~git reset --hard*",
            "Bash:~git clean*",
            "Bash:~git branch -D*",
            "Bash:~gh *",
            *(f"{tool}:**/{name}" for tool in ("Read", "Edit") for name in (".env*", "*.pem", "*.key")),
            *(f"{tool}:**/{name}" for tool in ("Read", "Edit") for name in ("id_rsa*", "id_ed25519*")),
        ),
        "allow": (
            *(f"Bash(cargo {verb}:*)" for verb in ("test", "check", "clippy")),
            "Bash(go vet:*)",
        ),
        "env": ("Read", "Glob", "Grep"),
    }
)
"""The built-in lists. Root, recursive deletion, what is piped into a shell, files of secrets, plain HTTP."""


class AutoLists(Struct, frozen=True, kw_only=True):
    """The lists that count, as patterns; `allow` holds `env` as well."""

    hard_deny: tuple[str, ...] = DEFAULTS["hard_deny"]
    soft_deny: tuple[str, ...] = DEFAULTS["soft_deny"]
    allow: tuple[str, ...] = (*DEFAULTS["allow"], *DEFAULTS["env"])

    @property
    def binding(self) -> tuple[Rule, ...]:
        """Rules that refuse and ask, in their order."""
        rows: tuple[tuple[Action, tuple[str, ...]], ...] = (("deny", self.hard_deny), ("ask", self.soft_deny))
        return tuple(
            Rule(pattern=pattern, action=action, source=FILE_NAME)
            for action, patterns in rows
            for pattern in patterns
        )


def auto_lists(files: Mapping[str, Mapping[str, object]]) -> AutoLists:
    """The lists out of the tables of files by their names, the strongest first.

    Several files add up. Raises `RuleError` for an unknown list, and for an entry that is no pattern or
    matches nothing: what was to be refused must not be passed over.
    """
    merged: dict[ListName, dict[str, None]] = {}
    for source, table in files.items():
        unknown = next((key for key in table if key not in LISTS), None)
        if unknown is not None:
            raise RuleError(
                f"{source}: there is no list {one_line(unknown, max_chars=80)!r}",
                hint=did_you_mean(unknown, LISTS) or f"lists are {', '.join(LISTS)}",
            )
        for key, value in table.items():
            name = cast(ListName, key)
            merged.setdefault(name, {}).update(dict.fromkeys(_entries(name, value, source)))
    lists = {name: tuple(merged[name]) if name in merged else DEFAULTS[name] for name in LISTS}
    return AutoLists(
        hard_deny=lists["hard_deny"], soft_deny=lists["soft_deny"], allow=(*lists["allow"], *lists["env"])
    )


def _entries(name: ListName, value: object, source: str) -> tuple[str, ...]:
    place = f"{source}: {name}"
    if not isinstance(value, list) or len(value) > MAX_ENTRIES:
        raise RuleError(f"{place} must be an array of at most {MAX_ENTRIES} patterns")
    entries: list[str] = []
    for number, item in enumerate(value, 1):
        if not isinstance(item, str) or not item.strip():
            raise RuleError(f"{place}: entry {number} is no pattern", hint='such as "Bash:git push*"')
        if item.startswith(SPLICE):
            entries.extend(_spliced(item, name, place))
            continue
        problem = Rule(pattern=item, action="deny").problem
        if problem is not None:
            raise RuleError(f"{place}: {one_line(item, max_chars=80)!r} matches nothing: {problem}")
        entries.append(item)
    return tuple(entries)


def _spliced(item: str, name: ListName, place: str) -> tuple[str, ...]:
    of = item.removeprefix(SPLICE).removeprefix(".") if item != SPLICE else name
    if item.removeprefix(SPLICE)[:1] not in ("", ".") or of not in LISTS:
        raise RuleError(
            f"{place}: {one_line(item, max_chars=80)!r} names no built-in list",
            hint=f"{SPLICE}, or one of {', '.join(f'{SPLICE}.{each}' for each in LISTS)}",
        )
    return DEFAULTS[of]
