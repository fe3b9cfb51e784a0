"""Whether a run would start now, and which model it would ask: the first row of `caliban doctor`."""

from __future__ import annotations

from msgspec import Struct

from caliban.cli.options import ExtensionOptions, PermissionOptions
from caliban.commands.report import report
from caliban.compose.access import roots_of
from caliban.compose.catalog import ProviderEntry, find_provider, provider_tables
from caliban.compose.choice import ModelInputs, choose_model, may_be_routed
from caliban.compose.keys import locate_key
from caliban.compose.permissions import resolve_mode
from caliban.compose.settings import check_unbuilt
from caliban_common.errors import CalibanError


class Readiness(Struct, frozen=True, kw_only=True):
    """What a run would use: its `providers`, the first of which is asked first, and the words for it.

    `problem` says why it would not start.
    """

    providers: tuple[str, ...]
    words: str
    problem: str | None = None


def look_at_run(inputs: ModelInputs) -> Readiness:
    """What a run with these inputs would ask, and what would keep it from it. No server is asked."""
    choice = choose_model(inputs.wanted, inputs.settings)
    try:
        check_unbuilt(inputs.settings, ExtensionOptions())
        resolve_mode(PermissionOptions(), inputs.settings)
        roots_of(inputs.settings, inputs.workspace)
        entries, model = _entries(inputs)
        words = [f"asks {entries[0].name} for {model}"]
        for entry in entries:
            place = locate_key(entry.name, entry.key_variables, inputs.settings, inputs.host.environ)
            if place is not None:
                words.append(f"the key of {entry.name} is from {place[1]}")
            elif entry.needs_key:
                problem = f"there is no API key for {entry.name}; caliban login {entry.name} stores one"
                return Readiness(providers=_names(entries), words=words[0], problem=problem)
    except CalibanError as error:
        problem = f"{error.message}; {error.hint}" if error.hint else error.message
        return Readiness(providers=(choice.provider,), words=f"asks {choice.provider}", problem=problem)
    return Readiness(providers=_names(entries), words="; ".join(words))


def _entries(inputs: ModelInputs) -> tuple[tuple[ProviderEntry, ...], str]:
    """The providers that a run can come to, and the model that it asks first. Raises as a run does."""
    if may_be_routed(inputs):
        from caliban.compose.routes import read_routing

        routing = read_routing(inputs, report)
        if routing.is_configured:
            first = routing.first
            entries = sorted(routing.entries(), key=lambda entry: entry.name != first.provider)
            return tuple(entries), first.model
    choice = choose_model(inputs.wanted, inputs.settings)
    entry = find_provider(choice.provider, provider_tables(inputs.settings)).at(inputs.options.base_url)
    entry.check()
    return (entry,), choice.model or entry.factory.default_model


def _names(entries: tuple[ProviderEntry, ...]) -> tuple[str, ...]:
    return tuple(entry.name for entry in entries)
