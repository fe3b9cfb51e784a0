"""Changed settings taken over by a run between two turns: all of them, or none where they are wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from caliban.compose.hooks import find_hooks, make_hooks
from caliban.compose.project import Project, open_project
from caliban.compose.settings import check_unbuilt
from caliban_agent_core.hooks import ask_hooks
from caliban_common.errors import CalibanError
from caliban_common.hook import ConfigChange
from caliban_drive.notice import Notice
from caliban_settings.edit.address import address_of, quoted_path
from caliban_settings.errors import NoSuchSetting
from caliban_settings.leaves import LeafPath, Leaves
from caliban_settings.settings import keeping

if TYPE_CHECKING:
    from caliban.compose.app import App
    from caliban.compose.hooking.chosen import ChosenHooks
    from caliban.compose.live import FileStamps, LiveSettings
    from caliban_hooks import ConfiguredHooks
    from caliban_settings import Settings

QUIET_S: Final = 0.25
"""So long no file may have changed: an editor that writes in pieces is not read in the middle."""
MAX_ROUNDS: Final = 8
MAX_NAMES: Final = 12
_HOOK_NAMES: Final = frozenset(
    {
        *("hooks", "disable_all_hooks", "allow_managed_hooks_only", "allowed_http_hook_urls"),
        *("http_hook_allowed_env_vars", "env"),
    }
)


async def settle(live: LiveSettings) -> FileStamps:
    """The stamps of the files once they have been quiet, or after some rounds."""
    stamps = live.look()
    for _ in range(MAX_ROUNDS):
        newest = max((stamp[0] for stamp in stamps if stamp is not None), default=0)
        age_s = time.time() - newest / 1e9
        await anyio.sleep(QUIET_S - age_s if 0 <= age_s < QUIET_S else 0)
        again = live.look()
        if again == stamps:
            break
        stamps = again
    return stamps


def report_empty(live: LiveSettings, app: App, paths: tuple[str, ...]) -> bool:
    """Whether a file was emptied, which is told of once: a writer begins so, and no rule ends by that."""
    for path in paths:
        message = f"{path} is empty now, as while it is written: the settings of before go on"
        if message not in live.said:
            live.said.add(message)
            hint = "remove the file to be without its settings"
            app.reporter(Notice(subtype="settings_refused", message=message, hint=hint))
    return bool(paths)


async def take_over(live: LiveSettings, app: App, told: LeafPath = ()) -> None:
    """Let `app` go on with what the files say now; where they are wrong, with what they said before.

    Nothing is said of the setting `told`: whoever has changed it just now says so.
    """
    try:
        project, words = reopened(live)
        changed = _changed(live.read.settings.leaves, project.settings.leaves)
        fresh = keeping(project.settings, live.now)
        unbuilt = check_unbuilt(project.settings, live.options.extensions)
        engine = app.permissions.rebuilt(fresh, trusted=project.trust.counts)
        chosen = _chosen(live, project, changed)
        hooks = _hooks(live, chosen, fresh, app)
        limits = app.limits(fresh)
    except CalibanError as error:
        message = f"settings were changed and are not used, those of before go on: {error.message}"
        app.reporter(Notice(subtype="settings_refused", message=message, hint=error.hint))
        return
    before, live.read, live.now = live.read, project, fresh
    live.env.clear()
    live.env.update(fresh.get("env") or {})
    app.permissions.take(engine)
    asked = live.hooks.current
    if hooks is not None:
        live.hooks.swap(hooks[0])
    session = app.board.session
    if session is not None:
        session.agent.options = limits
    if chosen is not None and chosen[0] is not None and "FileChanged" in chosen[0].counts and not live.tracks:
        words = (*words, "hooks at FileChanged, of which there were none at the start, need a new start")
    remarks = _remarks(project, tuple(path for path in changed if path != told))
    for remark in (*words, *remarks, *(one for one in unbuilt if one not in live.said)):
        live.said.add(remark)
        app.reporter(Notice(subtype="settings_changed", message=remark))
    asked = asked or live.hooks.current
    for event in _events(before, project, "" if session is None else session.id):
        if asked is not None:
            await ask_hooks(asked, event)


def reopened(live: LiveSettings) -> tuple[Project, tuple[str, ...]]:
    """What the files say now. A project that was trusted unseen and has changed is not trusted any more.

    The plugins are those that the run began with.
    """
    options = live.options.settings
    project = replace(open_project(options, live.workspace), plugins=live.read.plugins)
    if project.trust.state != "once" or project.layers.of_project() == live.read.layers.of_project():
        return project, ()
    project = open_project(replace(options, trust_project=False), live.workspace)
    project = replace(project, plugins=live.read.plugins)
    words = "the project's settings have changed in this run: --trust-project was about what was there before"
    return project, () if live.read.trust.state != "once" else (words,)


def _chosen(
    live: LiveSettings, project: Project, changed: tuple[LeafPath, ...]
) -> tuple[ChosenHooks | None] | None:
    """The hooks that count now, where they are others than before."""
    if not _HOOK_NAMES & {path[0] for path in changed}:
        return None
    return (find_hooks(live.options, keeping(project.settings, live.now), project.plugins),)


def _hooks(
    live: LiveSettings, chosen: tuple[ChosenHooks | None] | None, settings: Settings, app: App
) -> tuple[ConfiguredHooks | None] | None:
    """Those hooks, made to run."""
    if chosen is None or live.inputs is None or live.model is None:
        return None
    inputs = replace(live.inputs, settings=settings)
    return (make_hooks(chosen[0], inputs, live.model, app.extensions.kinds),)


def _changed(before: Leaves, now: Leaves) -> tuple[LeafPath, ...]:
    """The settings whose value is another one."""
    paths = dict.fromkeys((*before, *now))
    return tuple(
        path
        for path in paths
        if path not in before or path not in now or before[path].value != now[path].value
    )


def _remarks(project: Project, changed: tuple[LeafPath, ...]) -> Iterator[str]:
    leaves = project.settings.leaves
    taken = [path for path in changed if not _restarts(path)]
    if taken:
        names = ", ".join(map(quoted_path, taken[:MAX_NAMES]))
        more = f" and {len(taken) - MAX_NAMES} more" if len(taken) > MAX_NAMES else ""
        yield f"settings changed and count from now on: {names}{more}"
    for path in changed:
        if _restarts(path):
            leaf = leaves.get(path)
            origin = None if leaf is None else leaf.origins[-1]
            line = None if origin is None else project.layers.line_of(path, origin)
            place = "" if origin is None or origin.path is None else f" in {origin.path}:{line or 1}"
            name = quoted_path(path)
            yield f"{name} was changed{place} and counts from the next start on: restart required"


def _restarts(path: LeafPath) -> bool:
    try:
        key = address_of(path).key
    except NoSuchSetting:
        return False
    return key is not None and key.restart


_SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "managed": "policy_settings",
        "user": "user_settings",
        "project": "project_settings",
        "local": "local_settings",
        "cli": "flag_settings",
    }
)


def _events(before: Project, now: Project, session_id: str) -> Iterator[ConfigChange]:
    """One event for each scope whose file says something else."""
    for scope, name in _SOURCES.items():
        old, new = before.layers.given.get(scope), now.layers.given.get(scope)  # type: ignore[call-overload]
        if (None if old is None else old.data) != (None if new is None else new.data):
            path: Path | None = (new or old).path
            yield ConfigChange(session_id=session_id, source=name, path="" if path is None else str(path))
