"""The settings of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caliban.cli.options import ExtensionOptions, SettingsOptions
from caliban.errors import ConfigError
from caliban_common.paths import config_dir, managed_settings_dir
from caliban_settings import ServerSources, Settings, SettingsError, SettingsLayers, Unbuilt, read_layers
from caliban_settings.guard import WAITS
from caliban_settings.source import INLINE, INLINE_SERVERS

BARE_SOURCES = ("managed",)


def layers_of(options: SettingsOptions, workspace: Path) -> SettingsLayers:
    """What every scope says. `--bare` reads the administrator's only. Raises `SettingsError`."""
    sources: tuple[str, ...] | None = None
    if options.setting_sources is not None:
        sources = tuple(name.strip() for name in options.setting_sources.split(",") if name.strip())
    elif options.bare:
        sources = BARE_SOURCES
    try:
        return read_layers(
            workspace=workspace,
            config_dir=config_dir(),
            managed_dir=managed_settings_dir(),
            sources=sources,
            overlay=options.settings,
            servers=_servers(options),
        )
    except SettingsError as error:
        error.message = with_flags(error.message)
        raise


def _servers(options: SettingsOptions) -> ServerSources | None:
    if not options.mcp_config and not options.strict_mcp_config:
        return None
    return ServerSources(given=options.mcp_config, only_these=options.strict_mcp_config)


def unbuilt_words(item: Unbuilt) -> str:
    """What to tell the person who wrote a setting that has no effect."""
    return with_flags(item.words)


def with_flags(words: str, allowed: str = "") -> str:
    """`words` about settings, with the flag that they speak of, and how what waits for trust is `allowed`."""
    if words.startswith(f"{INLINE}:"):
        words = f"--settings{words.removeprefix(INLINE)}"
    if words.startswith(f"{INLINE_SERVERS}:"):
        words = f"--mcp-config{words.removeprefix(INLINE_SERVERS)}"
    return words.replace(WAITS, f"no effect {allowed}") if allowed and words.endswith(WAITS) else words


def check_unbuilt(settings: Settings, options: ExtensionOptions) -> tuple[str, ...]:
    """What to say of settings that ask for more than this version has, but for what flags leave out.

    Raises `ConfigError` for those that somebody relies on for safety: to go on would fail open.
    """
    left_out = set(_left_out(options))
    asked = [item for item in settings.unbuilt if item.key.split(".")[0] not in left_out]
    safeguards = [item for item in asked if item.is_safeguard]
    if not safeguards:
        return tuple(unbuilt_words(item) for item in asked)
    item = safeguards[0]
    more = f" (and {len(safeguards) - 1} more of this kind)" if len(safeguards) > 1 else ""
    words = f"{unbuilt_words(item)}, and nothing runs without what guards it{more}"
    raise ConfigError(words, hint="take it out")


def _left_out(options: ExtensionOptions) -> Iterator[str]:
    """The first names of the settings that flags say to do without."""
    if options.no_mcp:
        yield "mcp_servers"
    if options.no_plugins:
        yield "plugins"
