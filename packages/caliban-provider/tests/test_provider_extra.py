"""What a factory says of its options, and how their values are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from caliban_provider.errors import InvalidRequest
from caliban_provider.options import LINE, VERSION, declared, matching, one_of, refuse_unknown, under
from caliban_provider.provider import Provider, ProviderOptions


@dataclass(frozen=True, kw_only=True)
class Silent:
    """A factory that says nothing of options."""

    name: str = "toy"
    default_model: str = "toy-1"
    needs_key: bool = False
    key_env: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = ()

    def create(self, options: ProviderOptions) -> Provider:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Declaring(Silent):
    options: Mapping[str, str] = field(default_factory=lambda: {"region": "where", "project": "whose"})

    def under(self, extra: Mapping[str, str]) -> Declaring:
        return replace(self, key_env=(extra.get("project", ""),))


def test_a_factory_without_the_member_takes_any_option() -> None:
    assert declared(Silent()) is None
    refuse_unknown(Silent(), {"anything": "x"})


def test_a_member_that_is_no_mapping_says_nothing() -> None:
    assert declared(Declaring(options=("region",))) is None  # type: ignore[arg-type]


def test_an_unknown_option_is_refused_with_those_there_are_and_one_that_is_near() -> None:
    refuse_unknown(Declaring(), {"region": "x", "project": "y"})
    with pytest.raises(InvalidRequest) as caught:
        refuse_unknown(Declaring(), {"region": "x", "regin": "y"})
    assert caught.value.message == "the provider toy has no option 'regin'; it has project, region"
    assert caught.value.hint == "did you mean region?"
    with pytest.raises(InvalidRequest) as caught:
        refuse_unknown(Declaring(options={}), {"weather": "y"})
    assert (caught.value.message, caught.value.hint) == (
        "the provider toy has no option 'weather'; it has none",
        None,
    )


def test_facts_may_depend_on_options() -> None:
    assert under(Declaring(), {"project": "p"}).key_env == ("p",)
    assert under(Declaring(), {}) == Declaring()
    assert under(Silent(), {"project": "p"}) == Silent()


def test_one_of_gives_a_choice_or_nothing() -> None:
    assert one_of({"auth": " bearer "}, "auth", ("bearer", "plain")) == "bearer"
    assert one_of({"auth": ""}, "auth", ("bearer",)) is one_of({}, "auth", ("bearer",)) is None
    with pytest.raises(InvalidRequest, match=r"^the option auth is bearer or plain, not 'Bearer'$"):
        one_of({"auth": "Bearer"}, "auth", ("bearer", "plain"))


@pytest.mark.parametrize(
    ("pattern", "fine", "wrong"),
    [
        (VERSION, ("2023-06-01", "v1", "2025-04-01-preview"), ("a b", "a/b", "a\nb", "é", "-a")),
        (LINE, ("a", "one,two", "a b"), ("a\nb", "a\r\nx: y", "é", "\x00")),
    ],
)
def test_a_value_matches_wholly(pattern: str, fine: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    for value in fine:
        assert matching({"x": f" {value} "}, "x", pattern, what="so") == value
    assert matching({"x": " "}, "x", pattern, what="so") is None
    for value in wrong:
        with pytest.raises(InvalidRequest, match=r"^the option x is so, not "):
            matching({"x": value}, "x", pattern, what="so")


def test_a_long_value_is_shown_short() -> None:
    with pytest.raises(InvalidRequest) as caught:
        matching({"x": "y" * 1000}, "x", VERSION, what="so")
    assert len(caught.value.message) < 80


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"api_key": b"k"}, TypeError, "api_key takes a text, not bytes"),
        ({"base_url": 5}, TypeError, "base_url takes a text, not int"),
        ({"headers": [("a", "b")]}, TypeError, "headers takes texts by their names"),
        ({"headers": {"a": 5}}, TypeError, "headers takes texts by their names"),
        ({"extra": {"num_ctx": 5}}, TypeError, "extra takes texts by their names"),
        ({"idle_s": "5"}, TypeError, "idle_s takes a number of seconds, not str"),
        ({"connect_s": None}, TypeError, "connect_s takes a number of seconds, not NoneType"),
        ({"first_byte_s": 0}, ValueError, "first_byte_s takes seconds above 0, not 0"),
        ({"idle_s": float("nan")}, ValueError, "idle_s takes seconds above 0, not nan"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(
    given: dict[str, object], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        ProviderOptions(**given)  # type: ignore[arg-type]
