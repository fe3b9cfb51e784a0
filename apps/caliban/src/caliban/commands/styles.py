"""`caliban styles`: the output styles of a run here."""

from __future__ import annotations

from caliban.cli.invocation import Invocation
from caliban.commands.inputs import project_with_plugins
from caliban.compose.host import this_host
from caliban.compose.styles import find_styles, style_name
from caliban.errors import MissingError
from caliban.stdio import complain, print_lines, print_text
from caliban_common.codec import dumps
from caliban_common.terminal import visible
from caliban_common.text import one_line
from caliban_output_styles import NoSuchStyle

MAX_WORDS = 100


def list_styles(invocation: Invocation) -> int:
    """Print every style; what is wrong with files is told on standard error."""
    project = project_with_plugins(invocation.options)
    styles = find_styles(invocation.options.settings, project)
    name = style_name(project, this_host().environ)
    try:
        forced = next((style.name for style in styles.styles if style.is_forced), None)
        taken = forced or styles.find(name).name
    except NoSuchStyle as error:
        taken = ""
        complain(f"caliban: output_style: {error.message}\n")
    rows = [
        {
            "name": style.name,
            "scope": style.scope,
            "taken": style.name == taken,
            "description": style.description,
            "path": None if style.path is None else str(style.path),
            "notes": list(style.notes),
        }
        for style in styles.styles
    ]
    if invocation.values["json"]:
        lines = [dumps(row).decode() for row in rows]
    else:
        lines = [
            visible(
                f"{'*' if row['taken'] else ' '} {row['scope']!s:8} {row['name']!s:16} "
                f"{one_line(str(row['description']), max_chars=MAX_WORDS)}"
            )
            for row in rows
        ]
    for problem in (*project.settings.warnings, *styles.problems):
        complain(f"caliban: {problem}\n")
    return print_lines(lines)


def show_style(invocation: Invocation) -> int:
    """Print one style."""
    project = project_with_plugins(invocation.options)
    styles = find_styles(invocation.options.settings, project)
    try:
        style = styles.find(invocation.values["name"])
    except NoSuchStyle as error:
        for problem in styles.problems:
            complain(f"caliban: {problem}\n")
        raise MissingError(error.message, hint=error.hint) from error
    kept = "" if style.keeps_coding else "(without the usual words on how to work)\n"
    body = style.block().strip() or "(adds nothing)"
    notes = "".join(f"note: {note}\n" for note in style.notes)
    return print_text(visible(f"{notes}{kept}{body}\n"))
