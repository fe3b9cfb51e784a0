"""The rules of a run, from flags and settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast, get_args

from msgspec import Struct

from caliban.cli.options import PermissionOptions
from caliban.compose.access import roots_of, web_hosts_of
from caliban.compose.audit import RunLog
from caliban.compose.box import NO_BOX, Box
from caliban.errors import ConfigError, UsageError
from caliban_common.near import did_you_mean
from caliban_common.permission import Action, Decision, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_permissions import Engine, Rule, RuleSet


Rebuild: TypeAlias = Callable[[Settings, bool], "tuple[Engine, bool]"]


class ModeLatches(Struct, frozen=True, kw_only=True):
    """Which modes the run may go to that are not open to every run."""

    bypass: bool = False
    auto: bool = False


class Permissions:
    """The rules of a run and the mode it shows.

    Where nobody wrote a rule the engine is made with the first call that is judged: most first requests
    leave before that. Rules that somebody wrote are read at once, so that a mistake is told in time. The
    `log` hears of what is decided about the calls of every agent.
    """

    def __init__(
        self,
        mode: PermissionMode,
        make: Callable[[], Engine],
        *,
        ruled: bool,
        latches: ModeLatches | None = None,
        rebuild: Rebuild | None = None,
    ) -> None:
        self.mode = mode
        self._rebuild = rebuild
        self._answers: tuple[Rule, ...] = ()
        self.latches = latches or ModeLatches()
        self._own = mode
        self._make = make
        self._engine = make() if ruled else None
        self._ruled = ruled
        self.log: RunLog | None = None
        self._of_servers: dict[str, PermissionMode] = {}
        self._moded: dict[PermissionMode, tuple[Engine, Engine]] = {}

    @property
    def engine(self) -> Engine:
        """The engine itself."""
        if self._engine is None:
            self._engine = self._make()
        return self._engine

    @property
    def guards_files(self) -> bool:
        """Whether somebody has written a deny or ask rule about some files."""
        return self._engine is not None and self._engine.guards_files

    @property
    def plan_mode(self) -> bool:
        """Whether only what reads may run."""
        return self.mode == "plan"

    def set_plan_mode(self, on: bool) -> None:
        """Begin plan mode, or go back to the mode before it; a run that began in it goes on in `default`."""
        if on == self.plan_mode:
            return
        before: PermissionMode = "default" if self._own == "plan" else self._own
        self._engine = self.engine.in_mode("plan" if on else before, own=on)
        self.mode = self._engine.mode if on else before

    def bars_mode(self, mode: PermissionMode) -> str | None:
        """Why the run cannot go to `mode`, or `None`."""
        if self.mode == "disabled":
            return "permissions are disabled for this run"
        if mode == "bypassPermissions" and not self.latches.bypass:
            return "bypassPermissions was not allowed when the run began"
        if mode == "auto" and not self.latches.auto:
            return "the auto mode was not prepared when the run began"
        return None

    def set_mode(self, mode: PermissionMode) -> None:
        """Go to a mode that a person asks for, and nothing bars."""
        self._engine = self.engine.in_mode(mode)
        self._own = self.mode = self._engine.mode

    def set_server_mode(self, server: str, mode: PermissionMode | None) -> str | None:
        """From now on judge the tools of a server in `mode`, or in that of the run; why not, if not.

        What a run may not go to, its servers may not either.
        """
        barred = None if mode is None or mode == "default" else self.bars_mode(mode)
        if barred is not None or mode is None:
            self._of_servers.pop(server, None)
            return barred
        self._of_servers[server] = mode
        holds = self.mode in ("plan", "disabled")
        return f"the mode of the run is {self.mode}, which holds for all servers" if holds else None

    def engine_for(self, tool: ToolSpec) -> Engine:
        """The engine that judges the calls of a tool: the same one as long as nothing has changed."""
        mode = self._of_servers.get(tool.server) if tool.server else None
        engine = self.engine
        if mode is None or self.mode in ("plan", "disabled", mode):
            return engine
        made = self._moded.get(mode)
        if made is None or made[0] is not engine:
            made = self._moded[mode] = (engine, engine.in_mode(mode))
        return made[1]

    def after_plan(self, mode: PermissionMode) -> None:
        """Let the plan mode end in `mode`, which a person asks for and nothing bars."""
        self._own = mode

    def add_answers(self, rules: tuple[Rule, ...]) -> None:
        """From now on `rules`, which a person made in this run, stand before all others."""
        self._engine = self.engine.with_answers(rules)
        self._answers = (*rules, *self._answers)
        self._ruled = True

    def drop_answer(self, pattern: str, action: Action) -> None:
        """From now on without a rule that a person made in this run."""
        self._engine = self.engine.without_answer(pattern, action)
        self._answers = tuple(
            rule for rule in self._answers if (rule.pattern, rule.action) != (pattern, action)
        )

    def rebuilt(self, settings: Settings, *, trusted: bool) -> tuple[Engine, bool] | None:
        """The engine that other `settings` make in the mode of now, and whether somebody wrote a rule.

        Answers that a person gave in this run stay. Raises `UsageError` and `ConfigError`.
        """
        if self._rebuild is None:
            return None
        engine, ruled = self._rebuild(settings, trusted)
        engine = engine.in_mode(self.mode, own=self.plan_mode and self._own != "plan")
        if self._answers:
            engine = engine.with_answers(self._answers)
        return engine, ruled or bool(self._answers)

    def take(self, rebuilt: tuple[Engine, bool] | None) -> None:
        """Judge by another engine from now on."""
        if rebuilt is not None:
            self._engine, self._ruled = rebuilt

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The verdict on a call."""
        return self.engine_for(tool).decide(tool, args)

    def asking(self) -> AskingRules:
        """The same rules for a session with somebody to ask."""
        return AskingRules(self)

    def may_read(self, path: str) -> bool:
        """Whether a search may show what is at `path`."""
        return not self._ruled or self.engine.may_read(path)

    def may_read_file(self, path: str) -> bool:
        """The same of the canonical path of a file, which is not looked up."""
        return not self._ruled or self.engine.may_read(path, canonical=True)

    async def close(self) -> None:
        """Finish the log of decisions, where there is one."""
        if self.log is not None:
            await self.log.close()

    def permits(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a call may run without anybody being asked."""
        return self.decide(tool, args).action == "allow"

    def runs_outside(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a command that may run is one that a person lets out of the sandbox."""
        return self.engine.runs_outside(tool, args)

    def denies(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a rule denies a call, whoever is asked."""
        return self._ruled and self.decide(tool, args).action == "deny"

    def forbids(self, tool: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a rule itself denies a call: not that nobody is there to be asked about it."""
        if not self._ruled:
            return False
        decision = self.engine.asking().decide(tool, args)
        return decision.action == "deny" and decision.by == "rule"

    def offers(self, tool: ToolSpec) -> bool:
        """Whether the model should be told of the tool."""
        return not self._ruled or self.engine.offers(tool)


class AskingRules:
    """`permissions` where somebody answers: what they leave to a person is asked."""

    def __init__(self, permissions: Permissions) -> None:
        self._permissions = permissions

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        """The verdict on a call; see `Rules`."""
        return self._permissions.engine_for(tool).asking().decide(tool, args)


def build_permissions(
    options: PermissionOptions,
    settings: Settings,
    workspace: Path,
    *,
    trusted: bool,
    vouched: tuple[ToolSpec, ...] = (),
    box: Box = NO_BOX,
) -> Permissions:
    """The rules for a face without a person to ask; only those of a `trusted` project may allow.

    `vouched` are tools of our own beside the built-in ones, `box` is the sandbox of commands. Raises
    `UsageError` and `ConfigError`.
    """
    mode = resolve_mode(options, settings)

    def make(settings: Settings, trusted: bool) -> Engine:
        from caliban_agent_core.toolsearch.spec import search_spec
        from caliban_tools_builtin import builtin_specs

        own = (*builtin_specs(), search_spec(), *vouched)
        return build_engine(options, settings, workspace, own, trusted=trusted, box=box)

    def rebuild(settings: Settings, trusted: bool) -> tuple[Engine, bool]:
        return make(settings, trusted), _is_ruled(options, settings)

    latches = ModeLatches(
        bypass=options.allow_dangerously_skip_permissions and not settings.get("permissions.enforce"),
        auto=mode == "auto" and not options.disable_auto_mode,
    )
    first = partial(make, settings, trusted)
    ruled = _is_ruled(options, settings)
    return Permissions(mode, first, ruled=ruled, latches=latches, rebuild=rebuild)


def _is_ruled(options: PermissionOptions, settings: Settings) -> bool:
    """Whether somebody wrote a rule."""
    return bool(options.allow or options.deny or options.ask or any(_scoped_rules(settings).values()))


def build_engine(
    options: PermissionOptions,
    settings: Settings,
    workspace: Path,
    vouched: Iterable[ToolSpec],
    *,
    trusted: bool,
    box: Box = NO_BOX,
) -> Engine:
    """The engine of a run, or of a question about one: both judge under the same conditions.

    Raises `UsageError` and `ConfigError`.
    """
    from caliban_permissions import Engine, RemedyWords

    return Engine(
        build_rules(options, settings, trusted=trusted),
        mode=resolve_mode(options, settings),
        workspace=workspace,
        interactive=False,
        auto_allow=options.auto_allow,
        roots=roots_of(settings, workspace),
        search_path=tuple(os.get_exec_path()),
        web_hosts=web_hosts_of(settings),
        sandboxed=box.allows,
        unsandboxed=box.unsandboxed,
        vouched=vouched,
        auto_allow_read_only=settings.get("permissions.auto_allow_read_only") is not False,
        words=RemedyWords(
            rule="--allow {}",
            joint=" ",
            anything="--auto-allow (dangerous: every ask becomes an allow)",
            edits="--permission-mode acceptEdits",
            approved="--permission-mode acceptEdits in the same session",
        ),
    )


def build_rules(options: PermissionOptions, settings: Settings, *, trusted: bool) -> RuleSet:
    """The rules of every scope; the command line's stand first, what forbids before what permits."""
    from caliban_permissions import RuleSet, parse_rules

    scopes = _scoped_rules(settings)
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


def _scoped_rules(settings: Settings) -> dict[str, tuple[dict[str, Any], ...]]:
    """The rules of each scope, those of its servers among them."""
    tables = [layer.get("mcp_servers") for layer in settings.layers.values()]
    entries = [entry for table in tables if isinstance(table, Mapping) for entry in table.values()]
    if not any(isinstance(entry, Mapping) and "permissions" in entry for entry in entries):
        return settings.rules_by_scope()
    from caliban.compose.servers.rules import with_server_rules

    return with_server_rules(settings)


def resolve_mode(options: PermissionOptions, settings: Settings) -> PermissionMode:
    """The mode by flag, then settings, then `default`; refuses what is not allowed here."""
    enforced = bool(settings.get("permissions.enforce"))
    if enforced and options.allow_dangerously_skip_permissions:
        raise ConfigError(
            "--allow-dangerously-skip-permissions is forbidden by `permissions.enforce` in the settings"
        )
    if options.no_permissions:
        if enforced:
            raise ConfigError("--no-permissions is forbidden by `permissions.enforce` in the settings")
        return "disabled"
    mode = options.permission_mode or settings.get("permissions.default_mode") or "default"
    modes = tuple(name for name in get_args(PermissionMode) if name != "disabled")
    if mode not in modes:
        raise UsageError(
            f"unknown permission mode {mode!r}",
            hint=" ".join(filter(None, (did_you_mean(mode, modes), f"one of {', '.join(modes)}"))),
        )
    if mode == "bypassPermissions":
        if enforced:
            raise ConfigError("bypassPermissions is forbidden by `permissions.enforce` in the settings")
        if not options.allow_dangerously_skip_permissions:
            raise UsageError(
                "bypassPermissions runs every tool call without asking",
                hint="add --allow-dangerously-skip-permissions if that is what you want",
            )
    return cast(PermissionMode, mode)


def _rules(scopes: dict[str, tuple[dict[str, Any], ...]], scope: str) -> tuple[Any, ...]:
    from caliban_permissions import parse_rules

    return parse_rules(scopes.get(scope, ()), source=scope)
