"""Commands about extensions: servers, hooks, plugins, agents, skills, styles."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from caliban.compose.app import App
from caliban.compose.slash import command_list
from caliban.compose.styles import find_styles
from caliban.compose.system import build_system
from caliban_commands.answer import ChoiceRow, CommandAnswer, OpenView, ShownChoice, ShownTable, ShownText
from caliban_commands.builtin.session import has_said, no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.errors import CommandError, CommandNotHere
from caliban_common.text import one_line, plural
from caliban_output_styles import DEFAULT, StyleCatalog

WORDS: Final = 100
GLYPHS: Final[Mapping[str, str]] = MappingProxyType({"connected": "●", "disabled": "○", "failed": "○"})


async def mcp(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the servers and their state, or everything known about one; or log in to one."""
    word, _, name = arguments.partition(" ")
    if word == "login" and name.strip():
        return await _log_in(app, name.strip())
    from caliban.commands.mcp.list import ListedServers, described, whole_row

    listed = ListedServers(app.options)
    if arguments:
        config = listed.find(arguments)
        return CommandAnswer.of("\n".join(described(config, whole_row(listed, config))))
    statuses = () if app.servers is None else app.servers.fleet.statuses
    rows: list[tuple[str, str, str, str, str]] = [
        (
            GLYPHS.get(status.state, "◐"),
            status.name,
            status.state,
            plural(status.tools, "tool") if status.tools else "",
            one_line(" ".join(filter(None, (status.words, status.hint))), max_chars=200),
        )
        for status in statuses
    ]
    known = {status.name for status in statuses}
    for config in listed.written.configs:
        if config.name not in known:
            rows.append(("○", config.name, listed.state(config) or "not in this run", "", ""))
    for name, (place, why) in sorted(listed.waiting().items()):
        rows.append(("○", one_line(name, max_chars=64), why, "", place))
    problems = tuple(one_line(problem, max_chars=300) for problem in (*listed.told, *listed.written.problems))
    if not rows:
        words = "there are no MCP servers; caliban mcp add writes one"
        return CommandAnswer.of("\n".join((words, *problems)), OpenView(view="servers"))
    table = ShownTable(columns=("", "Server", "State", "", ""), rows=tuple(rows), notes=problems)
    return CommandAnswer(parts=(table,), effect=OpenView(view="servers"))


async def _log_in(app: App, name: str) -> CommandAnswer:
    inputs = app.live.inputs
    if inputs is None or inputs.host.asker is None:
        raise CommandNotHere(
            "/mcp login needs a person at the terminal",
            hint=f"caliban mcp login {one_line(name, max_chars=80)} is for a shell",
        )
    from caliban.faces.terminal.serverlist import ServerList

    return CommandAnswer.of(await ServerList(app).log_in(name))


async def hooks(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the active hooks by event."""
    no_arguments("hooks", arguments)
    from caliban.compose.hooking.chosen import choose_hooks

    chosen = choose_hooks(app.live.now, no_hooks=app.options.extensions.no_hooks, plugins=app.plugins)
    rows = tuple(
        (spec.event, spec.matcher or "*", spec.kind, one_line(app.masker.text(spec.place), max_chars=200))
        for spec in chosen.specs
    )
    counts = ", ".join(f"{event} {count}" for event, count in chosen.counts.items())
    notes = [counts] if counts else ["no hook counts here"]
    notes += [f"not fired by this version: {spec.event} ({spec.place})" for spec in chosen.unfired]
    table = ShownTable(
        columns=("Event", "Matches", "Kind", "Written"),
        rows=rows,
        notes=(*notes, *chosen.problems),
    )
    return CommandAnswer(parts=(table,))


async def plugins(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the plugins, inactive ones included."""
    no_arguments("plugins", arguments)
    from caliban.cli.invocation import Invocation
    from caliban.commands.plugins.desk import open_desk
    from caliban.commands.plugins.kept import plugin_rows
    from caliban.early_signals import EarlySignals

    desk = open_desk(Invocation(options=app.options, values={}, signals=EarlySignals(None)))
    rows = tuple(
        (row["state"], row["name"], row["version"], row["scope"], one_line(row["source"], max_chars=120))
        for row in plugin_rows(desk, {plugin.name: plugin for plugin in app.plugins})
    )
    if not rows:
        return CommandAnswer.of("there are no plugins; caliban plugin install takes one in")
    table = ShownTable(columns=("State", "Plugin", "Version", "Scope", "Source"), rows=rows)
    return CommandAnswer(parts=(table,))


async def agents(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the kinds of sub-agents that the model may start."""
    no_arguments("agents", arguments)
    kinds = app.extensions.kinds
    if not kinds or app.options.extensions.no_sub_agent:
        return CommandAnswer.of("this run starts no sub-agents")
    rows = tuple(
        (
            kind.name,
            kind.model or "as its caller",
            one_line(kind.description, max_chars=WORDS),
            one_line(kind.source, max_chars=120),
        )
        for kind in kinds
    )
    return CommandAnswer(parts=(ShownTable(columns=("Agent", "Model", "For", "Written"), rows=rows),))


async def skills(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List skills and command files, or show one skill."""
    from caliban.commands.skills import command_rows, skill_rows, skill_text

    catalog = app.extensions.skills
    if arguments:
        if catalog is None:
            raise CommandError("this run is without skills")
        return CommandAnswer.of(skill_text(catalog.find(arguments)))
    problems: list[str] = []
    rows = [] if catalog is None else [*skill_rows(catalog)]
    if not app.options.settings.bare:
        rows += command_rows(tuple(command_list(app.options, app.live.read, problems)))
    table = ShownTable(
        columns=("From", "Name", "", "For"),
        rows=tuple(
            (
                str(row["scope"]),
                str(row["name"]),
                str(row["state"]),
                one_line(str(row["description"]), max_chars=WORDS),
            )
            for row in rows
        ),
        notes=tuple(one_line(words, max_chars=300) for words in problems),
    )
    return CommandAnswer(parts=(table,))


def styles_of(app: App) -> StyleCatalog:
    """All output styles."""
    return find_styles(app.options.settings, app.live.read)


async def output_style(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """List the styles and the current one, or continue this session in another."""
    styles = styles_of(app)
    taken = DEFAULT if app.extensions.style is None else app.extensions.style.name
    if not arguments:
        rows = tuple(
            ChoiceRow(
                label=one_line(style.description, max_chars=WORDS),
                line=f"/output-style {style.name}",
                is_current=style.name == taken,
            )
            for style in styles.styles
        )
        note = ShownText(markdown="caliban config set output_style NAME takes one in every run")
        return CommandAnswer(parts=(ShownChoice(title=f"output style: {taken}", rows=rows), note))
    if app.options.system.is_given:
        raise CommandNotHere("/output-style: a flag gives the system prompt of this run")
    if app.board.writer is None and not has_said(context.session):
        hint = f"caliban config set output_style {one_line(arguments, max_chars=60)}"
        raise CommandNotHere("/output-style: this run has no session that would go on in it", hint=hint)
    style = styles.find(arguments)
    other = replace(app, extensions=replace(app.extensions, style=style))
    context.session.set_system(build_system(other.context()))
    words = f"output style: {style.name}, in this session from the next prompt on"
    return CommandAnswer.of(f"{words}; its system prompt is another one, so the cache begins anew")
