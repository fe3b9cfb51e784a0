"""The output style of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from caliban.cli.options import Options, SettingsOptions
from caliban.compose.project import ALLOWED, Project
from caliban.compose.skills import own_files, takes
from caliban.errors import ConfigError
from caliban_common.errors import CalibanError
from caliban_drive.notice import Notice, Report
from caliban_output_styles import (
    DEFAULT,
    NoSuchStyle,
    OutputStyle,
    StyleCatalog,
    StyleScope,
    builtin_styles,
    make_styles,
    read_style,
)
from caliban_output_styles.read import MAX_FILE_BYTES
from caliban_settings.grants import OF_PROJECT

VARIABLE: Final = "CALIBAN_OUTPUT_STYLE"


def style_name(project: Project, environ: Mapping[str, str]) -> str:
    """The name of the style that was chosen."""
    return environ.get(VARIABLE) or project.settings.get("output_style") or DEFAULT


def build_style(
    options: Options, project: Project, environ: Mapping[str, str], report: Report
) -> OutputStyle | None:
    """The chosen style; `None` for the default one, and where a flag gives the system prompt.

    Raises `ConfigError` for a person's choice that is not there; that of a project is told, and left.
    """
    name = style_name(project, environ)
    if options.system.is_given or (name == DEFAULT and not project.plugins):
        return None
    styles = find_styles(options.settings, project)
    forced = [style for style in styles.styles if style.is_forced]
    if forced:
        return _forced(forced, name, report)
    if name == DEFAULT:
        return None
    try:
        style = styles.find(name)
    except NoSuchStyle as error:
        problem = _problem(name, error, styles)
        if not is_of_project(project, environ):
            raise ConfigError(f"output_style: {problem}", hint=error.hint) from error
        message = f"output_style of this project: {problem}; the default one is taken"
        report(Notice(subtype="output_style", message=message))
        return None
    for note in style.notes:
        report(
            Notice(subtype="output_style", message=f"the output style {style.name} ({style.path}): {note}")
        )
    return style


def find_styles(options: SettingsOptions, project: Project) -> StyleCatalog:
    """All styles: those of the project, where it is trusted, a person's, and those that come along."""
    styles: list[OutputStyle] = []
    problems: list[str] = []
    if takes(options, "project"):
        if project.trust.counts:
            for file in project.files.styles:
                styles += _read(file.path, file.data, "project", problems)
        else:
            problems += (
                f"the output style in {file.path} is not used {ALLOWED}" for file in project.files.styles
            )
    if takes(options, "user"):
        for file in own_files("style", "output-styles", problems):
            styles += _read(file.path, file.data, "user", problems)
    if project.plugins:
        from caliban.compose.plugins.parts import plugin_styles

        styles += plugin_styles(project.plugins, problems)
    return make_styles((*styles, *builtin_styles()), problems)


def _forced(forced: list[OutputStyle], name: str, report: Report) -> OutputStyle:
    """The first of the styles that plugins lock, told with whose it is and what it takes the place of."""
    style = forced[0]
    others = "".join(f"; {other.name} wants the same, and is left" for other in forced[1:])
    words = f"the output style is {style.name}, locked by its plugin in the place of {name}{others}"
    report(Notice(subtype="output_style", message=words))
    return style


def is_of_project(project: Project, environ: Mapping[str, str]) -> bool:
    """Whether it is the project that chose the style."""
    origin = project.settings.origin("output_style")
    return not environ.get(VARIABLE) and origin is not None and origin.scope in OF_PROJECT


def _problem(name: str, error: NoSuchStyle, styles: StyleCatalog) -> str:
    """Why there is no style `name`: a file of this name that does not count says more."""
    of_file = next((words for words in styles.problems if f"/{name}.md" in words.replace("\\", "/")), None)
    return of_file or error.message


def _read(path: Path, data: bytes, scope: StyleScope, problems: list[str]) -> list[OutputStyle]:
    if len(data) > MAX_FILE_BYTES:
        problems.append(f"an output style is left out: {path}: it has more than {MAX_FILE_BYTES:,} bytes")
        return []
    if path.stem == DEFAULT:
        problems.append(f"an output style is left out: {path}: {DEFAULT} is what is there without one")
        return []
    try:
        return [read_style(path, data, scope)]
    except CalibanError as error:
        problems.append(f"an output style is left out: {error.message}")
        return []
