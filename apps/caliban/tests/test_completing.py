"""Which argument of a prompt, or variable of a template, is being typed."""

from __future__ import annotations

import pytest

from caliban.compose.servers.completing import template_place


@pytest.mark.parametrize(
    ("template", "typed", "expected"),
    [
        ("docs://{page}", "docs://ma", ("page", "ma", {}, "docs://", "", True)),
        ("docs://{page}", "docs://", ("page", "", {}, "docs://", "", True)),
        ("docs://{page}", "docs:/", None),
        ("a/{one}/b/{+two}/c", "a/x%20y/b/z/w", ("two", "z/w", {"one": "x y"}, "a/x%20y/b/", "/c", False)),
        ("a/{one}/b", "a/x/", ("one", "x/", {}, "a/", "/b", True)),
        ("a/{one}/b", "a/x/b", None),
        ("plain", "plain", None),
        ("a/{?q}", "a/", None),
        ("a/{one*}", "a/", None),
        ("{one}", "\u00e4%zz", ("one", "\u00e4%zz", {}, "", "", True)),
        ("a/{one", "a/", None),
    ],
)
def test_the_variable_that_is_being_typed_is_found(template, typed, expected) -> None:
    place = template_place(template, typed)
    parts = None
    if place is not None:
        parts = (place.name, place.value, dict(place.known), place.before, place.after, place.quotes)
    assert parts == expected
