"""What `caliban doctor` says of plugins, hooks, servers, skills and the output style."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caliban.cli.options import Options
from caliban.commands.doctor.check import Check, check_row
from caliban.compose.extensions import DEFAULT_STYLE
from caliban.compose.hooks import find_hooks
from caliban.compose.host import Host
from caliban.compose.plugins.run import with_plugins
from caliban.compose.project import Project, may_have_servers
from caliban.errors import AppError, ConfigError
from caliban_common.text import plural


def plugin_rows(
    options: Options, project: Project, workspace: Path, host: Host
) -> tuple[Project, tuple[Check, ...]]:
    """The project with its plugins, and a row where there are any, or some were left out."""
    warnings: list[str] = []
    try:
        extended = with_plugins(
            project, options, workspace, host.environ, lambda notice: warnings.append(notice.message)
        )
    except AppError as error:
        return project, (check_row("plugins", "fail", error.message),)
    names = ", ".join(plugin.name for plugin in extended.plugins) or "none counts"
    if warnings:
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        return extended, (check_row("plugins", "warn", f"{names}; {warnings[0]}{more}"),)
    return extended, (check_row("plugins", "pass", names),) if extended.plugins else ()


def hook_rows(options: Options, project: Project) -> Iterator[Check]:
    """The hooks that count, where there are some."""
    try:
        chosen = find_hooks(options, project.settings, project.plugins)
    except ConfigError as error:
        yield check_row("hooks", "fail", error.message)
        return
    if chosen is None:
        return
    counts = ", ".join(f"{name} {count}" for name, count in chosen.counts.items()) or "none counts"
    if chosen.problems:
        yield check_row("hooks", "warn", f"{counts}; {chosen.problems[0]}")
    elif chosen.unfired:
        names = ", ".join(dict.fromkeys(spec.event for spec in chosen.unfired))
        yield check_row("hooks", "warn", f"{counts}; not fired by this version: {names}")
    else:
        yield check_row("hooks", "pass", counts)


def server_rows(options: Options, project: Project) -> Iterator[Check]:
    """The MCP servers that settings and plugins name, where they name some."""
    named = may_have_servers(project) or any(
        item.key.startswith("mcp_servers.") for item in project.settings.withheld
    )
    if named:
        from caliban.commands.mcp.row import server_row

        row = server_row(options)
        if row is not None:
            yield check_row("mcp_servers", *row)


def skill_row(options: Options, project: Project) -> Check:
    """Whether the files of skills and commands can be read."""
    from caliban.compose.skills import find_skills
    from caliban.compose.slash import command_list

    problems: list[str] = []
    catalog = find_skills(options.settings, project)
    commands = () if options.settings.bare else tuple(command_list(options, project, problems))
    counts = f"{plural(len(catalog.skills), 'skill')}, {plural(len(commands), 'command file')}"
    problems = [*catalog.problems, *problems]
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return check_row("skills", "warn", f"{counts}; {problems[0]}{more}")
    return check_row("skills", "pass", counts)


def style_rows(options: Options, project: Project, host: Host) -> Iterator[Check]:
    """Whether there is the output style that was chosen; nothing where none was."""
    from caliban.compose.styles import build_style, style_name

    name = style_name(project, host.environ)
    if name == DEFAULT_STYLE:
        return
    warnings: list[str] = []
    try:
        style = build_style(options, project, host.environ, lambda notice: warnings.append(notice.message))
    except ConfigError as error:
        yield check_row("output_style", "fail", error.message)
        return
    if warnings:
        yield check_row("output_style", "warn", warnings[0])
    elif style is not None:
        yield check_row("output_style", "pass", f"{style.name} ({style.scope})")
