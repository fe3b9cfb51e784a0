"""`caliban doctor`: whether a run would work now, and with what. Nothing is changed; no key is printed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.commands.boxed import sandbox_row
from caliban.commands.doctor.installed import offered, problems
from caliban.commands.doctor.readiness import Readiness, look_at_run
from caliban.commands.memory.row import memory_row
from caliban.commands.report import report
from caliban.compose.catalog import ProviderEntry, SettingsTable, find_provider, provider_tables
from caliban.compose.choice import ModelInputs
from caliban.compose.extensions import DEFAULT_STYLE
from caliban.compose.hooks import find_hooks
from caliban.compose.host import Host, this_host
from caliban.compose.keys import find_key
from caliban.compose.plugins.run import with_plugins
from caliban.compose.project import STATE_WORDS, Project, may_have_servers, open_project
from caliban.compose.provider import close_provider, list_models, make_provider
from caliban.compose.recorder import checkpoint_root
from caliban.compose.settings import unbuilt_words
from caliban.compose.workspace import build_workspace
from caliban.errors import AppError, ConfigError, KeyFailed, MissingKey
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.paths import data_dir, home
from caliban_common.text import one_line, plural
from caliban_provider.capabilities import ModelInfo
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import make_ready
from caliban_settings import Settings

State: TypeAlias = Literal["pass", "warn", "fail"]
MARKS: Final[Mapping[State, str]] = MappingProxyType({"pass": "✓", "warn": "!", "fail": "✗"})
PROVIDERS: Final = ("ollama", "openai", "anthropic", "google", "local")
PROBE_S: Final = 5.0


class Check(Struct, frozen=True, kw_only=True):
    """One row: what was looked at, how it is, and what to know or do."""

    name: str
    state: State
    hint: str


class ProviderCheck(Struct, frozen=True, kw_only=True):
    """One provider to look at. `model` must be on its list; `deep` asks servers nobody named too.

    What is wrong with one that no run `uses` is no failure.
    """

    name: str
    settings: Settings
    host: Host
    deep: bool
    uses: bool = True
    model: str | None = None

    def inputs(self, keys: Mapping[str, str]) -> ModelInputs:
        """What it is made by; `keys` stand above the environment."""
        host = replace(self.host, environ={**self.host.environ, **keys})
        return ModelInputs(settings=self.settings, host=host, workspace=Path())

    @property
    def table(self) -> SettingsTable:
        """What settings say of it."""
        return provider_tables(self.settings).get(self.name) or {}


def doctor(invocation: Invocation) -> int:
    """Look at everything; the exit code is 1 when a check fails."""
    deep = invocation.values["deep"]
    checks = run_cancellable(lambda: run_checks(invocation.options, deep), invocation.signals)
    failed = any(check.state == "fail" for check in checks)
    text = _json(checks, ok=not failed) if invocation.values["json"] else _table(checks)
    return print_text(text) or int(failed)


async def run_checks(options: Options, deep: bool, host: Host | None = None) -> tuple[Check, ...]:
    """Every check of a run by `options`; `deep` asks servers that nobody named, too."""
    workspace, where = _workspace(options)
    project, loaded = _settings(options, workspace)
    kept = checkpoint_root(os.environ)
    rows = [
        loaded,
        _store("session_store", data_dir() / "sessions", "session"),
        _store("checkpoint_store", kept, "change of a file"),
        where,
    ]
    if project is None:
        unknown = (_row(name, "warn", "not checked: the settings do not load") for name in PROVIDERS)
        return (_row("run", "fail", "would not start: the settings do not load"), *rows, *unknown)
    rows.append(_trust(project))
    host, settings = host or this_host(), project.settings
    project, plugins = _plugins(options, project, workspace, host)
    rows += (*plugins, *_hooks(options, project), *_servers(options, project))
    rows += [_skills(options, project), *_style(options, project, host)]
    rows.append(_row("claudemd", *memory_row(options, settings, workspace, host.environ)))
    inputs = ModelInputs(
        options=options.model,
        settings=settings,
        host=host,
        workspace=workspace,
        sources=options.settings,
        project=project,
    )
    ready = look_at_run(inputs)
    names = tuple(dict.fromkeys((*ready.providers, *PROVIDERS, *sorted(provider_tables(settings)))))
    checks: dict[str, Check] = {}
    async with anyio.create_task_group() as group:
        for name in names:
            model = options.model.model if name == ready.providers[0] else None
            question = ProviderCheck(
                name=name, settings=settings, host=host, deep=deep, uses=name in ready.providers, model=model
            )
            group.start_soon(partial(_keep, checks, question))
    rows.append(_row("sandbox", *await sandbox_row(options.workspace, settings, workspace, host)))
    return (_run(ready, checks), *rows, *(checks[name] for name in names), *_installed())


def _plugins(
    options: Options, project: Project, workspace: Path, host: Host
) -> tuple[Project, tuple[Check, ...]]:
    """The project with its plugins, and a row where there are any, or some were left out."""
    told: list[str] = []
    try:
        found = with_plugins(
            project, options, workspace, host.environ, lambda notice: told.append(notice.message)
        )
    except AppError as error:
        return project, (_row("plugins", "fail", error.message),)
    names = ", ".join(plugin.name for plugin in found.plugins) or "none counts"
    if told:
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        return found, (_row("plugins", "warn", f"{names}; {told[0]}{more}"),)
    return found, (_row("plugins", "pass", names),) if found.plugins else ()


def _hooks(options: Options, project: Project) -> Iterator[Check]:
    """The hooks that count, where there are some."""
    try:
        chosen = find_hooks(options, project.settings, project.plugins)
    except ConfigError as error:
        yield _row("hooks", "fail", error.message)
        return
    if chosen is None:
        return
    counts = ", ".join(f"{name} {count}" for name, count in chosen.counts.items()) or "none counts"
    if chosen.problems:
        yield _row("hooks", "warn", f"{counts}; {chosen.problems[0]}")
    elif chosen.unfired:
        names = ", ".join(dict.fromkeys(spec.event for spec in chosen.unfired))
        yield _row("hooks", "warn", f"{counts}; not fired by this version: {names}")
    else:
        yield _row("hooks", "pass", counts)


def _servers(options: Options, project: Project) -> Iterator[Check]:
    """The MCP servers that settings and plugins name, where they name some."""
    named = may_have_servers(project) or any(
        item.key.startswith("mcp_servers.") for item in project.settings.withheld
    )
    if named:
        from caliban.commands.mcp.row import server_row

        row = server_row(options)
        if row is not None:
            yield _row("mcp_servers", *row)


def _installed() -> Iterator[Check]:
    """What packages of others offer, and what keeps it from use; no run fails of that alone."""
    if tools := offered():
        yield _row("tools", "pass", tools)
    for name, words in problems():
        yield _row(name, "warn", words)


def _run(ready: Readiness, checks: Mapping[str, Check]) -> Check:
    """Whether a run would work: nothing keeps it from starting, and who was asked has answered."""
    failed = [name for name in ready.providers if checks[name].state == "fail"]
    if ready.problem is not None:
        return _row("run", "fail", f"would not start: {ready.problem}")
    if failed:
        return _row("run", "fail", f"{ready.words}; would fail: {failed[0]} does")
    return _row("run", "pass", ready.words)


async def _keep(checks: dict[str, Check], question: ProviderCheck) -> None:
    check = await _provider(question)
    is_idle = check.state == "fail" and not question.uses
    checks[question.name] = (
        _row(check.name, "warn", f"no run uses it now; {check.hint}") if is_idle else check
    )


def _settings(options: Options, workspace: Path) -> tuple[Project | None, Check]:
    try:
        project = open_project(options.settings, workspace)
    except CalibanError as error:
        return None, _row("settings", "fail", error.message)
    settings = project.settings
    count = plural(len(settings.sources), "scope file")
    warnings = (*settings.warnings, *map(unbuilt_words, settings.unbuilt))
    if warnings:
        # That a file is JSON is said of all of it, and last: what is wrong inside counts more.
        first = min(warnings, key=lambda warning: "is JSON, which is read" in warning)
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        return project, _row("settings", "warn", f"{count} loaded; {first}{more}")
    if not settings.sources:
        return project, _row("settings", "warn", "no settings file; the defaults hold")
    return project, _row("settings", "pass", f"{count} loaded")


def _skills(options: Options, project: Project) -> Check:
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
        return _row("skills", "warn", f"{counts}; {problems[0]}{more}")
    return _row("skills", "pass", counts)


def _style(options: Options, project: Project, host: Host) -> Iterator[Check]:
    """Whether there is the output style that was chosen; nothing where none was."""
    from caliban.compose.styles import build_style, style_name

    name = style_name(project, host.environ)
    if name == DEFAULT_STYLE:
        return
    told: list[str] = []
    try:
        style = build_style(options, project, host.environ, lambda notice: told.append(notice.message))
    except ConfigError as error:
        yield _row("output_style", "fail", error.message)
        return
    if told:
        yield _row("output_style", "warn", told[0])
    elif style is not None:
        yield _row("output_style", "pass", f"{style.name} ({style.scope})")


def _trust(project: Project) -> Check:
    """Whether what the workspace supplies counts."""
    trust = project.trust
    since = f" since {trust.since}" if trust.state == "trusted" else ""
    if trust.counts or trust.state == "nothing":
        return _row("trust", "pass", f"{STATE_WORDS[trust.state]}{since}")
    hint = trust.words or "what the workspace supplies waits for trust; caliban trust show lists it"
    return _row("trust", "warn", hint)


def _workspace(options: Options) -> tuple[Path, Check]:
    """The workspace of a run and its row; where there is none, a folder for the other checks to look at."""
    try:
        path = build_workspace(options.workspace.workspace)
    except CalibanError as error:
        instead = home() if options.workspace.workspace is None else _workspace(Options())[0]
        return instead, _row("workspace", "fail", error.message)
    return path, _row("workspace", *_writable(path))


def _store(name: str, path: Path, maker: str) -> Check:
    """Whether one of our directories is writable or, if it does not exist yet, can be created."""
    try:
        nearest = next(folder for folder in (path, *path.parents) if folder.exists())
        if not nearest.is_dir():
            return _row(name, "fail", f"{nearest} is not a directory")
    except OSError as error:
        return _row(name, "fail", f"{path}: {(error.strerror or str(error)).lower()}")
    state, hint = _writable(nearest)
    if state == "pass" and nearest != path:
        return _row(name, "pass", f"{path} (made by the first {maker})")
    return _row(name, state, hint)


def _writable(path: Path) -> tuple[State, str]:
    if os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return "pass", f"{path} (writable)"
    return "fail", f"{path} cannot be written"


async def _provider(question: ProviderCheck) -> Check:
    """The row of a provider. Its server is contacted only if one is configured, or with `--deep`."""
    name = question.name
    try:
        entry = find_provider(name, provider_tables(question.settings))
        _check_options(question, entry)
    except UnknownProvider as error:
        return _row(name, "fail", f"not installed; {error.message}")
    except ConfigError as error:
        absent = name == "local" and not question.table
        return _row(name, "warn" if absent else "fail", "; ".join(filter(None, (error.message, error.hint))))
    url, variables = entry.base_url(question.host.environ), entry.factory.base_url_env
    if variables and not url and not question.deep:
        return _row(name, "pass", f"{variables[0]} unset (its server was not asked; --deep asks it)")
    try:
        key = find_key(name, entry.key_variables, question.settings, question.host.environ)
    except CalibanError as error:
        return _row(name, "fail", error.message)
    known = key if isinstance(key, str) else None  # what a program gives is known to the provider only
    return await _probe(question, entry, _shown(url) if url else "its server", known)


def _check_options(question: ProviderCheck, entry: ProviderEntry) -> None:
    """Raise `ConfigError` for options of which no provider can be made; nothing is asked or sent."""
    if question.table.get("options") or question.name == "local":
        keys = {variable: question.host.environ.get(variable) or "none" for variable in entry.key_variables}
        make_provider(entry, question.inputs(keys), report)


async def _probe(question: ProviderCheck, entry: ProviderEntry, where: str, key: str | None) -> Check:
    """Ask for the list of models; a server that repeats the `key` is not quoted in that."""
    name = question.name
    try:
        provider = make_provider(entry, question.inputs({}), report)
        try:
            await make_ready(provider)
            with anyio.fail_after(PROBE_S):
                models = await list_models(provider)
        finally:
            await close_provider(provider, report)
    except TimeoutError:
        return _row(name, "fail", f"{where} did not answer within {PROBE_S:g} s")
    except MissingKey:
        return _row(name, "warn", f"not asked: there is no API key; caliban login {name} stores one")
    except KeyFailed as error:
        return _row(name, "fail", error.message)
    except CalibanError as error:
        words = error.message.replace(key, "…") if key else error.message
        return _row(name, "fail", f"{where}: {words}")
    return _listed(question, models, where)


def _listed(question: ProviderCheck, models: Sequence[ModelInfo], where: str) -> Check:
    if question.model is not None and models and question.model not in {model.id for model in models}:
        return _row(question.name, "fail", f"{where} does not offer the model {question.model}")
    count = f"({plural(len(models), 'model')})"
    if question.name == "local":
        return _row("local", "pass" if models else "warn", f"runs in this process {count}")
    return _row(question.name, "pass", f"{where} reachable {count}")


def _row(name: str, state: State, hint: str) -> Check:
    return Check(name=name, state=state, hint=one_line(hint, max_chars=300))


def _shown(url: str) -> str:
    """An address without what may be secret: user and password, query, fragment."""
    scheme, mark, rest = url.partition("?")[0].partition("#")[0].rpartition("://")
    return one_line(scheme + mark + rest.rsplit("@", 1)[-1], max_chars=200)


def _table(checks: Sequence[Check]) -> str:
    rows = "".join(f"{MARKS[check.state]} {one_line(check.name)} — {check.hint}\n" for check in checks)
    return f"caliban doctor — {plural(len(checks), 'check')}:\n{rows}"


def _json(checks: Sequence[Check], *, ok: bool) -> str:
    rows = [{"name": check.name, "state": check.state, "hint": check.hint} for check in checks]
    return dumps({"ok": ok, "checks": rows}).decode() + "\n"
