"""Where the key of a provider comes from."""

import pytest

from caliban.compose.keys import KeyHelper, find_key, locate_key
from caliban.compose.keystore import remove_key, write_key
from caliban.errors import ConfigError

NAMES = ("A_KEY", "B_KEY")
HELPERS = """\
[[api_key_helper]]
command = "for-all"

[[api_key_helper]]
command = "for-openai"
provider = "openai"
args = ["--of", "me"]
refreshIntervalMs = 5000
"""


def test_a_program_comes_before_the_environment_and_this_before_the_store(settings):
    write_key("openai", "stored")
    environ = {"B_KEY": "second", "A_KEY": ""}
    none, helpers = settings(), settings(HELPERS)
    key = find_key("openai", NAMES, helpers, environ)
    assert isinstance(key, KeyHelper)
    assert (key.command, key.ttl_ms) == (("for-openai", "--of", "me"), 5000)
    assert find_key("openai", NAMES, none, environ) == "second"
    assert find_key("openai", NAMES, none, {}) == "stored"
    assert remove_key("openai") != ()
    assert find_key("openai", NAMES, none, {}) is None


def test_the_place_is_told_in_the_same_order(settings):
    write_key("openai", "stored")
    environ, none = {"B_KEY": "second"}, settings()
    assert locate_key("openai", NAMES, settings(HELPERS), environ) == (
        "helper",
        "the program for-openai (api_key_helper)",
    )
    assert locate_key("openai", NAMES, none, environ) == ("environment", "the environment variable B_KEY")
    assert locate_key("openai", NAMES, none, {}) == ("stored", "the store of caliban login")
    assert locate_key("google", NAMES, none, {}) is None


@pytest.mark.parametrize(
    ("provider", "variables"), [("ollama", NAMES), ("google", ())], ids=["keyless", "no variables"]
)
def test_a_provider_that_runs_without_a_key_is_not_given_that_of_all(settings, provider, variables):
    assert find_key(provider, variables, settings(HELPERS), {}) is None


def test_the_environment_says_how_long_a_key_is_good_for(settings):
    key = find_key("openai", NAMES, settings(HELPERS), {"CALIBAN_API_KEY_HELPER_TTL_MS": "7"})
    assert isinstance(key, KeyHelper)
    assert key.ttl_ms == 7


def test_a_command_that_cannot_be_split_is_refused_before_anything_runs(settings):
    with pytest.raises(ConfigError, match="cannot be split into words"):
        find_key("openai", NAMES, settings("api_key_helper = 'get \"key'\n"), {})
