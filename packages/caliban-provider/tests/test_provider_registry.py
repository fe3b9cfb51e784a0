from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from caliban_provider.errors import AuthenticationError, UnknownProvider
from caliban_provider.provider import ProviderOptions
from caliban_provider.registry import connect, find, first_set, names

FACTORY = """
class Factory:
    name = {name!r}
    default_model = "m"
    needs_key = False
    key_env = ()
    base_url_env = ()
    def create(self, options):
        return options
FACTORY = Factory()
class Space:
    FACTORY = FACTORY
"""


@dataclass(frozen=True)
class Site:
    """A directory of packages on the path of this interpreter."""

    root: Path

    def module(self, name: str, source: str) -> None:
        (self.root / f"{name}.py").write_text(source)

    def distribution(self, name: str, **entries: str) -> None:
        folder = self.root / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{entry} = {value}" for entry, value in entries.items()]
        (folder / "entry_points.txt").write_text("[caliban.providers]\n" + "\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    before = set(sys.modules)
    sys.path.insert(0, str(tmp_path))
    try:
        yield Site(tmp_path)
    finally:
        sys.path.remove(str(tmp_path))
        for name in set(sys.modules) - before:
            del sys.modules[name]


def test_a_provider_of_the_table_is_found_without_entry_points(site: Site) -> None:
    site.module("table_home", FACTORY.format(name="home"))
    factory = find("home", {"home": "table_home:FACTORY", "other": "no_such_module:X"})
    assert factory.name == "home"


def test_an_installed_provider_is_found_and_only_that_one_loaded(site: Site) -> None:
    site.module("third_party", FACTORY.format(name="third"))
    site.module("third_broken", "raise RuntimeError('boom')")
    site.distribution("caliban-provider-third", third="third_party:Space.FACTORY")
    site.distribution("caliban-provider-broken", broken="third_broken:X")
    assert find("third", {}).name == "third"
    assert "third_broken" not in sys.modules


def test_the_table_wins_over_an_installed_provider_of_the_same_name(site: Site) -> None:
    site.module("ours", FACTORY.format(name="ours"))
    site.module("theirs", FACTORY.format(name="theirs"))
    site.distribution("caliban-provider-impostor", home="theirs:FACTORY")
    assert find("home", {"home": "ours:FACTORY"}).name == "ours"


def test_names_are_those_of_both_and_import_nothing(site: Site) -> None:
    site.distribution("caliban-provider-third", third="third_never:X", home="third_never:Y")
    known = names({"home": "ours:FACTORY", "attic": "ours:FACTORY"})
    assert set(known) >= {"attic", "home", "third"} and list(known) == sorted(set(known))
    assert "third_never" not in sys.modules


def test_an_unknown_name_is_told_with_the_names_there_are(site: Site) -> None:
    with pytest.raises(UnknownProvider) as raised:
        find("nobody", {"home": "ours:FACTORY", "attic": "ours:FACTORY"})
    assert raised.value.message == "no provider is called 'nobody'"
    assert raised.value.hint == f"installed are: {', '.join(names({'home': '', 'attic': ''}))}"


@pytest.mark.parametrize(
    ("source", "reference", "why"),
    [
        ("raise RuntimeError('boom\\nbang')", "broken_one:FACTORY", "RuntimeError: boom bang"),
        ("import no_such_dependency", "broken_one:FACTORY", "No module named 'no_such_dependency'"),
        ("x = (", "broken_one:FACTORY", "SyntaxError"),
        ("", "broken_one:FACTORY", "has no attribute 'FACTORY'"),
        ("", "no_such_module_at_all:FACTORY", "No module named 'no_such_module_at_all'"),
        ("", "broken_one", "has no attribute ''"),
        ("", ":", "ValueError"),
        ("FACTORY = 7", "broken_one:FACTORY", "not a provider factory: it has no name, default_model"),
        (
            "class FACTORY:\n name = 'x'\n create = 1",
            "broken_one:FACTORY",
            "it has no default_model, needs_key",
        ),
    ],
)
def test_a_broken_provider_is_told_with_its_cause(site: Site, source: str, reference: str, why: str) -> None:
    site.module("broken_one", source)
    with pytest.raises(UnknownProvider) as raised:
        find("broken", {"broken": reference})
    assert raised.value.message.startswith(f"the provider 'broken' ({reference}) does not load: ")
    assert why in raised.value.message and raised.value.message.isprintable()
    assert raised.value.hint == "reinstall or remove the package that offers it"


KEYED = FACTORY.replace("needs_key = False", "needs_key = True").replace(
    "key_env = ()\n    base_url_env = ()", "key_env = ('KEY_A', 'KEY_B')\n    base_url_env = ('URL_A',)"
)


def test_a_provider_is_connected_with_what_the_environment_holds(site: Site) -> None:
    site.module("third_keyed", KEYED.format(name="keyed"))
    site.distribution("caliban-provider-keyed", keyed="third_keyed:FACTORY")
    made = connect("keyed", environ={"KEY_A": "", "KEY_B": "secret", "URL_A": "http://x"})
    assert made == ProviderOptions(api_key="secret", base_url="http://x")
    assert connect("keyed", environ={"KEY_A": "a", "KEY_B": "b"}) == ProviderOptions(api_key="a")


def test_a_missing_key_is_told_before_the_first_call(site: Site) -> None:
    site.module("third_keyed", KEYED.format(name="keyed"))
    site.distribution("caliban-provider-keyed", keyed="third_keyed:FACTORY")
    with pytest.raises(AuthenticationError) as raised:
        connect("keyed", environ={})
    assert (raised.value.message, raised.value.hint) == (
        "there is no API key for keyed",
        "set the environment variable KEY_A",
    )


def test_the_first_variable_that_is_set_counts() -> None:
    assert first_set({"A": "", "B": "b", "C": "c"}, ("A", "B", "C")) == "b"
    assert first_set({}, ("A",)) is None
