"""Which provider and model a run asks for, by name: nothing is loaded or looked at for it but words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from caliban.cli.options import ModelOptions, SettingsOptions
from caliban.compose.catalog import holds_slashes, is_provider, provider_tables
from caliban.compose.host import Host
from caliban.compose.project import Project
from caliban.compose.supplied import ROUTER_FILE
from caliban.errors import ConfigError
from caliban_common.paths import config_dir
from caliban_common.text import one_line
from caliban_settings import Settings

DEFAULT_PROVIDER: Final = "anthropic"
PATHS: Final = "local"
"""The provider whose models are paths: a slash in one is a directory's."""
ROUTER_VARIABLE: Final = "CALIBAN_ROUTER_CONFIG"
STRICT: Final = "CALIBAN_STRICT_ROUTING"
UNSET: Final = ("0", "false", "no", "off")
"""What the variable says to let a request with pictures go to a model that sees none."""
ROUTER_SETTINGS: Final = ("router", "fallback_model", "model_overrides")


class SessionModel(Struct, frozen=True, kw_only=True):
    """Who the session that goes on was with."""

    session_id: str
    provider: str | None = None
    model: str | None = None


class ModelInputs(Struct, frozen=True, kw_only=True):
    """Flags, settings, session and the host, and where routes may be written.

    `project` has those of the repository; `sources` say whether a file is looked for at all;
    `classifies` that a model is to judge calls.
    """

    options: ModelOptions = ModelOptions()
    settings: Settings
    host: Host
    workspace: Path
    sources: SettingsOptions = SettingsOptions()
    project: Project | None = None
    session: SessionModel | None = None
    classifies: bool = False

    @property
    def wanted(self) -> ModelOptions:
        """The flags; a session goes on with its provider and model unless they say otherwise."""
        session = self.session
        if session is None or self.options.provider not in (None, session.provider):
            return self.options
        return replace(self.options, provider=session.provider, model=self.options.model or session.model)


class ModelChoice(Struct, frozen=True, kw_only=True):
    """A provider and a model by name; without a `model` it is the provider's own default.

    `is_explicit` says that somebody named the provider.
    """

    provider: str
    model: str | None
    is_explicit: bool


def is_strict(environ: Mapping[str, str]) -> bool:
    """Whether a prompt with pictures is refused where no model sees them, instead of put into words."""
    return environ.get(STRICT, "").lower() not in UNSET


def choose_model(wanted: ModelOptions, settings: Settings) -> ModelChoice:
    """The choice by flag, then settings, then default.

    A model may be named with its provider before it, as `openrouter/anthropic/claude-opus-5`. A model that
    settings name belongs to the provider they name, which is the default one where they name none: with
    another provider by flag it does not count.
    """
    written: Any = settings.get("model")
    provider: str | None = written.get("provider") if isinstance(written, Mapping) else None
    model: str | None = written.get("name") if isinstance(written, Mapping) else written
    tables = provider_tables(settings)
    if provider is None:
        provider, model = split_model(model, None, tables)
    wanted = apart(wanted, provider, tables)
    if wanted.provider not in (None, provider or DEFAULT_PROVIDER):
        model = None
    named = wanted.provider or provider
    return ModelChoice(
        provider=named or DEFAULT_PROVIDER, model=wanted.model or model, is_explicit=named is not None
    )


def apart(wanted: ModelOptions, provider: str | None, tables: Mapping[str, Any]) -> ModelOptions:
    """`wanted` with provider and model apart; `provider` is asked where it names none.

    A flag of a provider decides: only its own name before a model is not the model's.
    """
    own = wanted.provider
    if own == PATHS:
        return wanted
    named, model = split_model(wanted.model, own or provider, tables)
    if named is None or own is None or own == named:
        return replace(wanted, provider=named or own, model=model)
    return wanted


def split_model(
    model: str | None, provider: str | None, tables: Mapping[str, Any]
) -> tuple[str | None, str | None]:
    """The provider that stands before a slash in `model`, if one does, and the model.

    The ids of some providers hold slashes: where such a `provider` is asked, a slash belongs to the id.
    Raises `ConfigError` for a provider without a model, and for what is no line of text.
    """
    if model is None:
        return None, None
    model = model.strip()
    if not model.isprintable():
        raise ConfigError(
            f"{one_line(model, max_chars=60)!r} is no name of a model", hint="write it as one line"
        )
    head, slash, rest = model.partition("/")
    if not slash or not is_provider(head, tables):
        return None, model
    if provider is not None and holds_slashes(provider, tables):
        return None, model
    if not rest:
        raise ConfigError(
            f"{model!r} names a provider and no model", hint=f"write {head}/MODEL, or --provider {head}"
        )
    return head, rest


def may_be_routed(inputs: ModelInputs) -> bool:
    """Whether the router has to be loaded to know: without it, a run starts sooner."""
    if inputs.options.config or inputs.options.fallback_model or inputs.host.environ.get(ROUTER_VARIABLE):
        return True
    if any(inputs.settings.get(key) for key in ROUTER_SETTINGS):
        return True
    if inputs.sources.bare:
        return False
    of_project = inputs.project is not None and inputs.project.files.router is not None
    return of_project or (config_dir() / ROUTER_FILE).is_file()
