"""Which of the hooks in settings count, by who wrote them and who has switched which of them off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban.errors import ConfigError
from caliban_hooks import EVENTS, BadHook, HookSpec, read_hooks
from caliban_settings import Settings
from caliban_settings.key import PERSON, SCOPES, Scope
from caliban_settings.source import INLINE

if TYPE_CHECKING:
    from caliban_plugins import Plugin

OFF: Final = "run without hooks: --no-hooks"
ADMINISTRATOR: Final = "ask your administrator, whose hook it is"


class ChosenHooks(Struct, frozen=True, kw_only=True):
    """The hooks that count, lowest scope first; `unfired` are those whose event is never raised.

    `problems` are hooks of plugins that cannot run here.
    """

    specs: tuple[HookSpec, ...] = ()
    unfired: tuple[HookSpec, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many there are for each event that is fired."""
        names = [spec.event for spec in self.specs]
        return {name: names.count(name) for name in dict.fromkeys(names)}


def choose_hooks(settings: Settings, *, no_hooks: bool, plugins: tuple[Plugin, ...] = ()) -> ChosenHooks:
    """The hooks that count, those of plugins last.

    Raises `ConfigError` for one in settings that cannot run as it is written.
    """
    problems: list[str] = []
    specs: list[HookSpec] = []
    for scope in scopes_with_hooks(settings, no_hooks=no_hooks):
        table = settings.layers[scope]["hooks"]
        for event, groups in table.items():
            try:
                specs += read_hooks({event: groups}, source=_source(settings, scope, event))
            except BadHook as error:
                hint = ADMINISTRATOR if scope == "managed" else f"mend it, or {OFF}"
                raise ConfigError(error.message, hint=hint) from error
    if plugins:
        from caliban.compose.plugins.parts import plugin_hooks

        scopes = plugin_scopes(settings, no_hooks=no_hooks)
        counting = tuple(plugin for plugin in plugins if plugin.scope in scopes)
        specs += plugin_hooks(counting, problems)
    return ChosenHooks(
        problems=tuple(problems),
        specs=tuple(spec for spec in specs if EVENTS[spec.event].fired),
        unfired=tuple(spec for spec in specs if not EVENTS[spec.event].fired),
    )


def scopes_with_hooks(settings: Settings, *, no_hooks: bool) -> tuple[Scope, ...]:
    """The scopes whose hooks count, lowest first.

    The administrator's are switched off by themselves only. `allow_managed_hooks_only` of a project is about
    its own hooks: it must not take a person's guards away.
    """

    def says(scope: Scope, key: str) -> bool:
        return settings.layers.get(scope, {}).get(key) is True

    having = tuple(scope for scope in SCOPES if settings.layers.get(scope, {}).get("hooks"))
    if says("managed", "disable_all_hooks"):
        return ()
    off = no_hooks or any(
        says(scope, key) for scope in PERSON for key in ("disable_all_hooks", "allow_managed_hooks_only")
    )
    if off:
        return tuple(scope for scope in having if scope == "managed")
    own = any(says(scope, "allow_managed_hooks_only") for scope in SCOPES if scope not in PERSON)
    return tuple(scope for scope in having if not own or scope in PERSON)


def plugin_scopes(settings: Settings, *, no_hooks: bool) -> tuple[str, ...]:
    """The scopes of plugins whose hooks count: as for those in settings."""

    def says(scope: Scope, key: str) -> bool:
        return settings.layers.get(scope, {}).get(key) is True

    if says("managed", "disable_all_hooks"):
        return ()
    if no_hooks or any(
        says(scope, key) for scope in PERSON for key in ("disable_all_hooks", "allow_managed_hooks_only")
    ):
        return ("managed",)
    return ("managed", "user", "flag", "project")


def _source(settings: Settings, scope: Scope, event: str) -> str:
    """The file of a scope's hooks at an event, for words about them."""
    paths = [origin.path for origin in settings.origins(f"hooks.{event}") if origin.scope == scope]
    path: Path | None = paths[-1] if paths else None
    return str(path) if path is not None else INLINE if scope == "cli" else f"{scope} settings"
