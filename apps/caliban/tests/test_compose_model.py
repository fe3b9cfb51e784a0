"""From names to a model that answers: keys, addresses, faults of a package, and who is metered."""

import anyio
import pytest

from caliban.compose.catalog import ProviderEntry, find_provider
from caliban.compose.choice import SessionModel
from caliban.compose.costs import RunCosts
from caliban.compose.model import plain_model, resolve_model
from caliban.compose.provider import close_provider, make_provider
from caliban.errors import ConfigError, MissingKey
from caliban_agent_core.metered import MeteredProvider
from caliban_drive.notice import Notice
from caliban_provider.errors import ProviderError, UnknownProvider
from caliban_provider.testing.scripted import ScriptedProvider

HOUSE = """\
[provider.house]
kind = "anthropic"
base_url = "http://127.0.0.1:9"

[model]
provider = "house"
name = "m"
"""
KEY = {"ANTHROPIC_API_KEY": "k", "FAKE_KEY": "k"}


class FakeFactory:
    """Makes scripted providers, and remembers with what."""

    name = "fake"
    default_model = "fake-1"
    needs_key = True
    key_env = ("FAKE_KEY",)
    base_url_env = ("FAKE_URL",)

    def __init__(self, make=lambda: ScriptedProvider(name="fake")):
        self.made = []
        self._make = make

    def create(self, options):
        self.made.append(options)
        return self._make()


def entry(factory, **table):
    return ProviderEntry(name="fake", table=table, factory=factory)


def test_a_provider_is_made_with_its_key_address_headers_and_options(inputs, notices):
    factory = FakeFactory()
    table = {"base_url": "http://of.settings", "headers": {"x-a": "b"}, "options": {"n": 3, "on": True}}
    make_provider(entry(factory, **table), inputs(environ=KEY), notices.append)
    (options,) = factory.made
    assert (options.api_key, options.base_url) == ("k", "http://of.settings")
    assert (options.headers, options.extra) == ({"x-a": "b"}, {"n": "3", "on": "true"})
    options.on_status("it loads")
    assert notices == [Notice(subtype="status", message="it loads")]


@pytest.mark.parametrize(
    ("table", "flag", "expected"),
    [
        ({}, None, "http://env"),
        ({"base_url": "http://table"}, None, "http://env"),
        ({"base_url": "http://table", "kind": "fake"}, None, "http://table"),
        ({"base_url": "http://table"}, "http://flag", "http://flag"),
    ],
)
def test_an_address_is_that_of_the_flag_of_an_endpoint_of_its_own_or_of_the_environment(
    table, flag, expected
):
    assert entry(FakeFactory(), **table).at(flag).base_url({"FAKE_URL": "http://env"}) == expected


def test_a_missing_key_is_told_with_the_ways_to_one(inputs, notices):
    with pytest.raises(MissingKey) as caught:
        make_provider(entry(FakeFactory()), inputs(), notices.append, explicit=False)
    assert caught.value.message == "there is no API key for fake"
    assert caught.value.hint == (
        "export FAKE_KEY=…, or keep it: caliban login fake, or choose another --provider"
    )


def test_an_endpoint_of_its_own_on_this_machine_needs_no_key(inputs, notices):
    factory = FakeFactory()
    here = entry(factory, kind="fake", base_url="http://127.0.0.1:9/v1")
    make_provider(here, inputs(), notices.append)
    assert [options.api_key for options in factory.made] == [None]


@pytest.mark.parametrize("table", [{"base_url": " "}, {"headers": {"content-length": "1"}}])
def test_a_table_of_which_nothing_good_comes_is_refused_before_a_key_goes_anywhere(inputs, notices, table):
    factory = FakeFactory()
    with pytest.raises(ConfigError, match=r"\[provider\.fake"):
        make_provider(entry(factory, **table), inputs(environ=KEY), notices.append)
    assert factory.made == []


def test_a_package_that_fails_or_makes_something_else_is_named(inputs, notices):
    def fail():
        raise RuntimeError("broken inside")

    for make, why in ((fail, "cannot be made: RuntimeError: broken inside"), (object, "is none: it has no")):
        with pytest.raises(ProviderError, match=f"'fake' {why}"):
            make_provider(entry(FakeFactory(make)), inputs(environ=KEY), notices.append)


def test_a_provider_that_cannot_be_closed_is_reported(notices):
    class Stuck(ScriptedProvider):
        async def aclose(self):
            raise OSError("it is stuck")

    anyio.run(close_provider, Stuck(), notices.append)
    message = "the provider could not be closed: OSError: it is stuck"
    assert notices == [Notice(subtype="close_failed", message=message)]


def test_a_plain_model_is_metered_under_the_name_that_the_operator_gives(inputs, notices):
    table = (
        '[provider.house]\nkind = "anthropic"\nbase_url = "http://127.0.0.1:9"\n[model]\nprovider = "house"\n'
    )
    given = inputs(table + 'name = "m"\n', environ=KEY)
    resolved = resolve_model(given, RunCosts(), notices.append, notices.append)
    assert (resolved.name, resolved.model, resolved.base_url) == ("house", "m", "http://127.0.0.1:9")
    assert isinstance(resolved.provider, MeteredProvider)
    assert not isinstance(plain_model(given, notices.append).provider, MeteredProvider)


def test_routes_stand_before_all_providers_that_a_run_can_come_to(inputs, notices):
    given = inputs(environ=KEY, fallback_model="claude-haiku-4-5", model="claude-opus-4-7")
    resolved = resolve_model(given, RunCosts(), notices.append, notices.append)
    assert (resolved.name, resolved.model) == ("anthropic", "claude-opus-4-7")
    assert [route.model for route in resolved.provider.config.routes] == [
        "claude-opus-4-7",
        "claude-haiku-4-5",
    ]


def test_a_provider_that_only_the_session_names_and_that_is_gone_is_told_so(inputs, notices):
    session = SessionModel(session_id="old", provider="gone", model="m")
    with pytest.raises(UnknownProvider, match="the session 'old' was with the provider 'gone'"):
        resolve_model(inputs(session=session), RunCosts(), notices.append, notices.append)


def test_an_option_that_the_provider_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="no option 'speed'"):
        find_provider("anthropic", {"anthropic": {"options": {"speed": "high"}}})
