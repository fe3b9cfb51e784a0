"""`caliban doctor`: whether a run would work now, and with what. Nothing is changed; no key is printed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

import anyio

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.commands.boxed import sandbox_row
from caliban.commands.doctor.check import Check, State, check_row
from caliban.commands.doctor.extensions import hook_rows, plugin_rows, server_rows, skill_row, style_rows
from caliban.commands.doctor.installed import offered, problems
from caliban.commands.doctor.providers import ProviderCheck, provider_row
from caliban.commands.doctor.readiness import Readiness, look_at_run
from caliban.commands.memory.row import memory_row
from caliban.compose.catalog import provider_tables
from caliban.compose.choice import ModelInputs
from caliban.compose.host import Host, this_host
from caliban.compose.project import STATE_WORDS, Project, open_project
from caliban.compose.recorder import checkpoint_root
from caliban.compose.settings import unbuilt_words
from caliban.compose.workspace import build_workspace
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.paths import data_dir, home
from caliban_common.text import one_line, plural

MARKS: Final[Mapping[State, str]] = MappingProxyType({"pass": "✓", "warn": "!", "fail": "✗"})
PROVIDERS: Final = ("ollama", "openai", "anthropic", "google", "local")


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
        unknown = (check_row(name, "warn", "not checked: the settings do not load") for name in PROVIDERS)
        return (check_row("run", "fail", "would not start: the settings do not load"), *rows, *unknown)
    rows.append(_trust(project))
    host, settings = host or this_host(), project.settings
    project, plugins = plugin_rows(options, project, workspace, host)
    rows += (*plugins, *hook_rows(options, project), *server_rows(options, project))
    rows += [skill_row(options, project), *style_rows(options, project, host)]
    rows.append(check_row("claudemd", *memory_row(options, settings, workspace, host.environ)))
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
    rows.append(check_row("sandbox", *await sandbox_row(options.workspace, settings, workspace, host)))
    return (_run(ready, checks), *rows, *(checks[name] for name in names), *_installed())


def _installed() -> Iterator[Check]:
    """What packages of others offer, and what keeps it from use; no run fails of that alone."""
    if tools := offered():
        yield check_row("tools", "pass", tools)
    for name, words in problems():
        yield check_row(name, "warn", words)


def _run(ready: Readiness, checks: Mapping[str, Check]) -> Check:
    """Whether a run would work: nothing keeps it from starting, and who was asked has answered."""
    failed = [name for name in ready.providers if checks[name].state == "fail"]
    if ready.problem is not None:
        return check_row("run", "fail", f"would not start: {ready.problem}")
    if failed:
        return check_row("run", "fail", f"{ready.words}; would fail: {failed[0]} does")
    return check_row("run", "pass", ready.words)


async def _keep(checks: dict[str, Check], question: ProviderCheck) -> None:
    check = await provider_row(question)
    is_idle = check.state == "fail" and not question.uses
    checks[question.name] = (
        check_row(check.name, "warn", f"no run uses it now; {check.hint}") if is_idle else check
    )


def _settings(options: Options, workspace: Path) -> tuple[Project | None, Check]:
    try:
        project = open_project(options.settings, workspace)
    except CalibanError as error:
        return None, check_row("settings", "fail", error.message)
    settings = project.settings
    count = plural(len(settings.sources), "scope file")
    warnings = (*settings.warnings, *map(unbuilt_words, settings.unbuilt))
    if warnings:
        # That a file is JSON is said of all of it, and last: what is wrong inside counts more.
        first = min(warnings, key=lambda warning: "is JSON, which is read" in warning)
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        return project, check_row("settings", "warn", f"{count} loaded; {first}{more}")
    if not settings.sources:
        return project, check_row("settings", "warn", "no settings file; the defaults hold")
    return project, check_row("settings", "pass", f"{count} loaded")


def _trust(project: Project) -> Check:
    """Whether what the workspace supplies counts."""
    trust = project.trust
    since = f" since {trust.since}" if trust.state == "trusted" else ""
    if trust.counts or trust.state == "nothing":
        return check_row("trust", "pass", f"{STATE_WORDS[trust.state]}{since}")
    hint = trust.words or "what the workspace supplies waits for trust; caliban trust show lists it"
    return check_row("trust", "warn", hint)


def _workspace(options: Options) -> tuple[Path, Check]:
    """The workspace of a run and its row; where there is none, a folder for the other checks to look at."""
    try:
        path = build_workspace(options.workspace.workspace)
    except CalibanError as error:
        instead = home() if options.workspace.workspace is None else _workspace(Options())[0]
        return instead, check_row("workspace", "fail", error.message)
    return path, check_row("workspace", *_writable(path))


def _store(name: str, path: Path, maker: str) -> Check:
    """Whether one of our directories is writable or, if it does not exist yet, can be created."""
    try:
        nearest = next(folder for folder in (path, *path.parents) if folder.exists())
        if not nearest.is_dir():
            return check_row(name, "fail", f"{nearest} is not a directory")
    except OSError as error:
        return check_row(name, "fail", f"{path}: {(error.strerror or str(error)).lower()}")
    state, hint = _writable(nearest)
    if state == "pass" and nearest != path:
        return check_row(name, "pass", f"{path} (made by the first {maker})")
    return check_row(name, state, hint)


def _writable(path: Path) -> tuple[State, str]:
    if os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return "pass", f"{path} (writable)"
    return "fail", f"{path} cannot be written"


def _table(checks: Sequence[Check]) -> str:
    rows = "".join(f"{MARKS[check.state]} {one_line(check.name)} — {check.hint}\n" for check in checks)
    return f"caliban doctor — {plural(len(checks), 'check')}:\n{rows}"


def _json(checks: Sequence[Check], *, ok: bool) -> str:
    rows = [{"name": check.name, "state": check.state, "hint": check.hint} for check in checks]
    return dumps({"ok": ok, "checks": rows}).decode() + "\n"
