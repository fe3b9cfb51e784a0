"""Path globs: what they match, and that no pattern makes them slow."""

from __future__ import annotations

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tools_builtin.errors import SearchFailed
from caliban_tools_builtin.search.globs import compiled, expand, plan

CASES = [
    ("*.py", "a.py", True),
    ("*.py", "d/a.py", False),
    ("**/*.py", "a.py", True),
    ("**/*.py", "d/e/a.py", True),
    ("**/*.py", "a.pyc", False),
    ("src/**", "src/a/b", True),
    ("src/**", "src", False),
    ("src/**/b.c", "src/b.c", True),
    ("src/**/b.c", "srcx/b.c", False),
    ("a/*/c", "a/b/c", True),
    ("a/*/c", "a/b/b/c", False),
    ("**/t/**/x", "a/t/x", True),
    ("**/t/**/x", "a/x", False),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[a-c].x", "b.x", True),
    ("[!a-c].x", "b.x", False),
    ("[]a].x", "].x", True),
    ("a[&&b]", "a&", True),
    ("*.{ts,tsx}", "a.tsx", True),
    ("{a,b/{c,d}}/*", "b/d/x", True),
    ("{a}", "{a}", True),
    ("\\*.x", "*.x", True),
    ("\\*.x", "a.x", False),
    ("a**b", "axxb", True),
    ("**", "a/b", True),
    ("*a*b*", "xaxbx", True),
    ("*ab", "aab", True),
    ("日*", "日本.md", True),
    ("a.c", "abc", False),
    ("(a+)+", "(a+)+", True),
]


MALFORMED = ["", "[", "a[b", "{a,b", "[!", "x" * 5000, "a\0b", "a\nb", "\ud800", "[z-a]", "[a/]x"]


@pytest.mark.parametrize(("pattern", "path", "matches"), CASES)
def test_a_glob_matches_what_it_says(pattern, path, matches):
    assert bool(compiled(pattern).fullmatch(path)) is matches


@pytest.mark.parametrize(
    "pattern", ["", "[", "a[b", "{a,b", "[!", "x" * 5000, "a\0b", "a\nb", "\ud800", "[z-a]"]
)
def test_a_malformed_glob_is_refused(pattern):
    with pytest.raises(SearchFailed, match="invalid pattern"):
        plan(pattern)
        compiled(pattern)


@pytest.mark.parametrize("pattern", ["{a,b}" * 20, "{a," * 500 + "b" + "}" * 500, "{" + "a," * 500 + "b}"])
def test_braces_that_stand_for_too_many_patterns_are_refused(pattern):
    with pytest.raises(SearchFailed, match="stand for more than"):
        plan(pattern)


def test_braces_are_expanded_in_order():
    assert expand("a{b,c{d,e}}f{,g}") == ["abf", "abfg", "acdf", "acdfg", "acef", "acefg"]


@pytest.mark.parametrize(
    "pattern", ["*a" * 60 + "b", "**/" * 60 + "b", "**/*a" * 30 + "/b", "*" * 1000 + "b", "**/a/" * 100 + "b"]
)
@pytest.mark.parametrize("path", ["a" * 250, "a/" * 1000 + "c", "/".join(["a" * 30] * 40)])
def test_no_pattern_is_tried_in_every_way_there_is(pattern, path):
    assert not compiled(pattern).fullmatch(path)  # backtracking would not end while the sun shines


def simple(pattern: str, path: str) -> bool:
    """The plainest matcher there is, as a second opinion."""
    if pattern == "":
        return path == ""
    if pattern.startswith("**/"):
        rest = path
        while True:
            if simple(pattern[3:], rest):
                return True
            if "/" not in rest:
                return False
            rest = rest.partition("/")[2]
    if pattern[0] == "*":
        return any(simple(pattern[1:], path[i:]) for i in range(len(path) + 1) if "/" not in path[:i])
    return (
        bool(path)
        and (pattern[0] == path[0] or (pattern[0] == "?" != path[0] != "/"))
        and simple(pattern[1:], path[1:])
    )


segments = st.one_of(st.just("**"), st.text("ab*?", min_size=1, max_size=4).filter(lambda s: "**" not in s))


path_names = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4)


@given(st.lists(segments, min_size=1, max_size=4), path_names)
@settings(max_examples=examples(500))
def test_a_glob_matches_like_the_plainest_matcher(parts, names):
    if parts[-1] == "**":
        parts = [*parts, "*"]
    pattern, path = "/".join(parts), "/".join(names)
    assert bool(compiled(pattern).fullmatch(path)) is simple(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "base", "rest", "hidden", "exact"),
    [
        ("*.py", ".", "*.py", False, True),
        ("src/**/*.py", "src", "**/*.py", False, True),
        ("/abs/d/*", "/abs/d", "*", False, True),
        ("a/b.c", "a", "b.c", False, True),
        ("../x/*", "../x", "*", False, True),
        (".github/**/*.yml", ".github", "**/*.yml", False, True),
        ("**/.env", ".", "**/.env", True, True),
        ("a/*/b", "a", "*/b", False, False),
        ("{a/b,c}/*.x", ".", "{a/b,c}/*.x", False, False),
        ("src/", "src", "**", False, True),
    ],
)
def test_a_pattern_is_split_where_its_wildcards_begin(pattern, base, rest, hidden, exact):
    order = plan(pattern)
    assert (order.base, order.rest, order.hidden, order.exact) == (base, rest, hidden, exact)


def test_dots_after_a_wildcard_are_refused():
    for pattern in ("*/../../etc/*", "{a,..}/x", "**/.."):
        with pytest.raises(SearchFailed):
            plan(pattern)
