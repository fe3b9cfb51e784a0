"""Whether a run has a sandbox; what builds one is loaded where somebody wants one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caliban.cli.options import WorkspaceOptions
from caliban.compose.box import NO_BOX, Box
from caliban.compose.host import Host
from caliban.errors import ConfigError
from caliban_drive.notice import Report
from caliban_settings import Settings


def wants_sandbox(options: WorkspaceOptions, settings: Settings) -> bool:
    """Whether there is to be one, by flag, then by settings.

    Raises `ConfigError` where a flag is against what the administrator has decided.
    """
    if options.sandbox is None:
        return bool(settings.get("sandbox.enabled"))
    managed: Mapping[str, Any] = settings.layers.get("managed", {}).get("sandbox", {})
    if not options.sandbox and managed.get("enabled"):
        raise ConfigError("--no-sandbox is forbidden: the managed settings say `sandbox.enabled`")
    return options.sandbox


def boxed(
    options: WorkspaceOptions, settings: Settings, workspace: Path, host: Host, report: Report
) -> tuple[Box, Host]:
    """The sandbox of a run, and the host whose programs run in it. Raises `ConfigError`."""
    box = build_box(options, settings, workspace, host, report)
    return box, box.within(host)


def build_box(
    options: WorkspaceOptions, settings: Settings, workspace: Path, host: Host, report: Report
) -> Box:
    """The sandbox that flags and settings ask for. Raises `ConfigError` for settings that it cannot hold."""
    if not wants_sandbox(options, settings):
        return NO_BOX
    from caliban.compose.sandbox import build_sandbox

    return build_sandbox(options, settings, workspace, host, report)
