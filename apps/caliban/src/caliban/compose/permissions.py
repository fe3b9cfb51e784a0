"""The rules of a run, from flags and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from caliban.cli.options import PermissionOptions
from caliban.errors import ConfigError, UsageError
from caliban_common.paths import expand_user
from caliban_common.permission import Decision, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_permissions import Engine, RuleSet


class Permissions:
    """The rules of a run and the mode it shows.

    Where nobody wrote a rule the engine is made with the first call that is judged: most first requests
    leave before that. Rules that somebody wrote are read at once, so that a mistake is told in time.
    """

    def __init__(self, mode: PermissionMode, make: Callable[[], Engine], *, ruled: bool) -> None:
        self.mode = mode
        self._make = make
        self._engine = make() if ruled else None
        self._ruled = ruled

    @property
    def engine(self) -> Engine:
        """The engine itself."""
        if self._engine is None:
            self._engine = self._make()
        return self._engine

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The verdict on a call."""
        return self.engine.decide(tool, args)

    def may_read(self, path: str) -> bool:
        """Whether a search may show what is at `path`."""
        return not self._ruled or self.engine.may_read(path)

    def offers(self, tool: ToolSpec) -> bool:
        """Whether the model should be told of the tool."""
        return not self._ruled or self.engine.offers(tool)


def build_permissions(
    options: PermissionOptions, settings: Settings, workspace: Path, *, trusted: bool
) -> Permissions:
    """The rules for a face without a person to ask; only those of a `trusted` project may allow.

    Raises `UsageError` and `ConfigError`.
    """
    mode = resolve_mode(options, settings)
    ruled = bool(options.allow or options.deny or options.ask or any(settings.rules_by_scope().values()))

    def make() -> Engine:
        from caliban_permissions import Engine
        from caliban_tools_builtin import builtin_specs

        return Engine(
            build_rules(options, settings, trusted=trusted),
            mode=mode,
            workspace=workspace,
            interactive=False,
            auto_allow=options.auto_allow,
            roots=roots_of(settings, workspace),
            vouched=builtin_specs(),
        )

    return Permissions(mode, make, ruled=ruled)


def build_rules(options: PermissionOptions, settings: Settings, *, trusted: bool) -> RuleSet:
    """The rules of every scope; the command line's stand first, what forbids before what permits."""
    from caliban_permissions import RuleSet, parse_rules

    scopes = settings.rules_by_scope()
    cli = [
        {"pattern": pattern, "action": action}
        for action, patterns in (("deny", options.deny), ("ask", options.ask), ("allow", options.allow))
        for pattern in patterns
    ]
    for rule in parse_rules(cli, source="command line"):
        if rule.problem is not None:
            raise UsageError(f"--{rule.action} {rule.pattern!r} matches nothing: {rule.problem}")
    cli.extend(scopes.get("cli", ()))
    return RuleSet(
        cli=parse_rules(cli, source="command line"),
        project=(*_rules(scopes, "local"), *_rules(scopes, "project")),
        user=_rules(scopes, "user"),
        managed=_rules(scopes, "managed"),
        project_trusted=trusted,
    )


def roots_of(settings: Settings, workspace: Path) -> tuple[Path, ...]:
    """The directories beside the workspace that count as part of it."""
    return tuple(workspace / expand_user(text) for text in settings.get("additional_directories") or ())


def resolve_mode(options: PermissionOptions, settings: Settings) -> PermissionMode:
    """The mode by flag, then settings, then `default`; refuses what is not allowed here."""
    enforced = bool(settings.get("permissions.enforce"))
    if options.no_permissions:
        if enforced:
            raise ConfigError("--no-permissions is forbidden by `permissions.enforce` in the settings")
        return "disabled"
    mode = options.permission_mode or settings.get("permissions.default_mode") or "default"
    modes = tuple(name for name in get_args(PermissionMode) if name != "disabled")
    if mode not in modes:
        raise UsageError(f"unknown permission mode {mode!r}", hint=f"one of {', '.join(modes)}")
    if mode == "bypassPermissions":
        if enforced:
            raise ConfigError("bypassPermissions is forbidden by `permissions.enforce` in the settings")
        if not options.allow_dangerously_skip_permissions:
            raise UsageError(
                "bypassPermissions runs every tool call without asking",
                hint="add --allow-dangerously-skip-permissions if that is what you want",
            )
    if mode == "auto" and not options.disable_auto_mode:
        raise UsageError(
            "the auto mode's classifier is not part of this version",
            hint="--disable-auto-mode makes auto ask; acceptEdits allows edits",
        )
    return cast(PermissionMode, mode)


def _rules(scopes: dict[str, tuple[dict[str, Any], ...]], scope: str) -> tuple[Any, ...]:
    from caliban_permissions import parse_rules

    return parse_rules(scopes.get(scope, ()), source=scope)
