"""The routes of a run: where they come from, what flags make of them, and what is told on the way."""

import pytest

from caliban.compose.project import ALLOWED
from caliban.compose.routes import read_routing
from caliban.errors import ConfigError
from caliban_drive.notice import Notice

ROUTES = """\
[[router.route]]
id = "first"
purpose = "main_loop"
provider = "anthropic"
model = "claude-opus-4-7"
fallback = ["second"]

[[router.route]]
id = "second"
purpose = "main_loop"
provider = "mine"
model = "some-model"

[[router.route]]
id = "third"
purpose = "embedding"
provider = "google"
model = "of-no-use"

[provider.mine]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "routes.toml"
    path.write_text(ROUTES)
    return path


def labels(routing):
    return [route.label for route in routing.config.routes]


def test_without_routes_there_is_one_for_the_model_of_flags_and_settings(inputs, notices):
    routing = read_routing(inputs('model = "claude-haiku-4-5"\n'), notices.append)
    assert (labels(routing), routing.is_configured) == (["anthropic/claude-haiku-4-5"], False)
    assert notices == []


def test_a_file_describes_its_providers_above_settings_and_only_what_can_be_reached_is_looked_up(
    inputs, file, notices
):
    table = '[provider.mine]\napi_key_env = "MINE"\nbase_url = "http://127.0.0.1:1/v1"\n'
    routing = read_routing(inputs(table, config=str(file), base_url="http://127.0.0.1:7"), notices.append)
    anthropic, mine = routing.entries()
    assert (routing.source, routing.is_configured) == (str(file), True)
    assert (anthropic.name, anthropic.base_url({})) == ("anthropic", "http://127.0.0.1:7")
    assert (mine.name, mine.factory.name, mine.base_url({}), mine.key_variables) == (
        "mine",
        "openai",
        "http://127.0.0.1:9/v1",
        ("MINE",),
    )


def test_the_model_of_a_flag_is_asked_first_and_another_provider_sets_all_routes_aside(inputs, file, notices):
    pinned = read_routing(inputs(config=str(file), model="mine"), notices.append)
    aside = read_routing(inputs(config=str(file), provider="ollama", model="other"), notices.append)
    assert labels(pinned) == ["anthropic/mine", "mine/some-model", "google/of-no-use"]
    assert labels(aside) == ["ollama/other"]


@pytest.mark.parametrize(
    ("said", "flags", "expected"),
    [
        ("", {"fallback_model": "other"}, "anthropic/other"),
        ('fallback_model = "other"\n', {}, "anthropic/other"),
        ('[fallback_model]\nprovider = "ollama"\nname = "other"\n', {}, "ollama/other"),
        ('fallback_model = "of-settings"\n', {"fallback_model": "other"}, "anthropic/other"),
    ],
)
def test_a_fallback_is_the_last_route(inputs, notices, said, flags, expected):
    routing = read_routing(inputs(said, **flags), notices.append)
    assert (labels(routing)[1:], routing.is_configured) == ([expected], True)


def test_the_fallback_of_settings_is_for_their_own_provider_only(inputs, notices):
    routing = read_routing(inputs('fallback_model = "other"\n', provider="ollama"), notices.append)
    assert [route.provider for route in routing.config.routes] == ["ollama"]


def test_an_override_names_another_model(inputs, notices):
    routing = read_routing(inputs('[model_overrides]\nmain_loop = "other"\n'), notices.append)
    assert (labels(routing), routing.is_configured) == (["anthropic/other"], True)


def test_the_routes_of_a_project_count_where_it_is_trusted_and_are_named_where_not(inputs, work, notices):
    path = work / "caliban.toml"
    path.write_text(ROUTES)
    assert not read_routing(inputs(), notices.append).is_configured
    assert notices == [Notice(subtype="untrusted_router_file", message=f"{path} is not used {ALLOWED}")]
    assert read_routing(inputs(trusted=True), notices.append).source == str(path)


def test_a_variable_that_names_no_file_is_told(inputs, notices):
    environ = {"CALIBAN_ROUTER_CONFIG": "/nowhere/routes.toml"}
    read_routing(inputs(environ=environ), notices.append)
    message = "CALIBAN_ROUTER_CONFIG names no file: /nowhere/routes.toml"
    assert notices == [Notice(subtype="no_router_file", message=message)]


def test_an_error_in_a_file_names_it(inputs, file, notices):
    file.write_text(ROUTES.replace('"mine"', '"nobody"', 1))
    with pytest.raises(ConfigError, match=r"routes\.toml: no provider is called 'nobody'"):
        read_routing(inputs(config=str(file)), notices.append)
