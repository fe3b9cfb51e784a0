"""The hooks of a run as one value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.hooking.chosen import OFF, ChosenHooks
from caliban.compose.hooking.conditions import Conditions
from caliban.compose.hooking.dialect import ClaudeDialect
from caliban.compose.host import Host
from caliban.compose.resolved import ResolvedModel
from caliban.errors import ConfigError
from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.masked import masked_data
from caliban_drive.notice import Notice
from caliban_hooks import (
    EVENTS,
    Addresses,
    BadHook,
    ConfiguredHooks,
    EventContext,
    HookFailed,
    HookParts,
    Investigations,
    Programs,
    Questions,
    ServerCalls,
    read_patterns,
)
from caliban_hooks.command import DEPTH_VARIABLE, PROJECT_VARIABLES
from caliban_hooks.configured import HookAsker
from caliban_hooks.spec import HookKind
from caliban_process.environ import program_environment

if TYPE_CHECKING:
    from caliban.compose.tools import ToolInputs

MAX_DEPTH = 1
"""How many sessions may be inside of each other by their hooks."""


class HookInputs(Struct, frozen=True, kw_only=True):
    """What the hooks of a run are made of: of what its tools are, its `model` without a mask, its agents."""

    chosen: ChosenHooks
    run: ToolInputs
    model: ResolvedModel
    kinds: tuple[AgentDefinition, ...] = ()

    @property
    def host(self) -> Host:
        """What the program around it gives."""
        return self.run.host

    @property
    def workspace(self) -> Path:
        """Where it works."""
        return self.run.workspace


def build_hooks(inputs: HookInputs) -> ConfiguredHooks | None:
    """The hooks of a run, or none. Raises `ConfigError` for one that could not run when it is to."""
    for spec in inputs.chosen.unfired:
        words = f"{spec.place} never runs, for this version has no {spec.event}: {EVENTS[spec.event].unfired}"
        inputs.run.report(Notice(subtype="hook_event", message=words))
    for words in inputs.chosen.problems:
        inputs.run.report(Notice(subtype="plugin", message=words))
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
        context=EventContext(
            workspace=workspace,
            mode=lambda: inputs.run.permissions.mode,
            dialect=ClaudeDialect(workspace),
            transcript=lambda: inputs.run.board.transcript,
            masked=lambda data: masked_data(data, masker),
        ),
        tell=lambda kind, words: inputs.run.report(Notice(subtype=kind, message=words)),
        fits_call=Conditions(inputs.chosen.specs, workspace, (agent_spec(),)),
        tasks=inputs.run.tasks,
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
    if "agent" in kinds:
        askers["agent"] = _agents(inputs)
    if "mcp" in kinds:
        from caliban.compose.hooking.servers import FleetTools

        askers["mcp"] = ServerCalls(tools=FleetTools(inputs.run.board, inputs.run.permissions))
    return askers


def _agents(inputs: HookInputs) -> Investigations:
    """The agents that judge. Raises `BadHook` for a hook that names none of them."""
    from caliban.compose.agent import agent_options
    from caliban.compose.hooking.investigator import Investigator, InvestigatorParts
    from caliban_agent_core.options import EPHEMERAL

    run = inputs.run
    limits = agent_options(run.options.model, run.options.workspace, run.settings, EPHEMERAL)
    investigator = Investigator(
        InvestigatorParts(
            model=inputs.model,
            masker=run.host.masker,
            rules=run.permissions,
            options=replace(limits, masker=run.host.masker),
            kinds=inputs.kinds,
            tools=lambda: run.board.tools,
            place=f"Working directory: {run.workspace}",
        )
    )
    for spec in inputs.chosen.specs:
        if spec.kind == "agent":
            try:
                investigator.check(spec.agent)
            except HookFailed as error:
                raise BadHook(spec.place, error.message) from error
    return Investigations(investigate=investigator)


def _environment(inputs: HookInputs) -> dict[str, str]:
    """What programs get: where things are, what a person wrote under `env`, and where the project is."""
    host, place = inputs.host.environ, str(inputs.workspace)
    added = {**(inputs.run.settings.get("env") or {}), **dict.fromkeys(PROJECT_VARIABLES, place)}
    return program_environment(host, {**added, DEPTH_VARIABLE: str(_depth(host) + 1)})


def _addresses(inputs: HookInputs) -> Addresses:
    from caliban.compose.hooking.post import HookPoster

    settings, host = inputs.run.settings, inputs.host
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
