"""settings.json of Claude Code, and the servers of its ~/.claude.json and .mcp.json."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_settings.foreign.servers import read_servers
from caliban_settings.foreign.translated import (
    Carried,
    ForeignPath,
    Found,
    NotCarried,
    Reader,
    Translated,
    collected,
    no_equal,
    one_of,
    read_table,
    taken,
)
from caliban_settings.server_names import server_name

MODES: Final = MappingProxyType(
    {name: name for name in ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")}
)
ALIASES: Final = ("default", "sonnet", "opus", "haiku", "opusplan", "sonnet[1m]", "best")
_MEANINGLESS: Final = "$schema"


def from_claude(data: Mapping[str, Any]) -> Translated:
    """The settings of ours that `data` holds. The rules of `permissions` stay out: they are not looked at."""
    return collected(read_table({name: data[name] for name in data if name != _MEANINGLESS}, _READERS))


def _model(*path: str) -> Reader:
    def read(value: Any, source: ForeignPath) -> Found:
        if not isinstance(value, str) or value in ALIASES:
            yield NotCarried(
                path=source, why=f"{value!r:.60} is a name that only Claude Code knows: say the model's own"
            )
        else:
            yield Carried(path=path, value=value, source=source)

    return read


def _permissions(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    rest = {name: item for name, item in value.items() if name not in ("allow", "ask", "deny")}
    readers: dict[str, Reader] = {
        "defaultMode": one_of(MODES, "permissions", "default_mode"),
        "additionalDirectories": taken("additional_directories"),
        "disableBypassPermissionsMode": _enforce,
    }
    yield from read_table(rest, readers, source)


def _enforce(value: Any, source: ForeignPath) -> Found:
    if value == "disable":
        yield Carried(path=("permissions", "enforce"), value=True, source=source)
    else:
        yield NotCarried(path=source, why=f"{value!r:.60} has no equal here")


def _hooks(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    for event, groups in value.items():
        yield Carried(path=("hooks", str(event)), value=groups, source=(*source, event))


def _plugins(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    for name, is_on in value.items():
        yield Carried(path=("enabled_plugins", str(name)), value=is_on, source=(*source, name))


def _listed(own: str) -> Reader:
    """A reader of a list of servers, each by its name, its address or its command."""

    def read(value: Any, source: ForeignPath) -> Found:
        if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
            yield NotCarried(path=source, why="it is no list of tables")
            return
        entries = [{_NAMED.get(name, name): text for name, text in entry.items()} for entry in value]
        yield Carried(path=(own,), value=entries, source=source)

    return read


def _switched_off(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        yield NotCarried(path=source, why="it is no list of names")
        return
    for name in value:
        yield Carried(path=("mcp_servers", server_name(name) or name, "disabled"), value=True, source=source)


def _environment(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    for name, text in value.items():
        if name.startswith(("CLAUDE_CODE_", "CLAUDE_")):
            yield NotCarried(path=(*source, name), why="it steers Claude Code itself")
        elif isinstance(text, (str, int)) and not isinstance(text, bool):
            yield Carried(path=("env", name), value=str(text), source=(*source, name))
        else:
            yield NotCarried(path=(*source, name), why="it is no text")


def _status_line(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping) or value.get("type", "command") != "command":
        yield NotCarried(path=source, why="only a command can be a status line here")
        return
    known = {name: item for name, item in value.items() if name in ("command", "padding")}
    yield Carried(path=("statusLine",), value=known, source=source)
    for name in value:
        if name not in (*known, "type"):
            yield NotCarried(path=(*source, name), why="it has no equal here")


def _sandbox(value: Any, source: ForeignPath) -> Found:
    if not isinstance(value, Mapping):
        yield NotCarried(path=source, why="it is no table")
        return
    yield from read_table(value, _SANDBOX, source)


def _within(*path: str, **names: str) -> Reader:
    """A reader of a table whose members mean the same as ours, which are called otherwise."""
    readers = {theirs: taken(*path, own) for theirs, own in names.items()}

    def read(value: Any, source: ForeignPath) -> Found:
        if isinstance(value, Mapping):
            yield from read_table(value, readers, source)
        else:
            yield NotCarried(path=source, why="it is no table")

    return read


_SANDBOX: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "enabled": taken("sandbox", "enabled"),
        "autoAllowBashIfSandboxed": taken("sandbox", "auto_allow_bash_if_sandboxed"),
        "allowUnsandboxedCommands": taken("sandbox", "allow_unsandboxed_commands"),
        "enableWeakerNestedSandbox": taken("sandbox", "enable_weaker_nested_sandbox"),
        "failIfUnavailable": taken("sandbox", "fail_if_unavailable"),
        "filesystem": _within(
            "sandbox",
            "filesystem",
            allowRead="allow_read",
            denyRead="deny_read",
            allowWrite="allow_write",
            denyWrite="deny_write",
        ),
        "network": _within(
            "sandbox",
            "network",
            allowedDomains="allowed_domains",
            deniedDomains="denied_domains",
            allowAllUnixSockets="allow_unix_sockets",
            allowLocalBinding="allow_local_binding",
            allowMachLookup="allow_mach_lookup",
        ),
    }
)
_NAMED: Final[Mapping[str, str]] = MappingProxyType(
    {"serverName": "name", "serverUrl": "url", "serverCommand": "command"}
)
_EFFORTS: Final = MappingProxyType({name: name for name in ("low", "medium", "high", "xhigh", "max")})
_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "model": _model("model"),
        "effortLevel": one_of(_EFFORTS, "effort"),
        "env": _environment,
        "permissions": _permissions,
        "hooks": _hooks,
        "disableAllHooks": taken("disable_all_hooks"),
        "allowManagedHooksOnly": taken("allow_managed_hooks_only"),
        "allowedHttpHookUrls": taken("allowed_http_hook_urls"),
        "httpHookAllowedEnvVars": taken("http_hook_allowed_env_vars"),
        "mcpServers": read_servers,
        "statusLine": _status_line,
        "apiKeyHelper": taken("api_key_helper"),
        "outputStyle": taken("output_style"),
        "cleanupPeriodDays": taken("cleanup_period_days"),
        "claudeMdExcludes": taken("claude_md_excludes"),
        "autoMemoryEnabled": taken("memory", "auto_memory_enabled"),
        "autoMemoryDirectory": taken("memory", "auto_memory_directory"),
        "sandbox": _sandbox,
        "enabledPlugins": _plugins,
        "extraKnownMarketplaces": no_equal("a person who has looked at it adds each by a command"),
        "allowedMcpServers": _listed("allowed_mcp_servers"),
        "deniedMcpServers": _listed("denied_mcp_servers"),
        "disabledMcpjsonServers": _switched_off,
        "enableAllProjectMcpServers": no_equal("what a project brings counts once the project is trusted"),
        "enabledMcpjsonServers": no_equal("what a project brings counts once the project is trusted"),
    }
)
