"""From settings to the policy of a sandbox; loaded where somebody wants one."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from caliban.cli.options import WorkspaceOptions
from caliban.compose.access import roots_of
from caliban.compose.box import Box, state_notice
from caliban.compose.host import Host
from caliban.errors import ConfigError
from caliban_common.paths import cache_dir, config_dir, data_dir, home, state_dir
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_permissions.nested import NestedEntries, nested_entries
from caliban_permissions.paths import PathContext
from caliban_permissions.protected import protected_entries
from caliban_permissions.rules.glob import GlobSyntaxError, compile_text
from caliban_sandbox import (
    FilePolicy,
    LimitPolicy,
    NetworkPolicy,
    Sandbox,
    SandboxError,
    SandboxHost,
    SandboxPolicy,
)
from caliban_sandbox.egress.hosts import host_list
from caliban_sandbox.stores import credential_stores
from caliban_settings import Settings

_VARIABLE = re.compile(r"\$\{([^}]*)\}|\$")
_GLOB = re.compile(r"[*?\[\]{}]")
_XDG: Final[Mapping[str, str]] = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}
_FILES: Final = "sandbox.filesystem"
_MIB: Final = 1 << 20
DEFAULT_PROCESSES: Final = 8192
DEFAULT_FILE_MB: Final = 32 * 1024
"""More than a build has ever needed: what runs away meets them before the machine is unusable."""


def build_sandbox(
    options: WorkspaceOptions, settings: Settings, workspace: Path, host: Host, report: Report
) -> Box:
    """The sandbox of a run. Raises `ConfigError` for what it cannot hold."""
    policy = sandbox_policy(settings, workspace, host.environ, report)
    required = bool(options.sandbox) or bool(settings.get("sandbox.fail_if_unavailable"))
    sandbox = Sandbox(
        policy,
        host.runner,
        host=SandboxHost(
            environ=host.environ, pool=f"{os.path.realpath(state_dir())}/ghosts", platform=sys.platform
        ),
        is_required=required,
        warn=lambda state: report(state_notice(state)),
    )
    return Box(
        sandbox=sandbox,
        required=required,
        auto_allow=settings.get("sandbox.auto_allow_bash_if_sandboxed") is True,
        unsandboxed=_unsandboxed(settings),
    )


def sandbox_policy(
    settings: Settings, workspace: Path, environ: Mapping[str, str], report: Report
) -> SandboxPolicy:
    """The policy that the settings describe. Raises `ConfigError` for a value that means nothing.

    `report` hears of what of the workspace was not looked through.
    """
    paths = _Paths(str(workspace), environ)
    key = "sandbox.sandbox_exec_path" if sys.platform == "darwin" else "sandbox.bwrap_path"
    program = settings.get(key)
    return SandboxPolicy(
        files=_files(settings, workspace, paths, report),
        network=_network(settings),
        limits=_limits(settings),
        nested=settings.get("sandbox.enable_weaker_nested_sandbox") is True,
        backend=None if program is None else paths.one(key, program),
    )


def _files(settings: Settings, workspace: Path, paths: _Paths, report: Report) -> FilePolicy:
    top = os.path.realpath(workspace)
    roots = (top, *(os.path.realpath(root) for root in roots_of(settings, workspace)))
    listed = {name: paths.all(f"{_FILES}.{name}", settings) for name in ("allow_read", "deny_read")}
    listed |= {name: paths.all(f"{_FILES}.{name}", settings) for name in ("allow_write", "deny_write")}
    hidden = (*_hidden(paths), *listed["deny_read"])
    if top in hidden:
        raise ConfigError(
            f"the workspace {top} is a place that the sandbox hides from commands",
            hint="work in another directory, or without the sandbox",
        )
    context = PathContext.of(workspace, None, home(), tuple(map(Path, roots[1:])))
    # A person who names a protected path may write it; our own files are not for that.
    own = tuple(f"{root}/.caliban" for root in roots)
    nested = [nested_entries(root) for root in dict.fromkeys(roots)]
    _report_cut(nested, report)
    candidates = [path for root in roots for path in protected_entries(root, context)]
    candidates += [path for entries in nested for path in entries.paths]
    protected = [path for path in candidates if path in own or path not in listed["allow_write"]]
    return FilePolicy(
        readable=listed["allow_read"] if settings.get(f"{_FILES}.allow_read") is not None else None,
        hidden=hidden,
        writable=tuple(path for path in (*roots, *listed["allow_write"]) if path not in own),
        protected=(*protected, *listed["deny_write"]),
    )


def _report_cut(nested: Iterable[NestedEntries], report: Report) -> None:
    for entries in nested:
        if entries.cut:
            message = (
                f"the sandbox does not protect each .git and the like below {entries.root}: {entries.cut}"
            )
            report(Notice(subtype="sandbox_cut", message=message))


def _hidden(paths: _Paths) -> Iterable[str]:
    """Credential stores, and our own files: settings, tokens, sessions, logs."""
    stores = credential_stores(paths.home, paths.xdg("XDG_CONFIG_HOME"), paths.xdg("XDG_DATA_HOME"))
    ours = (os.path.realpath(folder()) for folder in (config_dir, data_dir, state_dir, cache_dir))
    return (*stores, *ours, os.path.realpath(f"{paths.home}/.caliban"))


def _network(settings: Settings) -> NetworkPolicy:
    network = settings.get("sandbox.network") or {}
    names = ("allowed_domains", "denied_domains", "private_domains")
    hosts = {name: _hosts(f"sandbox.network.{name}", network.get(name) or ()) for name in names}
    return NetworkPolicy(
        allowed_hosts=hosts["allowed_domains"],
        denied_hosts=hosts["denied_domains"],
        private_hosts=hosts["private_domains"],
        proxy_port=network.get("http_proxy_port"),
        unix_sockets=network.get("allow_unix_sockets") is True,
        local_binding=network.get("allow_local_binding") is True,
        mach_services=tuple(network.get("allow_mach_lookup") or ()),
    )


def _limits(settings: Settings) -> LimitPolicy:
    """The limits of a call. A process may hold what the machine has, unless somebody says."""

    def count(key: str, default: int = 0) -> int | None:
        return settings.get(f"sandbox.limits.{key}", default) or None

    memory = settings.get("sandbox.limits.memory_mb")
    if memory is None and sys.platform == "linux":
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MIB
    file_mb = count("file_size_mb", DEFAULT_FILE_MB)
    return LimitPolicy(
        memory_bytes=memory * _MIB if memory else None,
        cpu_s=count("cpu_seconds"),
        processes=count("processes", DEFAULT_PROCESSES),
        file_bytes=None if file_mb is None else file_mb * _MIB,
    )


def _hosts(key: str, entries: Iterable[str]) -> tuple[str, ...]:
    """Hosts of a list, each of them one that can be compared. Raises `ConfigError`."""
    hosts = tuple(entries)
    try:
        host_list(hosts)
    except SandboxError as error:
        raise ConfigError(f"{key}: {error.message}", hint=error.hint) from error
    return hosts


def _unsandboxed(settings: Settings) -> tuple[str, ...]:
    key = "sandbox.allow_unsandboxed_commands"
    patterns = tuple(settings.get(key) or ())
    for pattern in patterns:
        try:
            compile_text(pattern)
        except GlobSyntaxError as error:
            raise ConfigError(f"{key}: {one_line(pattern, max_chars=80)!r}: {error}") from error
        if not pattern.strip("*? "):
            raise ConfigError(f"{key}: {pattern!r} would let every command out", hint="name the programs")
    return patterns


class _Paths:
    """Reads paths of settings: variables expanded, absolute, links resolved."""

    def __init__(self, workspace: str, environ: Mapping[str, str]) -> None:
        self.home = os.path.realpath(home())
        self._workspace = workspace
        self._environ = environ

    def xdg(self, name: str) -> str:
        """A directory of XDG, as the environment says or as it is by default."""
        given = self._environ.get(name, "")
        return given if given.startswith("/") else f"{self.home}/{_XDG[name]}"

    def all(self, key: str, settings: Settings) -> tuple[str, ...]:
        """The paths of a list. Raises `ConfigError`."""
        return tuple(dict.fromkeys(self.one(key, text) for text in settings.get(key) or ()))

    def one(self, key: str, text: str) -> str:
        """One path. Raises `ConfigError` for what is none."""
        shown = f"{key}: {one_line(text, max_chars=200)!r}"
        if not text.strip() or "\0" in text:
            raise ConfigError(f"{shown} is no path", hint="name a directory or a file")
        if _GLOB.search(_VARIABLE.sub("", text)):
            raise ConfigError(
                f"{shown}: wildcards are not possible here", hint="name a directory: all below it is meant"
            )
        if text == "~" or text.startswith("~/"):
            text = self.home + text[1:]
        path = os.path.realpath(os.path.join(self._workspace, _VARIABLE.sub(self._value(shown), text)))  # noqa: PTH118
        if path == "/":
            raise ConfigError(f"{shown} is the whole disk", hint="name what is meant of it")
        return path

    def _value(self, shown: str) -> Callable[[re.Match[str]], str]:
        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name == "WORKSPACE":
                return self._workspace
            if name == "HOME":
                return self.home
            if name in _XDG:
                return self.xdg(name)
            if name == "XDG_RUNTIME_DIR" and self._environ.get(name, "").startswith("/"):
                return self._environ[name]
            raise ConfigError(
                f"{shown}: {match[0]} is not known here",
                hint=f"known: {', '.join(f'${{{one}}}' for one in ('WORKSPACE', 'HOME', *_XDG))}",
            )

        return value
