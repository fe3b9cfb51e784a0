"""Searches of trees that nobody would make in good faith, and what they are held against."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from extent_kit import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caliban_common.tool import ToolContext, ToolOutput
from caliban_process import Runner
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.search import engine, inside
from caliban_tools_builtin.search import glob as globbing
from caliban_tools_builtin.search.engine import SearchEngine, find_ripgrep
from caliban_tools_builtin.search.glob import Glob, Listing
from caliban_tools_builtin.search.globs import compiled, plan
from caliban_tools_builtin.search.grep import Grep
from caliban_tools_builtin.search.inside import FoundFile, Sight, found_file, names_below
from caliban_tools_builtin.search.oddrules import RulesAround, rules_around

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
DEPTH = 1200
RIPGREP = find_ripgrep(Path("/nowhere"))
needs_handles = pytest.mark.skipif(os.name != "posix", reason="needs directory handles")


def searched(ws: Path, name: str, ripgrep: str | None, **args: object) -> ToolOutput:
    program = SearchEngine(ws, Runner(), ripgrep=ripgrep)
    tool = (Glob if name == "Glob" else Grep)(Fence(ws, restrict=True), program, Sight())
    return anyio.run(tool.invoke, args, CONTEXT)


@pytest.fixture(params=["ripgrep", "python"])
def search(request: pytest.FixtureRequest, ws: Path) -> Callable[..., ToolOutput]:
    """`search(name, **arguments)` with either engine."""
    ripgrep = None if request.param == "ripgrep" else ""
    return lambda name, **args: searched(ws, name, ripgrep, **args)


def names(output: ToolOutput) -> list[str]:
    return [line[2:] for line in output.text.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("?.txt", ["x.txt", "é.txt"]),
        ("[!x].txt", ["é.txt"]),
        ("[!x].t?t", ["é.txt"]),
        ("{?,yy}.txt", ["x.txt", "yy.txt", "é.txt"]),
        ("a}b", ["a}b"]),
        ("{a,b}{c}", ["a{c}"]),
        ("{a,{b,y}}y.txt", ["yy.txt"]),
    ],
)
def test_one_character_is_no_byte_and_a_brace_is_what_it_looks_like(ws, search, pattern, expected) -> None:
    for name in ("é.txt", "x.txt", "yy.txt", "a}b", "a{c}", "ac"):
        (ws / name).write_text("x")
    assert names(search("Glob", pattern=pattern)) == expected
    lines = search("Grep", pattern="x", include=pattern).text.splitlines()[1:]
    assert lines == [f"{name}:1:x" for name in expected]


@pytest.fixture
def deep() -> Iterator[Path]:
    """A directory whose file lies deeper than Python recurses; not pytest's, which removes by recursion."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(os.path.realpath(scratch))
        here = os.open(top, os.O_RDONLY)
        for _ in range(DEPTH):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("deep.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.close(here)
        try:
            yield top
        finally:
            subprocess.run(["rm", "-rf", "d"], cwd=top, check=True)


@needs_handles
@pytest.mark.parametrize("ripgrep", [None, ""])
def test_directories_may_lie_deeper_in_one_another_than_calls_and_handles_do(deep, ripgrep) -> None:
    assert names(searched(deep, "Glob", ripgrep, pattern="**/deep.py")) == ["d/" * DEPTH + "deep.py"]


def test_a_pattern_that_cannot_be_compiled_is_said_to_be_wrong(ws, search) -> None:
    (ws / "a").write_text("aaa\n")
    for args in ({"pattern": "a{99999999999}"}, {"pattern": "(" * 3000 + ")" * 3000}, {"pattern": "("}):
        output = search("Grep", **args)
        assert output.is_error and output.text.startswith("Error: execution failed:"), output.text
    for pattern in ("[z-a]", "**/x[z-a]y?"):
        assert search("Glob", pattern=pattern).is_error
        assert search("Grep", pattern="a", include=pattern).is_error


def test_a_search_that_breaks_off_is_no_search_that_found_nothing(ws, monkeypatch) -> None:
    (ws / "a").write_text("aaa\n")
    monkeypatch.setattr(engine, "asdict", lambda query: {"target": "./", "name": None})  # the rest is missing
    for args in ({"name": "Glob", "pattern": "*"}, {"name": "Grep", "pattern": "a"}):
        output = searched(ws, ripgrep="", **args)
        assert output.is_error and "'parents'" in output.text


def test_a_path_longer_than_any_is_refused_in_words(ws, search) -> None:
    for path in ("a" * 5000, "a/" * 2500):
        assert "is too long a name" in search("Grep", pattern="x", path=path).text
        assert "is not a directory" in search("Glob", pattern="*", path=path).text
    (ws / "f").write_text("x")
    assert "f/g does not exist" in search("Grep", pattern="x", path="f/g").text
    assert "matched 0 files" in search("Glob", pattern="a" * 4000 + "/*").text


@needs_handles
def test_a_file_that_is_cut_short_meanwhile_ends_nobody(ws) -> None:
    (ws / "log").write_bytes(b"line\n" * 400_000 + b"last\n")
    place = Fence(ws, restrict=True).admit("log")
    with found_file(place) as file:
        assert file is not None and file.holds(b"line")
        os.truncate(ws / "log", 5)
        assert not file.holds(b"last")


@needs_handles
@settings(
    max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    data=st.binary(max_size=60).map(
        lambda data: data.translate(bytes(b"ab\n\xe9"[n % 4] for n in range(256)))
    ),
    lines=st.lists(st.binary(max_size=5).map(lambda b: b.translate(bytes(b"ab"[n % 2] for n in range(256))))),
)
def test_lines_stand_in_a_file_in_their_order_however_it_is_read(data, lines) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        kept, inside._PIECE_BYTES = inside._PIECE_BYTES, 7
        try:
            reader = FoundFile(file.fileno())
            at = 0
            for line in lines:
                place = data.find(line, at)
                assert reader.holds(line) == (place >= 0)
                at = max(at, place)
            assert reader.is_utf8 == (b"\xe9" not in data)
        finally:
            inside._PIECE_BYTES = kept


@needs_handles
def test_a_file_is_not_gone_through_without_end(ws, monkeypatch) -> None:
    with (ws / "hole").open("wb") as file:
        file.write(b"first\n")
        file.truncate(1 << 40)
    monkeypatch.setattr(inside, "_MAX_SCANNED_BYTES", 10_000_000)
    with found_file(Fence(ws, restrict=True).admit("hole")) as reader:
        assert reader is not None and reader.holds(b"first")
        assert not reader.holds(b"never there")


@needs_handles
def test_names_are_reached_without_a_link_on_the_way(ws) -> None:
    deep = "/".join("d" * 100)
    for folder in ("a/b", "a-b", "secret", deep):
        (ws / folder).mkdir(parents=True)
    for name in ("a/b/f", "a-b/f", "a/f", "f", "secret/f", f"{deep}/f", f"{deep}/g"):
        (ws / name).write_text("x")
    (ws / "a" / "l").symlink_to("../secret")
    (ws / "a" / "s").symlink_to("f")
    base = Fence(ws, restrict=True).admit(".")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    with names_below(base) as below:

        def kind(path: str) -> int | None:
            mode = below.mode_of(path)
            return None if mode is None else stat.S_IFMT(mode)

        asked = ["a-b/f", "a/b/f", "a/f", "f", f"{deep}/f", f"{deep}/g", "a/b/f", "secret/f"]
        assert [kind(path) for path in asked] == [stat.S_IFREG] * len(asked)
        assert (kind("a/l"), kind("a/s"), kind("a/b")) == (stat.S_IFLNK, stat.S_IFLNK, stat.S_IFDIR)
        assert [kind(path) for path in ("a/l/f", "a/none", "none/f", "f/f", "a//f")] == [None] * 5
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0)


LISTED = st.lists(st.text("ab/é.", min_size=1, max_size=6), max_size=40, unique=True)


@settings(max_examples=examples(100), deadline=None)
@given(listed=LISTED, cuts=st.lists(st.integers(1, 9), min_size=1, max_size=8), exact=st.booleans())
def test_of_many_names_those_are_shown_that_come_first(listed, cuts, exact) -> None:
    kept = globbing.MANY_NAMES, globbing.MAX_LOOKS
    globbing.MANY_NAMES, globbing.MAX_LOOKS = 6, 3
    try:
        order = plan("**" if exact else "**/?*")
        base = AdmittedPath(path=Path("/x"), root=Path("/x"), shown=".")
        listing = Listing(base, order, Sight())
        data = b"".join(os.fsencode(f"./{path}") + b"\0" for path in listed)
        while data:
            cut = cuts[len(data) % len(cuts)]
            assert listing.feed(data[:cut])
            data = data[cut:]
        fitting = [path for path in listed if compiled(order.rest).fullmatch(path)] if not exact else listed
        assert listing.count == len(fitting)
        assert listing.first() == sorted(fitting, key=os.fsencode)[:3]
        parents = {str(parent) for path in listed for parent in _parents(path)}
        assert listing.folders() == parents
    finally:
        globbing.MANY_NAMES, globbing.MAX_LOOKS = kept


def _parents(path: str) -> list[str]:
    return [path[:at] for at, char in enumerate(path) if char == "/"]


NAMES = st.sampled_from(["a", "b.py", ".h", "é.py", "x y", "-r", "a.b.py", "{a}", "a\nb", "[x]", "*"])
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8)
RULES = st.sampled_from(["", "*.py\n", "a/\n!a/b.py\n", "/b.py\n", "**/a\n", "*\n!*.py\n!*/\n"])
PATTERNS = st.sampled_from(
    ["**", "*", "**/*.py", "?.py", "**/?.py", "*/*", "a/**", "**/[!a].py", "{a,b}*", "**/a/*.py", "a*", "*y",
     "**/{b,é}.py", "**/{a,b.py}", "[a-b]*", "./*", "**/x y", "-*"]
)  # fmt: skip


@pytest.mark.skipif(RIPGREP is None, reason="needs ripgrep")
@settings(max_examples=examples(40), deadline=None)
@given(tree=TREES, above=RULES, here=RULES, within=RULES, pattern=PATTERNS)
def test_glob_gives_what_ripgrep_lists_and_the_pattern_means(tree, above, here, within, pattern) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ws = Path(os.path.realpath(scratch)) / "above" / "ws"
        for path in tree:
            try:
                (ws / path).parent.mkdir(parents=True, exist_ok=True)
                (ws / path).write_text("needle\n")
            except OSError:
                continue  # a name that is a directory already, or below one that is a file
        ws.mkdir(parents=True, exist_ok=True)
        folder = ws / "a" if (ws / "a").is_dir() else ws
        for place, rules in ((ws.parent, above), (ws, here), (folder, within)):
            if rules:
                (place / ".gitignore").write_text(rules)
        argv = [str(RIPGREP), "--no-config", "--no-require-git", "--no-ignore-global", "--files", "--null"]
        listed = subprocess.run([*argv, "./"], cwd=ws, capture_output=True, check=False).stdout
        paths = [os.fsdecode(path)[2:] for path in listed.split(b"\0") if path]
        order = plan(pattern)
        base = "" if order.base == "." else f"{order.base}/"
        fits = compiled(order.rest).fullmatch
        meant = {path for path in paths if path.startswith(base) and fits(path[len(base) :])}
        output = searched(ws, "Glob", None, pattern=pattern)
        shown = {line[2:] for line in output.text.splitlines() if line.startswith("  ")}
        if meant and "only hidden" not in output.text and paths:
            assert shown == {Fence(ws, restrict=True).show(str(ws / path)) for path in meant}


@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore", ".git/info/exclude", ".git"])
def test_rules_above_are_known_by_their_files(tmp_path, name) -> None:
    ws = tmp_path / "above" / "ws"
    ws.mkdir(parents=True)
    start = rules_around(str(ws), parents=True)
    (ws / ".gitignore").write_text("own")
    assert rules_around(str(ws), parents=True) == start, "its own are no rules above"
    rule = ws.parent / name
    rule.parent.mkdir(parents=True, exist_ok=True)
    rule.write_text("a")
    assert rules_around(str(ws), parents=True) == RulesAround(above=True)
    assert rules_around(str(ws), parents=False) == RulesAround(above=False)


def test_rules_above_hide_what_they_hid(ws, search) -> None:
    (ws.parent / ".gitignore").write_text("hidden.*\n")
    (ws / "hidden.py").write_text("x")
    (ws / "seen.py").write_text("x")
    assert names(search("Glob", pattern="*.py")) == ["seen.py"]
    (ws.parent / ".gitignore").unlink()
    assert names(search("Glob", pattern="*.py")) == ["hidden.py", "seen.py"]
