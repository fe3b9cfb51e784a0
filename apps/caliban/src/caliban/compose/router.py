"""The provider behind a run: one, or several with routes between them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts
from caliban.compose.provider import ResolvedModel, build_provider
from caliban_agent_core.metered import MeteredProvider
from caliban_common.event import Warned
from caliban_common.paths import config_dir
from caliban_drive.notice import Report
from caliban_provider.provider import Provider

FILE_NAME = "caliban.toml"
VARIABLE = "CALIBAN_ROUTER_CONFIG"
SETTINGS = ("router", "fallback_model", "model_overrides")


def resolve_model(
    inputs: ModelInputs, costs: RunCosts, on_warning: Callable[[Warned], None], report: Report
) -> ResolvedModel:
    """The provider behind a run: plain, or routed where routes, a fallback or overrides are configured.

    Each call of a model is asked for and settled with `costs`; `on_warning` is told what they have to say,
    and when another model answers. Raises `ConfigError` for routes that cannot work, else as
    `build_provider` does.
    """

    def metered(name: str, provider: Provider, base_url: str | None) -> Provider:
        costs.know(name, (provider.name, base_url))
        return MeteredProvider(provider, costs, name=name, on_warning=on_warning)

    if _may_be_routed(inputs):
        from caliban.compose.routed import RouterContext, routed_model
        from caliban.compose.routes import read_routing

        routing = read_routing(inputs, report)
        if routing.is_configured:
            surroundings = RouterContext(
                wrap=metered, costs=costs, on_warning=on_warning, base_url=inputs.options.base_url
            )
            return routed_model(routing, inputs, surroundings, report)
    resolved = build_provider(inputs, report)
    return replace(resolved, provider=metered(resolved.name, resolved.provider, resolved.base_url))


def _may_be_routed(inputs: ModelInputs) -> bool:
    """Whether the router has to be loaded to know: without it, a run starts sooner."""
    if inputs.options.config or inputs.options.fallback_model or inputs.environ.get(VARIABLE):
        return True
    if any(inputs.settings.get(key) for key in SETTINGS):
        return True
    folders = () if inputs.sources.bare else (inputs.workspace, *inputs.workspace.parents, config_dir())
    return any((folder / FILE_NAME).is_file() for folder in folders)
