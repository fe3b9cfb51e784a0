"""The hooks of a run as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from anyio.abc import TaskGroup
from msgspec import Struct

from caliban.compose.hooking.chosen import OFF, ChosenHooks
from caliban.compose.hooking.conditions import Conditions
from caliban.compose.hooking.dialect import ClaudeDialect
from caliban.compose.host import Host
from caliban.compose.resolved import ResolvedModel
from caliban.errors import ConfigError
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.masked import masked_data
from caliban_drive.notice import Notice, Report
from caliban_hooks import (
    Addresses,
    BadHook,
    ConfiguredHooks,
    HookParts,
    Programs,
    Questions,
    Surroundings,
    read_patterns,
)
from caliban_hooks.command import DEPTH_VARIABLE, PROJECT_VARIABLES
from caliban_hooks.configured import HookAsker
from caliban_hooks.spec import HookKind
from caliban_process.environ import program_environment
from caliban_settings import Settings

MAX_DEPTH = 1
"""How many sessions may be inside of each other by their hooks."""


class HookInputs(Struct, frozen=True, kw_only=True):
    """What the hooks of a run are made of; `mode` says the permission mode of the moment."""

    chosen: ChosenHooks
    settings: Settings
    host: Host
    workspace: Path
    model: ResolvedModel
    mode: Callable[[], str]
    report: Report
    tasks: TaskGroup | None = None


def build_hooks(inputs: HookInputs) -> ConfiguredHooks | None:
    """The hooks of a run, or none. Raises `ConfigError` for one that could not run when it is to."""
    for spec in inputs.chosen.unfired:
        words = f"{spec.place} never runs: {spec.event} is not fired by this version"
        inputs.report(Notice(subtype="hook_event", message=words))
    for words in inputs.chosen.problems:
        inputs.report(Notice(subtype="plugin", message=words))
    specs = inputs.chosen.specs
    if not specs:
        return None
    if _depth(inputs.host.environ) > MAX_DEPTH:
        raise ConfigError(
            "a hook has started this session within the session of another hook, which need not end",
            hint=f"in a hook, {OFF}",
        )
    try:
        return ConfiguredHooks(specs, _parts(inputs))
    except BadHook as error:
        raise ConfigError(error.message, hint=f"mend it, or {OFF}") from error


def _parts(inputs: HookInputs) -> HookParts:
    masker, workspace = inputs.host.masker, inputs.workspace
    return HookParts(
        askers=_askers(inputs),
        around=Surroundings(
            workspace=workspace,
            mode=inputs.mode,
            dialect=ClaudeDialect(workspace),
            masked=lambda data: masked_data(data, masker),
        ),
        tell=lambda kind, words: inputs.report(Notice(subtype=kind, message=words)),
        fits_call=Conditions(inputs.chosen.specs, workspace, (agent_spec(),)),
        tasks=inputs.tasks,
    )


def _askers(inputs: HookInputs) -> Mapping[HookKind, HookAsker]:
    """Who asks each kind of hook that there is; addresses are looked at before anything is sent."""
    kinds = {spec.kind for spec in inputs.chosen.specs}
    askers: dict[HookKind, HookAsker] = {}
    if "command" in kinds:
        askers["command"] = Programs(
            runner=inputs.host.runner, env=_environment(inputs), cwd=str(inputs.workspace)
        )
    if "http" in kinds:
        askers["http"] = _addresses(inputs)
    if "prompt" in kinds:
        from caliban.compose.hooking.judge import ModelJudge

        askers["prompt"] = Questions(judge=ModelJudge(inputs.model, inputs.host.masker))
    return askers


def _environment(inputs: HookInputs) -> dict[str, str]:
    """What programs get: where things are, what a person wrote under `env`, and where the project is."""
    host, place = inputs.host.environ, str(inputs.workspace)
    added = {**(inputs.settings.get("env") or {}), **dict.fromkeys(PROJECT_VARIABLES, place)}
    return program_environment(host, {**added, DEPTH_VARIABLE: str(_depth(host) + 1)})


def _addresses(inputs: HookInputs) -> Addresses:
    from caliban.compose.hooking.post import HookPoster

    settings, host = inputs.settings, inputs.host
    patterns = read_patterns(settings.get("allowed_http_hook_urls") or ())
    names = settings.get("http_hook_allowed_env_vars") or ()
    values = {name: host.environ.get(name, "") for name in names}
    for value in values.values():
        host.masker.add(value)
    addresses = Addresses(post=HookPoster(patterns), allowed=patterns, env=values)
    for spec in inputs.chosen.specs:
        if spec.kind == "http":
            addresses.check(spec)
    return addresses


def _depth(environ: Mapping[str, str]) -> int:
    text = environ.get(DEPTH_VARIABLE, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
