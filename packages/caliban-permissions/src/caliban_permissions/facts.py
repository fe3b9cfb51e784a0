"""What the engine makes of what a tool says of itself: facts if somebody vouches for it, else claims.

A claim only binds. The tool is judged as if it had claimed nothing, and beside that every deny and ask rule
that would mean the claimed argument counts (ADR 0024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caliban_common.lazy import cached_property
from caliban_common.tool import ArgumentRole, ToolSpec
from caliban_permissions.names import EDITORS, PATH_WORDS, guide_spec

PATH_ROLES: tuple[ArgumentRole, ...] = ("reads", "searches", "writes")


class JudgedTool:
    """A tool as the engine sees it.

    `roles` say which arguments its own rules match: a command alone, or paths and URLs. `claims` are what
    else deny and ask rules mean, by argument and role: one argument may be several things. `vouched` says
    whether the kind counts where that opens something.
    """

    def __init__(self, spec: ToolSpec, *, vouched: bool) -> None:
        self.spec = spec
        self.name: str = spec.name
        self.kind = spec.kind
        self.vouched = vouched
        self.roles: Mapping[str, ArgumentRole]
        familiar = guide_spec(spec.name)
        expected = {} if familiar is None else familiar.roles
        if vouched:
            stated = spec.roles or expected or guessed_roles(spec)
            shell = {name: role for name, role in stated.items() if role in ("command", "directory")}
            self.roles = shell if "command" in stated.values() else stated
            claims = [*stated.items()]
        else:
            self.roles = guessed_roles(spec)
            claims = [*expected.items(), *spec.roles.items()]
        self.claims: tuple[tuple[str, ArgumentRole], ...] = tuple(
            claim for claim in dict.fromkeys(claims) if claim not in self.roles.items()
        )

    @property
    def harmless(self) -> bool:
        """Whether it is known to change nothing outside the session."""
        return self.vouched and self.kind in ("read", "session")

    @property
    def edits(self) -> bool:
        """Whether it is known to do no more than change files."""
        return self.vouched and self.kind == "edit"

    @cached_property
    def directory(self) -> str:
        """The argument that is the directory in which a command runs; empty for none."""
        stated = (*self.roles.items(), *self.claims)
        return next((name for name, role in stated if role == "directory"), "")

    @cached_property
    def command(self) -> str | None:
        """The argument that is a shell command, if there is one."""
        return next((name for name, role in self.roles.items() if role == "command"), None)


def guessed_roles(spec: ToolSpec) -> Mapping[str, ArgumentRole]:
    """What the main argument of a tool without roles is, by its kind and by what it is called."""
    main = spec.main_argument
    familiar = guide_spec(spec.name) if spec.kind == "read" else None
    searches = familiar is not None and "searches" in familiar.roles.values()
    if main in PATH_WORDS and spec.kind in ("read", "edit"):
        return {main: "writes" if spec.kind == "edit" else "searches" if searches else "reads"}
    if familiar is not None and searches:
        return familiar.roles
    if main is not None and spec.kind == "edit" and spec.name in EDITORS:
        return {main: "writes"}
    return {"url": "url"} if main == "url" else {}


def paths_of(tool: JudgedTool, args: Mapping[str, Any]) -> Iterator[tuple[ArgumentRole, str]]:
    """The paths that the tool's own rules match; a search without one is in the workspace."""
    for name, role in tool.roles.items():
        value = args.get(name)
        if role in PATH_ROLES and isinstance(value, str):
            yield role, value
        elif role == "searches":
            yield role, "."


def claimed_in(tool: JudgedTool, args: Mapping[str, Any]) -> Iterator[tuple[ArgumentRole, str]]:
    """What else deny and ask rules mean: the arguments of `claims`, and paths in lists."""
    for name, role in tool.roles.items():
        if role in PATH_ROLES and not isinstance(args.get(name), str):
            yield from ((role, text) for text in _texts(args.get(name)))
    for name, role in tool.claims:
        yield from ((role, text) for text in _texts(args.get(name)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (item for item in value if isinstance(item, str))
