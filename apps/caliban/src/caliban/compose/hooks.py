"""The hooks of a run, where settings have some: without any, nothing of them is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban.cli.options import Options
from caliban.errors import ConfigError
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban.compose.hooking.chosen import ChosenHooks
    from caliban.compose.resolved import ResolvedModel
    from caliban.compose.tools import ToolInputs
    from caliban_agent_core.subagent.definition import AgentDefinition
    from caliban_common.hook import Hooks
    from caliban_common.tool import ToolSource
    from caliban_hooks import ConfiguredHooks
    from caliban_plugins import Plugin


def find_hooks(options: Options, settings: Settings, plugins: tuple[Plugin, ...] = ()) -> ChosenHooks | None:
    """The hooks that count, if there are any. Raises `ConfigError` for one that cannot run as written."""
    if not settings.get("hooks") and not any(plugin.hooks for plugin in plugins):
        return None
    from caliban.compose.hooking.chosen import OFF, choose_hooks

    chosen = choose_hooks(settings, no_hooks=options.extensions.no_hooks, plugins=plugins)
    if chosen.specs and options.session.record is not None:
        raise ConfigError("--record cannot keep what hooks answer: leave it out", hint=f"or {OFF}")
    return chosen


def ask_models(chosen: ChosenHooks | None) -> bool:
    """Whether a model is asked for any of the hooks."""
    return chosen is not None and any(spec.kind in ("prompt", "agent") for spec in chosen.specs)


def make_hooks(
    chosen: ChosenHooks | None,
    inputs: ToolInputs,
    model: ResolvedModel,
    kinds: tuple[AgentDefinition, ...] = (),
) -> ConfiguredHooks | None:
    """The hooks of a run, or none; `kinds` are the agents that may judge for them.

    Raises `ConfigError` for one that could not run when it is to.
    """
    if chosen is None:
        return None
    from caliban.compose.hooking.build import HookInputs, build_hooks

    return build_hooks(HookInputs(chosen=chosen, run=inputs, model=model, kinds=kinds))


def tracked(tools: ToolSource, chosen: ChosenHooks | None, inputs: ToolInputs, hooks: Hooks) -> ToolSource:
    """`tools`, which look after the files that they write where a hook wants to know of changes."""
    if chosen is None or "FileChanged" not in chosen.counts:
        return tools
    from caliban.compose.hooking.changes import TrackedTools, WrittenFiles

    return TrackedTools(tools, WrittenFiles(inputs.workspace, hooks))
