"""Whether a name or a value is a credential is what all patterns together say, however it is found out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_process.environ import SECRET_NAMES, SECRET_VALUES, secret_variables

NAMES = re.compile("|".join(SECRET_NAMES), re.IGNORECASE)
VALUES = re.compile("|".join(SECRET_VALUES))
LETTERS = "AaEeKkSsTtHhPpRrCcDdYyWwOo_Nn0ſ\u212aİı-"


@pytest.mark.parametrize("pattern", SECRET_NAMES)
@given(data=st.data())
def test_each_pattern_of_names_is_looked_for(pattern: str, data: st.DataObject) -> None:
    name = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE)))
    assert secret_variables({name: ""}) == {name: ""}


@pytest.mark.parametrize("pattern", SECRET_VALUES[1:])
@given(data=st.data())
def test_each_pattern_of_values_is_looked_for(pattern: str, data: st.DataObject) -> None:
    value = data.draw(st.from_regex(re.compile(pattern)))
    assert secret_variables({"X": value}) == {"X": value}


@given(st.lists(st.sampled_from(("KEY", "BOARD", "MAP", "TOKEN", "IZER", "PASS", *LETTERS)), max_size=8))
def test_other_names_are_no_credentials(parts: list[str]) -> None:
    name = "".join(parts)
    assert (name in secret_variables({name: ""})) == bool(NAMES.search(name))


@pytest.mark.parametrize(
    "value", ["https://a:b@example.com", "a@b", "git@example.com:x", "x://:p@h", "x://a:p@[::1]:3", ""]
)
def test_an_address_is_a_credential_with_a_password_of_elsewhere(value: str) -> None:
    is_here = "[::1]" in value
    assert (secret_variables({"X": value}) != {}) == (bool(VALUES.search(value)) and not is_here)
