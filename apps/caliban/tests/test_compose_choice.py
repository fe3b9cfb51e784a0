"""Which provider and model are asked for, by who says so."""

import pytest

from caliban.cli.parser import parse
from caliban.compose.choice import ModelChoice, SessionModel, choose_model, may_be_routed

BOTH = '[model]\nprovider = "openai"\nname = "theirs"\n'
ALONE = 'model = "claude-haiku-4-5"\n'
OLD = SessionModel(session_id="s", provider="google", model="gemini-old")


def choice(provider, model, explicit=True):
    return ModelChoice(provider=provider, model=model, is_explicit=explicit)


@pytest.mark.parametrize(
    ("said", "flags", "session", "expected"),
    [
        ("", {}, None, choice("anthropic", None, explicit=False)),
        ("", {"model": "mine"}, None, choice("anthropic", "mine", explicit=False)),
        ("", {"provider": "ollama"}, None, choice("ollama", None)),
        (ALONE, {}, None, choice("anthropic", "claude-haiku-4-5", explicit=False)),
        (ALONE, {"provider": "anthropic"}, None, choice("anthropic", "claude-haiku-4-5")),
        (ALONE, {"provider": "openai"}, None, choice("openai", None)),
        (BOTH, {}, None, choice("openai", "theirs")),
        (BOTH, {"model": "mine"}, None, choice("openai", "mine")),
        (BOTH, {"provider": "ollama"}, None, choice("ollama", None)),
        (BOTH, {}, OLD, choice("google", "gemini-old")),
        (BOTH, {"model": "mine"}, OLD, choice("google", "mine")),
        (BOTH, {"provider": "google"}, OLD, choice("google", "gemini-old")),
        (BOTH, {"provider": "ollama"}, OLD, choice("ollama", None)),
    ],
)
def test_a_flag_comes_before_the_session_the_session_before_settings_and_these_before_the_default(
    inputs, said, flags, session, expected
):
    given = inputs(said, session=session, **flags)
    assert choose_model(given.wanted, given.settings) == expected


def test_the_provider_of_the_environment_comes_before_that_of_the_flag():
    environ = {"CALIBAN_PROVIDER": "ollama"}
    assert parse(["--provider", "openai", "hi"], environ).model.provider == "ollama"


@pytest.mark.parametrize(
    ("said", "environ", "flags"),
    [
        ("", {}, {"config": "routes.toml"}),
        ("", {}, {"fallback_model": "other"}),
        ("", {"CALIBAN_ROUTER_CONFIG": "routes.toml"}, {}),
        ('fallback_model = "other"\n', {}, {}),
        ('[model_overrides]\nmain_loop = "other"\n', {}, {}),
    ],
)
def test_the_router_is_loaded_where_somebody_names_routes(inputs, said, environ, flags):
    assert may_be_routed(inputs(said, environ=environ, **flags))


def test_the_router_is_loaded_for_a_file_of_its_name_only(inputs, work):
    assert not may_be_routed(inputs(BOTH))
    (work / "caliban.toml").write_text("")
    assert may_be_routed(inputs(BOTH))
