"""The parts of plugins as the parts of a run: under `plugin:name`, with the variables for their places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from caliban.compose.supplied import MAX_FILE_BYTES, ProjectFile
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.files import read_agent
from caliban_common.errors import CalibanError
from caliban_drive.notice import Notice, Report
from caliban_hooks import BadHook, HookSpec, read_hooks
from caliban_output_styles import OutputStyle, read_style
from caliban_output_styles.read import MAX_FILE_BYTES as MAX_STYLE_BYTES
from caliban_plugins import Plugin, PluginFile
from caliban_skills import Skill
from caliban_skills.read import read_skill

_PLAIN: Final = r"[\w@%+=:,./-]+"
_VARIABLE: Final = rb"\$\{((?:CALIBAN|CLAUDE)_PLUGIN_(?:ROOT|DATA)|CLAUDE_SKILL_DIR)\}"


def plugin_skills(plugins: Iterable[Plugin], problems: list[str]) -> Iterator[Skill]:
    """The skills of plugins; a file that is none costs no other."""
    for plugin in plugins:
        for file, data in _files(plugin, plugin.skills, "skill", problems):
            path = file.path
            if file.name != path.parent.name:  # a plugin that is one skill is called by its own name
                path = Path(file.name) / path.name
            try:
                skill = read_skill(path, data, "plugin")
            except CalibanError as error:
                problems.append(f"a skill is left out: {error.message}")
                continue
            yield replace(skill, name=plugin.full_name(skill.name), path=file.path)


def plugin_commands(plugins: Iterable[Plugin], problems: list[str]) -> Iterator[ProjectFile]:
    """The command files of plugins."""
    for plugin in plugins:
        for file, data in _files(plugin, plugin.commands, "command", problems):
            yield ProjectFile(path=file.path, data=data, name=plugin.full_name(file.name))


def plugin_styles(plugins: Iterable[Plugin], problems: list[str]) -> Iterator[OutputStyle]:
    """The output styles of plugins."""
    for plugin in plugins:
        for file, data in _files(plugin, plugin.styles, "output style", problems, MAX_STYLE_BYTES):
            try:
                style = read_style(file.path, data, "plugin")
            except CalibanError as error:
                problems.append(f"an output style is left out: {error.message}")
                continue
            yield replace(style, name=plugin.full_name(style.name))


def plugin_agents(plugins: Iterable[Plugin], report: Report) -> Iterator[AgentDefinition]:
    """The kinds of sub-agents of plugins."""
    for plugin in plugins:
        problems: list[str] = []
        own = {file.name for file in plugin.skills}
        for file, data in _files(plugin, plugin.agents, "agent", problems):
            try:
                kind, notes = read_agent(file.path, data)
            except CalibanError as error:
                problems.append(f"the agent in {file.path} is left out: {error.message}")
                continue
            name = plugin.full_name(kind.name)
            problems += (f"the agent {name} ({file.path}): {note}" for note in notes)
            skills = tuple(plugin.full_name(skill) if skill in own else skill for skill in kind.skills)
            yield replace(kind, name=name, skills=skills, servers=_servers_of(plugin, kind.servers))
        for words in problems:
            report(Notice(subtype="agent_file", message=words))


def plugin_hooks(plugins: Iterable[Plugin], problems: list[str]) -> Iterator[HookSpec]:
    """The hooks of plugins, each told of its places by variables: nothing is put into a line of the shell.

    One that cannot run here is a problem.
    """
    for plugin in plugins:
        for place, events in plugin.hooks.items():
            for event, groups in events.items():
                for group in groups if isinstance(groups, list) else [groups]:
                    try:
                        specs = read_hooks({event: [group]}, source=f"plugin {plugin.name} ({place})")
                    except BadHook as error:
                        problems.append(f"a hook of the plugin {plugin.name} never runs: {error.message}")
                        continue
                    for spec in specs:
                        (server,) = _servers_of(plugin, (spec.server,)) or ("",)
                        yield replace(spec, env={**spec.env, **plugin.variables}, server=server)


def part_problems(plugin: Plugin) -> list[str]:
    """What of a plugin a run would leave out, each part read as a run reads it; none of it is run."""
    problems = list(plugin.problems)
    one, notices = (plugin,), list[Notice]()
    for _ in (
        *plugin_skills(one, problems),
        *plugin_styles(one, problems),
        *plugin_agents(one, notices.append),
        *plugin_hooks(one, problems),
    ):
        pass
    return [*problems, *(notice.message for notice in notices)]


def _servers_of(plugin: Plugin, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Names of servers as they are called among those of everybody: a plugin may leave out its own name."""
    own = {server.name for server in plugin.servers}
    return None if names is None else tuple(plugin.full_name(name) if name in own else name for name in names)


def _files(
    plugin: Plugin,
    files: Iterable[PluginFile],
    kind: str,
    problems: list[str],
    max_bytes: int = MAX_FILE_BYTES,
) -> Iterator[tuple[PluginFile, bytes]]:
    """Files with what is in them, the variables for places put in."""
    for file in files:
        try:
            yield file, _placed(plugin, file, file.read(max_bytes), problems)
        except CalibanError as error:
            problems.append(f"the {kind} in {file.path} is left out: {error.message}")


def _placed(plugin: Plugin, file: PluginFile, data: bytes, problems: list[str]) -> bytes:
    """`data` with the places of its plugin; a place that a shell would read otherwise is not put in."""
    if re.search(_VARIABLE, data) is None:
        return data
    values = {**plugin.variables, "CLAUDE_SKILL_DIR": str(file.path.parent)}
    if not all(re.fullmatch(_PLAIN, value) for value in values.values()):
        problems.append(f"{file.path}: the folder of its plugin has a name that is not put into its words")
        return data
    return re.sub(_VARIABLE, lambda match: values.get(match[1].decode(), match[0].decode()).encode(), data)
