"""What settings say of MCP servers, as values: each entry by itself, so that a wrong one costs no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from caliban.cli.options import Options
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_mcp.config import ServerConfig, ServerKind
from caliban_mcp.names import name_part, name_problem
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_plugins import Plugin, PluginServer

TABLE: Final = "mcp_servers"
PLUGIN: Final = "plugin"
"""The scope of servers that plugins describe: no file of settings has it."""
OF_PLUGINS: Final = (
    *("disabled", "enabled_tools", "disabled_tools", "permissions", "tool_timeout_s", "lazy", "oauth"),
)
"""What settings may say of a plugin's server, under its whole name."""


class WrittenServers(Struct, frozen=True, kw_only=True):
    """The entries that can be used, in the order of their names, and what is wrong with others."""

    configs: tuple[ServerConfig, ...] = ()
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> ServerConfig | None:
        """The entry of this name."""
        return next((config for config in self.configs if config.name == name), None)

    def meant(self, name: str) -> str | None:
        """What was probably meant by a name that no entry has."""
        return did_you_mean(name, [config.name for config in self.configs]) or None


def written_servers(
    settings: Settings, plugins: Iterable[Plugin] = (), *, bare: bool = False
) -> WrittenServers:
    """The servers of all scopes that count, and of `plugins`.

    A `bare` run has those of the command line, and of plugins that it names.
    """
    servers = tuple((plugin, server) for plugin in plugins for server in plugin.servers)
    of_plugins = {server.full_name for _, server in servers}
    tables: Mapping[str, Any] = settings.get(TABLE) or {}
    configs: list[ServerConfig] = []
    problems: list[str] = []
    for name, table in sorted(tables.items()):
        scope, place = _origin(settings, name)
        shown = one_line(name, max_chars=80)
        where = f"{place}: " if place else ""
        if bare and scope != "cli":
            continue
        if name in of_plugins or (":" in name and isinstance(table, Mapping) and _is_leftover(table)):
            continue
        problem = name_problem(name)
        if problem is not None:
            problems.append(f"{where}the server {shown!r} is left out: {problem}")
        elif isinstance(table, Mapping) and table.get("type") == "sdk" and scope != "cli":
            problems.append(
                f"{where}the server {shown!r} is left out: one that lives in a program (type sdk) is named "
                "by that program alone"
            )
        elif not isinstance(table, Mapping) or not table.keys() & ({"command", "url"} | _hosted(table)):
            if isinstance(table, Mapping) and not _is_leftover(table):
                problems.append(
                    f"{where}the server {shown!r} is left out: it has neither a command nor a url"
                )
        else:
            configs.append(_config(name, table, scope, place))
    taken = {config.name: config.name for config in configs}
    for plugin, server in servers:
        part = name_part(server.full_name)
        if part in taken:
            problems.append(
                f"{server.place}: the server {server.full_name} is left out: its tools would be called like "
                f"those of {taken[part]}"
            )
            continue
        taken[part] = server.full_name
        table = tables.get(server.full_name)
        problems += _said_in_vain(settings, server.full_name, table)
        configs.append(_of_plugin(plugin, server, table if isinstance(table, Mapping) else {}))
    return WrittenServers(
        configs=tuple(sorted(configs, key=lambda config: config.name)), problems=tuple(problems)
    )


def servers_for(options: Options, settings: Settings, plugins: Iterable[Plugin] = ()) -> WrittenServers:
    """The servers of a run: none where a flag, or the absence of tools, says so.

    Where the command line gives all servers, those of `plugins` are none of the run.
    """
    if options.extensions.no_mcp or options.workspace.no_tools:
        return WrittenServers()
    counting = () if options.settings.strict_mcp_config else tuple(plugins)
    return written_servers(settings, counting, bare=options.settings.bare)


def _hosted(table: Mapping[str, Any]) -> set[str]:
    """The member that says all of a server which lives in a program, where it is one."""
    return {"type"} if table.get("type") == "sdk" else set()


def _said_in_vain(settings: Settings, name: str, table: object) -> Iterator[str]:
    """What settings say of a plugin's server that is not theirs to say."""
    if isinstance(table, Mapping) and (others := sorted(table.keys() - set(OF_PLUGINS))):
        _, place = _origin(settings, name)
        where = f"{place}: " if place else ""
        yield (
            f"{where}`{', '.join(others)}` of the server {name} has no effect, for its plugin says that: "
            f"settings may say {', '.join(OF_PLUGINS)}"
        )


def _of_plugin(plugin: Plugin, server: PluginServer, table: Mapping[str, Any]) -> ServerConfig:
    """A plugin's server, as settings that name it let it be used; its program is told of its places."""
    enabled = table.get("enabled_tools")
    return ServerConfig(
        name=server.full_name,
        scope=PLUGIN,
        place=server.place,
        kind=cast(ServerKind, server.kind),
        command=server.command,
        args=server.args,
        env={**plugin.variables, **server.env} if server.command else {},
        cwd=server.cwd or None,
        url=server.url,
        headers=server.headers,
        headers_helper=server.headers_helper or None,
        oauth_config=dict(server.login),
        enabled_tools=None if enabled is None else tuple(enabled),
        disabled_tools=tuple(table.get("disabled_tools") or ()),
        tool_timeout_s=table.get("tool_timeout_s") or server.timeout_s,
        lazy=table.get("lazy", server.lazy) is not False,
        oauth=table.get("oauth") or "auto",
        disabled=bool(table.get("disabled", server.disabled)),
    )


def _config(name: str, table: Mapping[str, Any], scope: str, place: str) -> ServerConfig:
    enabled = table.get("enabled_tools")
    kind: ServerKind = table.get("type") or ("http" if "url" in table and "command" not in table else "stdio")
    return ServerConfig(
        name=name,
        scope=scope,
        place=place,
        kind=kind,
        command=table.get("command", ""),
        args=tuple(table.get("args") or ()),
        env=dict(table.get("env") or {}),
        cwd=table.get("cwd") or None,
        url=table.get("url", ""),
        headers=dict(table.get("headers") or {}),
        headers_helper=table.get("headers_helper") or None,
        bearer_env=table.get("bearer_token_env") or None,
        oauth=table.get("oauth") or "auto",
        oauth_config=dict(table.get("oauth_config") or {}),
        enabled_tools=None if enabled is None else tuple(enabled),
        disabled_tools=tuple(table.get("disabled_tools") or ()),
        protocol=table.get("protocol", "auto"),
        start_timeout_s=table.get("start_timeout_s") or None,
        tool_timeout_s=table.get("tool_timeout_s") or None,
        required=bool(table.get("required")),
        lazy=table.get("lazy") is not False,
        roots=bool(table.get("roots")),
        disabled=bool(table.get("disabled")),
    )


def _origin(settings: Settings, name: str) -> tuple[str, str]:
    """Whose entry it is: of the highest scope that says what is started or asked."""
    leaves = [
        (path, leaf) for path, leaf in settings.leaves.items() if path[:2] == (TABLE, name) and leaf.origins
    ]
    defining = [leaf for path, leaf in leaves if path[2:] in (("command",), ("url",))]
    chosen = defining or [leaf for _, leaf in leaves]
    if not chosen:
        return "", ""
    origin = chosen[-1].origins[-1]
    return origin.scope, "" if origin.path is None else str(origin.path)


def _is_leftover(table: Mapping[str, Any]) -> bool:
    """Whether it is what remains of an entry that waits for trust, or that only takes something away."""
    return not table.keys() - set(OF_PLUGINS)
