"""Compiled patterns of earlier starts are what would be compiled, and only constants are kept."""

from __future__ import annotations

import marshal
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban.compiled_patterns import CompiledPatterns

COMPILER = import_module("re._compiler")
CONSTANTS = (
    (r"(?P<key>[a-z_]\w*)\s*=\s*(?P<value>\"[^\"]*\"|'[^']*')", re.VERBOSE | re.IGNORECASE),
    (r"(?<![\w.-])(?:ab|cd){2,3}?(?=x|\Z)", 0),
    (rb"\r?\n\r?\n", 0),
    (r"(a)(?:b(c))?(?(2)d|e)", re.MULTILINE | re.DOTALL),
    (r"[^\x00-\x7f\u0400-\u04ff]+", re.ASCII),
    ("same", 0),
    (b"same", 0),
)


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The interpreter's own compiler, before and after, and nothing that `re` has kept."""
    original = COMPILER.compile
    re.purge()
    yield
    COMPILER.compile = original
    re.purge()


def serving(data: bytes) -> CompiledPatterns:
    patterns = CompiledPatterns(data)
    patterns.serve(COMPILER)
    return patterns


def imported(text: str) -> None:
    """Run `text` as a module would run."""
    exec(compile(text, "module", "exec"), {"__name__": "module", "re": re})


def packed(text: str) -> bytes:
    """What is kept of a start that imports a module with this text."""
    patterns, original = serving(b""), COMPILER.compile
    try:
        re.purge()
        imported(text)
        return patterns.packed()
    finally:
        assert COMPILER.compile == original
        COMPILER.compile = patterns._original


@pytest.mark.parametrize(("pattern", "flags"), CONSTANTS)
def test_a_kept_pattern_is_the_same_and_is_not_compiled_again(pattern, flags, monkeypatch):
    expected = re.compile(pattern, flags)
    data = packed(f"re.compile({pattern!r}, {int(flags)})")
    patterns = serving(data)
    monkeypatch.setattr(patterns, "_original", None)
    re.purge()
    kept = re.compile(pattern, flags)
    assert kept is not expected and kept == expected and repr(kept) == repr(expected)
    assert (kept.groupindex, kept.groups, kept.flags) == (
        expected.groupindex,
        expected.groups,
        expected.flags,
    )
    assert patterns.missed == 0


@given(text=st.text(alphabet="ab\n=x1", max_size=12))
def test_they_find_what_the_others_find(text):
    re.purge()
    made = {pattern: re.compile(pattern, flags) for pattern, flags in CONSTANTS if isinstance(pattern, str)}
    rows = "\n".join(f"re.compile({pattern!r}, {int(flags)})" for pattern, flags in CONSTANTS)
    patterns = serving(packed(rows))
    try:
        re.purge()
        for pattern, flags in CONSTANTS:
            if isinstance(pattern, str):
                spans = [match.span() for match in re.compile(pattern, flags).finditer(text)]
                assert spans == [match.span() for match in made[pattern].finditer(text)]
    finally:
        COMPILER.compile = patterns._original


KEPT = [
    pytest.param("re.compile('a' + str(1))", ["a1"], id="made-by-an-import"),
    pytest.param("def f():\n    return re.search('in it', '')\nf()", ["in it"], id="function"),
    pytest.param("def f(given):\n    return re.search(given, '')\nf('given')", [], id="given"),
    pytest.param("def f(given):\n    return re.search('x' + given, '')\nf('y')", [], id="made-of-it"),
    pytest.param("re.compile(b'(?L)a')", [], id="depends-on-the-locale"),
    pytest.param("import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n"
                 "    re.compile('[[a]')", [], id="warns"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), KEPT)
def test_only_constants_are_kept(text, expected):
    assert [pattern for _, pattern, _ in marshal.loads(packed(text))] == expected


def test_a_lazy_pattern_of_ours_is_a_constant():
    text = "from caliban_common.lazy import lazy_pattern\nlazy_pattern('lazy one').match('')"
    assert [pattern for _, pattern, _ in marshal.loads(packed(text))] == ["lazy one"]


def test_what_was_kept_before_stays():
    data = packed("re.compile('first')")
    patterns = serving(data)
    re.purge()
    imported("re.compile('first'); re.compile('second')")
    assert patterns.missed == 1
    assert sorted(pattern for _, pattern, _ in marshal.loads(patterns.packed())) == ["first", "second"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"garbage",
        marshal.dumps([1]),
        marshal.dumps({(True, "x+", 0): (0, [1, 2, 3], 0, {}, (None,))}),
        marshal.dumps({(True, "x+", 0): (32, "code", 0, {}, (None,))}),
        marshal.dumps({(True, "x+", 0): 5}),
    ],
)
def test_what_cannot_be_used_is_compiled_as_ever(data):
    serving(data)
    re.purge()
    assert re.compile("x+").findall("xxay") == ["xx"]


def test_other_errors_and_warnings_stay_what_they_are():
    serving(b"")
    re.purge()
    with pytest.raises(re.error, match="unterminated"):
        re.compile("[")
    with pytest.raises(TypeError):
        re.compile(5)  # type: ignore[call-overload]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        re.compile("[[a]")
    assert len(caught) == 1


def test_text_is_never_compared_with_bytes():
    program = (
        "import re, re._compiler as compiler\n"
        "from caliban.compiled_patterns import CompiledPatterns\n"
        "first = CompiledPatterns(b'')\n"
        "first.serve(compiler)\n"
        "re.compile('same'); re.compile(b'same')\n"
        "compiler.compile = first._original\n"
        "second = CompiledPatterns(first.packed())\n"
        "second.serve(compiler)\n"
        "re.purge(); re.compile(b'same'); re.compile('same')\n"
        "print(first.missed, second.missed)"
    )
    done = subprocess.run([sys.executable, "-bb", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["2", "0"]), done.stderr
