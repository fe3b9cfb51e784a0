"""The glob dialect: what each wildcard covers, what is refused, and that no pattern is slow."""

from __future__ import annotations

import fnmatch
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions.rules.glob import GlobSyntaxError, compile_path, compile_text, literal_text


def parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("git *", "git push", True),
        ("git *", "gitk", False),
        ("git *", "git", False),
        ("git *", "git a\nb", True),
        ("*", "", True),
        ("**", "a/b", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "abc", True),
        ("a*a", "a", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("?*", "", False),
        ("a\\*b", "a*b", True),
        ("a\\*b", "axb", False),
        ("a\\nb", "a\\nb", True),
        ("", "", True),
        ("", "a", False),
        ("*.py", "a.py", True),
        ("*ab", "aab", True),
        ("é?", "éa", True),
    ],
)
def test_a_text_glob_matches_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert compile_text(pattern).matches(text) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("rm *", "sudo rm -rf /", True),
        ("rm *", "farm out", False),
        ("rm *", "x;rm a", True),
        ("rm *", "rm", False),
        ("*rm*", "farm", True),
        ("-rf", "a-rf", True),
        ("a?c x", "1 abc x", True),
        ("a?c x", "1abc x", False),
    ],
)
def test_an_occurrence_begins_at_the_start_of_a_word(pattern: str, text: str, expected: bool) -> None:
    assert compile_text(pattern).occurs_in(text) is expected


@pytest.mark.parametrize("pattern", ["[a", "a]", "{a,b}", "git [a-z]* ", "x}"])
def test_classes_and_braces_are_refused(pattern: str) -> None:
    with pytest.raises(GlobSyntaxError):
        compile_text(pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/tmp/*", "/tmp/a", True),
        ("/tmp/*", "/tmp/a/b", False),
        ("/tmp/*", "/tmp", False),
        ("/ws/**", "/ws/a/b", True),
        ("/ws/**", "/ws", True),
        ("/ws/**/x", "/ws/x", True),
        ("/ws/**/x", "/ws/a/b/x", True),
        ("/ws/**/x", "/ws/a/bx", False),
        ("/**/a/**/b", "/a/a/c/b", True),
        ("/ws/*/b", "/ws/a/b", True),
        ("/ws/a?", "/ws/ab", True),
        ("/ws/*.py", "/ws/a.py", True),
        ("/ws/**/*.rs", "/ws/a/x.rs", True),
        ("/a**b/c", "/axxb/c", True),
    ],
)
def test_a_path_glob_matches_component_by_component(pattern: str, path: str, expected: bool) -> None:
    assert compile_path(parts(pattern)).matches(parts(path)) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/ws/secret", "/ws/secret/a/b", True),
        ("/ws/secret/**", "/ws/secret", True),
        ("/ws/*", "/ws/a/b", False),
        ("/ws/secret", "/ws/secrets", False),
        ("/**/.env", "/ws/.env/x", True),
    ],
)
def test_a_deny_covers_what_is_below_a_plain_name(pattern: str, path: str, expected: bool) -> None:
    assert compile_path(parts(pattern)).covers(parts(path)) is expected


def test_forty_stars_are_matched_in_linear_time() -> None:
    glob = compile_text("*a" * 40 + "*b")
    started = time.process_time()
    assert not glob.matches("a" * 9_000)
    assert not glob.occurs_in("a" * 9_000)
    assert time.process_time() - started < 0.05


def test_many_double_stars_are_matched_quickly() -> None:
    glob = compile_path(("**", "a") * 40)
    started = time.process_time()
    assert not glob.matches(("a",) * 200 + ("b",))
    assert time.process_time() - started < 0.5


plain = st.text(alphabet="ab?*", max_size=8)


@given(plain, st.text(alphabet="ab", max_size=10))
def test_a_text_glob_agrees_with_fnmatch(pattern: str, text: str) -> None:
    assert compile_text(pattern).matches(text) is (re.fullmatch(fnmatch.translate(pattern), text) is not None)


@given(st.text(max_size=30))
def test_an_escaped_text_is_matched_by_itself_only(text: str) -> None:
    pattern = re.sub(r"[*?\[\]{}]", lambda found: "\\" + found.group(), text)
    if not re.search(r"\\[\\*?\[\]{}]", text):
        assert compile_text(pattern).matches(text)
        assert literal_text(pattern) == text


@given(st.text(alphabet="ab*?", max_size=6), st.text(alphabet="ab ", max_size=12))
def test_an_occurrence_is_a_match_between_two_stars(pattern: str, text: str) -> None:
    occurs = compile_text(pattern).occurs_in(text)
    if occurs:
        assert compile_text(f"*{pattern}*").matches(text)
