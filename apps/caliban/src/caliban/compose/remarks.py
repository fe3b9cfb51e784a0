"""What a person is told when a run opens: what does nothing, what does less, and in which mode it goes on."""

from __future__ import annotations

from collections.abc import Iterable

from caliban.cli.options import Options
from caliban.cli.variables import about_variables
from caliban.compose.host import Host
from caliban.compose.permissions import Permissions
from caliban.compose.resolved import ResolvedModel
from caliban.compose.session import SavedSession
from caliban.compose.settings import check_unbuilt
from caliban_drive.notice import Notice, Report
from caliban_provider.request import nearest_effort
from caliban_settings import Settings

PLANNING = Notice(
    subtype="plan_mode",
    message="the session is in plan mode: it only reads",
    hint="--permission-mode acceptEdits carries the plan out",
)


def say_warnings(
    options: Options, settings: Settings, host: Host, saved: SavedSession, report: Report
) -> None:
    """Name what somebody asked for in vain. Raises `ConfigError` for what guards a run."""
    in_vain = check_unbuilt(settings, options.extensions)
    warnings = (*about_variables(host.environ), *settings.warnings, *in_vain, *saved.warnings)
    say_all(warnings, "warning", report)


def say_planning(saved: SavedSession, permissions: Permissions, report: Report) -> None:
    """Tell of a session that was left in plan mode and goes on in it."""
    if saved.plan_mode and permissions.plan_mode:
        report(PLANNING)


def say_all(warnings: Iterable[str], subtype: str, report: Report) -> None:
    """Report each of `warnings` as a notice of one subtype."""
    for warning in warnings:
        report(Notice(subtype=subtype, message=warning))


def say_what_is_left_out(settings: Settings, model: ResolvedModel, report: Report) -> None:
    """Name what was asked for and the model cannot do."""
    effort = settings.get("effort")
    able = model.provider.capabilities(model.model)
    if effort in (None, "auto"):
        return
    if able.efforts is None:
        nearest = effort if able.thinking else None
    else:
        nearest = nearest_effort(effort, able.efforts)
    if nearest is None:
        message = f"{model.model} is not known to take an effort; the setting `effort` may do nothing"
        report(Notice(subtype="no_effort", message=message))
    elif nearest != effort:
        message = f"{model.model} takes no effort {effort}; it is asked for {nearest}"
        report(Notice(subtype="lower_effort", message=message))
