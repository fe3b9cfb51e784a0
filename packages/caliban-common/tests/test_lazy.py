"""What is made when it is first asked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.lazy import cached_property, lazy_pattern


class TestAPattern:
    @given(text=st.text(alphabet="ab1 -", max_size=12))
    def test_answers_as_a_compiled_one(self, text: str) -> None:
        lazy, plain = (
            lazy_pattern("([a-b]+)|[0-9]", re.IGNORECASE),
            re.compile("([a-b]+)|[0-9]", re.IGNORECASE),
        )
        for _ in range(2):
            assert lazy.findall(text) == plain.findall(text)
            assert lazy.sub("x", text) == plain.sub("x", text)
            assert (lazy.match(text) is None) == (plain.match(text) is None)
        assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)

    def test_compiles_nothing_before_its_first_use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compiled: list[str] = []
        real = re.compile
        monkeypatch.setattr(re, "compile", lambda text, flags=0: compiled.append(text) or real(text, flags))
        pattern = lazy_pattern("a+")
        assert compiled == []
        assert pattern.fullmatch("aaa") and pattern.fullmatch("b") is None
        assert compiled == ["a+"]

    def test_says_what_is_wrong_with_it_when_it_is_used(self) -> None:
        broken = lazy_pattern("(")
        with pytest.raises(re.error):
            broken.match("x")

    def test_has_no_other_attributes_than_a_pattern(self) -> None:
        with pytest.raises(AttributeError):
            lazy_pattern("a").nothing  # type: ignore[attr-defined]  # noqa: B018


class Circle:
    def __init__(self) -> None:
        self.asked = 0

    @cached_property
    def area(self) -> int:
        """How large it is."""
        self.asked += 1
        return 7


def test_a_value_is_worked_out_once_per_object() -> None:
    one, other = Circle(), Circle()
    assert (one.area, one.area, one.asked, other.asked) == (7, 7, 1, 0)
    assert isinstance(Circle.area, cached_property)
    assert Circle.area.__doc__ == "How large it is."


def test_a_value_that_cannot_be_worked_out_is_asked_for_again() -> None:
    class Moody:
        tries = 0

        @cached_property
        def mood(self) -> str:
            self.tries += 1
            if self.tries == 1:
                raise ValueError("not now")
            return "good"

    moody = Moody()
    with pytest.raises(ValueError, match="not now"):
        moody.mood  # noqa: B018
    assert moody.mood == "good"
