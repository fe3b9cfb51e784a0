"""The routes that a project's file says, as far as a project may say them (security.md TM5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from caliban.compose.catalog import BUILTIN, EXTRAS, find_provider
from caliban.compose.presets import PRESETS
from caliban.compose.supplied import ProjectFile
from caliban_common.text import one_line
from caliban_drive.notice import Notice, Report
from caliban_model_router import ProviderTable, RouterConfig, parse_config
from caliban_provider.errors import UnknownProvider


def routes_of_project(file: ProjectFile, is_confirmed: bool, report: Report) -> RouterConfig | None:
    """The routes in a trusted project's `file`; `None` where it has none. Raises `RouterConfigError`.

    Where a provider is, and what is sent to it beside prompts, counts only where a person has seen just that:
    a flag that trusts a project unseen is not enough. The variable of a key must be one that providers have
    in any case, or any secret of the environment could be sent as one.
    """
    config = parse_config(file.data, file.path, left_out=say_left_out(file.path, report))
    if config is None:
        return None
    left_out: list[str] = []
    providers = tuple(_restrained(table, is_confirmed, left_out) for table in config.providers)
    if left_out:
        why = (
            "a project may name the usual variables of keys only"
            if is_confirmed
            else "where providers are counts once it was shown and confirmed: caliban trust add"
        )
        message = f"{file.path}: {', '.join(left_out)}: no effect; {why}"
        report(Notice(subtype="withheld_provider", message=message))
    return replace(config, providers=providers)


def say_left_out(path: Path, report: Report) -> Callable[[tuple[str, ...]], None]:
    """What names the tables of the file `path` that are not the router's: they do nothing there."""

    def say(names: tuple[str, ...]) -> None:
        tables = ", ".join(f"[{one_line(name)[:40]}]" for name in names[:5])
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        message = f"{path}: only [router] and [provider] are read there, not {tables}{more}"
        hint = "what else there is to configure stands in settings.toml"
        report(Notice(subtype="not_of_the_router", message=message, hint=hint))

    return say


def _restrained(table: ProviderTable, is_confirmed: bool, left_out: list[str]) -> ProviderTable:
    names = tuple(_refused(table, is_confirmed))
    left_out += (f"`provider.{table.name}.{name}`" for name in names)
    empty = ProviderTable(name=table.name)
    return replace(table, **{name: getattr(empty, name) for name in names})


def _refused(table: ProviderTable, is_confirmed: bool) -> Iterator[str]:
    for name in ("base_url", "api_key_env", "headers", "options"):
        if not is_confirmed and getattr(table, name):
            yield name
    if is_confirmed and table.api_key_env is not None and table.api_key_env not in _usual_variables():
        yield "api_key_env"


def _usual_variables() -> set[str]:
    """The variables in which providers have their keys."""
    usual: set[str] = set()
    for name in (*BUILTIN, *EXTRAS, *PRESETS):
        try:
            usual.update(find_provider(name, {}).key_variables)
        except UnknownProvider:
            continue  # its extra is not installed
    return usual
