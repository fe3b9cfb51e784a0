"""What the workspace itself supplies, read once; it counts where a person trusts it, or does nothing.

What is used of a project is what was read here and what the digest was taken of: no file is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import SettingsOptions
from caliban.compose.settings import layers_of, with_flags
from caliban.compose.supplied import ProjectFiles, read_files
from caliban_common.errors import CalibanError
from caliban_settings import Settings, SettingsError, SettingsLayers

if TYPE_CHECKING:
    from caliban_plugins import Plugin
    from caliban_trust import Consent, TrustSurface

ALLOWED: Final = "until this project is trusted: caliban trust add, or --trust-project for one run"
"""What stands behind whatever a project says in vain."""

TrustState: TypeAlias = Literal["nothing", "untrusted", "changed", "unknown", "once", "trusted"]
"""`nothing`: it asks for nothing. `unknown`: the consents, or the project, cannot be read. `once`: a flag."""


class ProjectTrust(Struct, frozen=True, kw_only=True):
    """Whether what a project supplies counts, why not, and since when it is trusted."""

    state: TrustState = "nothing"
    words: str | None = None
    since: str | None = None

    @property
    def counts(self) -> bool:
        """Whether grants of the project take effect."""
        return self.state in ("once", "trusted")

    @property
    def is_confirmed(self) -> bool:
        """Whether a person has seen exactly what is there now."""
        return self.state == "trusted"


class Project(Struct, frozen=True, kw_only=True):
    """The settings of a run, the scopes they are made of, what the workspace supplies, and the plugins."""

    settings: Settings
    layers: SettingsLayers
    files: ProjectFiles = ProjectFiles()
    trust: ProjectTrust = ProjectTrust()
    plugins: tuple[Plugin, ...] = ()


def may_have_servers(project: Project) -> bool:
    """Whether settings or plugins describe MCP servers."""
    return bool(project.settings.get("mcp_servers")) or any(plugin.servers for plugin in project.plugins)


def open_project(options: SettingsOptions, workspace: Path) -> Project:
    """What a run in `workspace` goes by. Raises `SettingsError`.

    Of a workspace that asks for nothing, the consents are not even looked at.
    """
    layers = layers_of(options, workspace)
    files = ProjectFiles() if options.bare else read_files(workspace)
    settings = layers.merged(trusted=False)
    waits = any(item.waits for item in settings.withheld)
    if not waits and not files.wait:
        state: TrustState = "once" if options.trust_project else "nothing"
        trust = ProjectTrust(state=state)
        return Project(settings=_told(settings, files), layers=layers, files=files, trust=trust)
    trust = _trust(layers, files, workspace)
    if options.trust_project and not trust.counts:
        trust = ProjectTrust(state="once", words=trust.words if trust.state == "unknown" else None)
    if trust.counts:
        settings = layers.merged(trusted=True)
    return Project(settings=_told(settings, files, trust.words), layers=layers, files=files, trust=trust)


def build_settings(options: SettingsOptions, workspace: Path) -> Settings:
    """The merged settings. `--bare` reads the administrator's only. Raises as `open_project` does."""
    return open_project(options, workspace).settings


def _told(settings: Settings, files: ProjectFiles, words: str | None = None) -> Settings:
    """`settings` with warnings that name flags, after what there is to say of the trust in the project."""
    first = () if words is None else (words,)
    warnings = (with_flags(text, ALLOWED) for text in settings.warnings)
    return replace(settings, warnings=(*first, *warnings, *files.problems))


def _trust(layers: SettingsLayers, files: ProjectFiles, workspace: Path) -> ProjectTrust:
    def surface() -> TrustSurface:
        from caliban.compose.surface import surface_of

        return surface_of(workspace, layers.of_project(), files)

    try:
        return judge_trust(workspace, surface)
    except SettingsError as error:
        return ProjectTrust(state="unknown", words=f"nothing of this project counts: {error.message}")


def judge_trust(workspace: Path, surface: Callable[[], TrustSurface]) -> ProjectTrust:
    """Whether a person has trusted the project as it is now, by what is written down.

    What it supplies is looked at only where there is a consent to compare it with. Raises as `surface` does.
    """
    from caliban.compose.consents import refused_root, trust_store
    from caliban_trust import TrustFailed, project_root

    if refused_root(workspace) is not None:
        return ProjectTrust(state="untrusted")
    try:
        root = project_root(workspace)
        consent = trust_store(workspace).find(root)
    except (TrustFailed, OSError) as error:
        text = error.message if isinstance(error, CalibanError) else str(error)
        return ProjectTrust(state="unknown", words=text)
    if consent is None:
        return ProjectTrust(state="untrusted")
    if consent.root != root:
        text = f"{root.path} is another folder than the one that was trusted; nothing of it counts {ALLOWED}"
        return ProjectTrust(state="changed", words=text, since=consent.trusted_at)
    return _compared(consent, surface())


def _compared(consent: Consent, surface: TrustSurface) -> ProjectTrust:
    """What a consent is worth now."""
    if consent.digest == surface.digest:
        return ProjectTrust(state="trusted", since=consent.trusted_at)
    from caliban.compose.surface import change_words
    from caliban_trust import changes

    text = change_words(changes(consent.items, surface.items))
    return ProjectTrust(
        state="changed",
        words=f"{consent.root.path} has changed since it was trusted ({consent.trusted_at}): {text}; nothing "
        "of it counts: caliban trust add shows what is different",
        since=consent.trusted_at,
    )


STATE_WORDS: Final[Mapping[TrustState, str]] = MappingProxyType(
    {
        "nothing": "nothing in it needs trust",
        "untrusted": "not trusted",
        "changed": "changed since it was trusted",
        "unknown": "not trusted: what was trusted cannot be read",
        "once": "trusted for this run",
        "trusted": "trusted",
    }
)
"""What a person is told of each state."""
