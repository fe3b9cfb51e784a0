"""The model of a run, from words to something that answers; it reads from top to bottom.

Flags, settings and session name a provider and a model (`choice`), or routes between several (`routes`); what
settings and files say of the providers and their factories are looked up once (`catalog`); each gets its key
(`keys`) and is made (`provider`), and metered; where there are routes, the router stands before them all
(`routed`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from caliban.compose.catalog import ProviderEntry, find_provider, provider_tables
from caliban.compose.choice import ModelInputs, choose_model, may_be_routed
from caliban.compose.costs import RunCosts
from caliban.compose.naming import naming
from caliban.compose.others import OtherModels
from caliban.compose.provider import make_provider
from caliban.compose.resolved import ResolvedModel
from caliban.compose.retired import tell_retirements
from caliban_agent_core.metered import MeteredProvider
from caliban_common.event import Warned
from caliban_drive.notice import Report
from caliban_provider.errors import UnknownProvider
from caliban_provider.provider import Provider

if TYPE_CHECKING:
    from caliban.compose.routes import Routing


def resolve_model(
    inputs: ModelInputs, costs: RunCosts, on_warning: Callable[[Warned], None], report: Report
) -> ResolvedModel:
    """The model behind a run: plain, or routed where routes, a fallback or overrides are configured.

    Each call of a model is asked for and settled with `costs`; `on_warning` is told what they have to say,
    and when another model answers. Raises `ConfigError` for routes that cannot work and for a missing key,
    `UnknownProvider` for a provider that is not there, else as `make_provider` does.
    """

    def metered(entry: ProviderEntry, provider: Provider) -> Provider:
        costs.know(entry.name, (provider.name, entry.table.get("base_url")))
        costs.describe(entry.name, entry.prices)
        return MeteredProvider(
            provider, costs, name=entry.name, on_warning=on_warning, on_error=naming(entry)
        )

    def others(own: str) -> OtherModels:
        tables = provider_tables(inputs.settings)
        return OtherModels(own, tables, lambda entry: metered(entry, make_provider(entry, inputs, report)))

    try:
        routing = _routing(inputs, report)
        if routing is None:
            entry, resolved = _plain(inputs, report)
            tell_retirements([(resolved.provider, resolved.model)], report)
            return replace(resolved, provider=metered(entry, resolved.provider), others=others(entry.name))
        from caliban.compose.routed import RouterContext, routed_model

        providers = {
            entry.name: metered(entry, make_provider(entry, inputs, report)) for entry in routing.entries()
        }
        routes = dict.fromkeys((route.provider, route.model) for route in routing.reachable.routes)
        tell_retirements([(providers[name], model) for name, model in routes], report)
        host = inputs.host
        context = RouterContext(costs=costs, on_warning=on_warning, environ=host.environ, masker=host.masker)
        resolved = routed_model(routing, providers, context)
        return replace(resolved, others=others(resolved.name))
    except UnknownProvider as error:
        raise _gone(error, inputs) from error


def plain_model(inputs: ModelInputs, report: Report) -> ResolvedModel:
    """The model that flags and settings name, whatever routes there are; nothing is metered.

    Raises as `resolve_model` does.
    """
    return _plain(inputs, report)[1]


def _plain(inputs: ModelInputs, report: Report) -> tuple[ProviderEntry, ResolvedModel]:
    choice = choose_model(inputs.wanted, inputs.settings)
    entry = find_provider(choice.provider, provider_tables(inputs.settings)).at(inputs.options.base_url)
    return entry, ResolvedModel(
        provider=make_provider(entry, inputs, report, explicit=choice.is_explicit),
        model=choice.model or entry.default_model,
        name=entry.name,
        base_url=entry.table.get("base_url"),
    )


def _routing(inputs: ModelInputs, report: Report) -> Routing | None:
    """The routes, where anybody asked for more than one model."""
    if not may_be_routed(inputs):
        return None
    from caliban.compose.routes import read_routing

    routing = read_routing(inputs, report)
    return routing if routing.is_configured else None


def _gone(error: UnknownProvider, inputs: ModelInputs) -> UnknownProvider:
    """`error`, in words that fit where nobody but the session named the provider."""
    session = inputs.session
    if session is None or session.provider is None or inputs.options.provider is not None:
        return error
    return UnknownProvider(
        f"the session {session.session_id!r} was with the provider {session.provider!r}, "
        "which is not there any more",
        hint=f"go on with another one by --provider NAME. {error.hint or ''}".strip(),
    )
