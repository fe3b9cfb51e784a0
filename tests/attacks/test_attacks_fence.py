"""The fence as a law: no farm of links and no race leads a file tool out of its root.

A file outside is never read, made or changed. The one exception is written down (ADR 0047): what has a name
inside as well, a hard link, may be read by it; it is not changed either.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from extent_kit import examples
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin import ToolOptions, builtin_tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and handles are those of POSIX")

TRIES = examples(int(os.environ.get("CALIBAN_TEST_RACES", "2000")))
CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
CANARY = "CANARY-outside"
SHARED = "shared by a hard link"
Call = Callable[..., Awaitable[ToolOutput]]


def calls_in(workspace: Path, **options: Any) -> Call:
    tools = {t.spec.name: t for t in builtin_tools(ToolOptions(workspace=workspace, **options))}
    return lambda name, **args: tools[name].invoke(args, CONTEXT)


def outside_of(folder: Path) -> dict[str, bytes | None]:
    """All that is in `folder`: directories, links and files with their bytes."""
    return {
        str(path): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in folder.rglob("*")
    }


def deeds(path: str, n: int = 0) -> list[tuple[str, dict[str, Any]]]:
    """Every file tool on one path."""
    return [
        ("Read", {"path": path}),
        ("Read", {"path": path, "offset": 1, "limit": 5}),
        ("Write", {"path": path, "content": f"PWNED {n}"}),
        ("Edit", {"path": path, "old_string": "CANARY", "new_string": "PWNED"}),
        ("Edit", {"path": path, "old_string": "", "new_string": "PWNED"}),
        ("MultiEdit", {"path": path, "edits": [{"old_string": "CANARY", "new_string": "PWNED"}]}),
        ("NotebookEdit", {"path": path, "index": 0, "source": "PWNED", "action": "replace"}),
        ("Grep", {"pattern": "CANARY|PWNED", "path": path}),
        ("Glob", {"pattern": "**", "path": path}),
        ("Bash", {"command": "cat marker; pwd -P", "cwd": path}),
    ]


# ---- farms of links

NAMES = ("a", "b", "c", "..", ".", "l0", "l1", "l2", "l3", "f", "A", "L0", "F", "h", "new\nline", "")
PLACES = ("l0", "a/l1", "a/b/l2", "b/l3", "b/l0", "a/l0", "new\nline/l1")
steps = st.lists(st.sampled_from(NAMES), min_size=1, max_size=7).map("/".join)
PREFIXES = (
    "",
    "{root}/",
    "{base}/",
    "/proc/self/root{root}/",
    "/proc/self/cwd/",
    "/proc/thread-self/root{base}/",
)
prefixes = st.sampled_from(PREFIXES)


@contextmanager
def farm(base: Path, links: list[tuple[str, str, str]]) -> Iterator[Path]:
    """A root with links of any kind, beside files that nobody may reach."""
    root, outside = base / "root", base / "outside"
    for directory in ("a/b/c", "b/a", "c", "new\nline"):
        (root / directory).mkdir(parents=True)
    (outside / "a").mkdir(parents=True)
    for file in (outside / "f", outside / "a" / "f", base / "f", base / "h"):
        file.write_text(CANARY if file.name == "f" else SHARED)
    (root / "a" / "f").write_text("inside")
    os.link(base / "h", root / "h")
    os.link(base / "h", root / "a" / "h")
    os.makedirs(os.fsencode(root) + b"/raw\xff")
    os.symlink(os.fsencode(outside), os.fsencode(root) + b"/raw\xff/\xfe")
    for place, prefix, target in links:
        with_base = prefix.format(root=root, base=base) + target
        if not os.path.lexists(root / place):
            (root / place).symlink_to(with_base or ".")
    here = Path.cwd()
    os.chdir(root)
    try:
        yield root
    finally:
        os.chdir(here)


@given(st.data())
@settings(max_examples=examples(40), phases=(Phase.generate,))
def test_no_farm_of_links_leads_out_of_the_root(tmp_path_factory, data):
    base = tmp_path_factory.mktemp("farm")
    links = [(place, data.draw(prefixes), data.draw(steps)) for place in PLACES]
    wanted = [data.draw(prefixes) + data.draw(steps) for _ in range(3)]
    with farm(base, links) as root:
        before = {k: v for k, v in outside_of(base).items() if not k.startswith(f"{root}")}
        call = calls_in(root)
        texts = anyio.run(all_deeds, call, [path.format(root=root, base=base) for path in wanted])
        after = {k: v for k, v in outside_of(base).items() if not k.startswith(f"{root}")}
    assert after == before
    assert [text for text in texts if CANARY in text] == []
    shutil.rmtree(base)


async def all_deeds(call: Call, paths: list[str]) -> list[str]:
    return [(await call(tool, **args)).text for path in paths for tool, args in deeds(path)]


@pytest.mark.parametrize("restrict", [True, False])
def test_a_hard_link_changes_nothing_outside_unless_all_is_open(tmp_path, restrict):
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "h").write_text("a\n")
    os.link(tmp_path / "h", root / "h")
    call = calls_in(root, restrict_paths=restrict)
    output = anyio.run(lambda: call("Edit", path="h", old_string="a", new_string="b"))
    assert (root / "h").read_text() == "b\n"
    assert (tmp_path / "h").read_text() == ("a\n" if restrict else "b\n")
    assert ("other names (hard links)" in output.text) is restrict


def test_names_that_are_all_inside_stay_one_file_wherever_they_are(tmp_path):
    root = tmp_path / "root"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "h").write_text("a\n")
    os.link(root / "h", root / "deep" / "er" / "g")
    call = calls_in(root)
    output = anyio.run(lambda: call("Write", path="deep/er/g", content="b\n"))
    assert (root / "h").read_text() == "b\n" and "hard links" not in output.text
    # A second name under the same number on the way round does not count for one outside.
    os.link(root / "h", tmp_path / "outside")
    (root / "again").symlink_to("deep")
    anyio.run(lambda: call("Write", path="h", content="c\n"))
    assert (tmp_path / "outside").read_text() == "b\n"


def test_a_root_inside_another_one_cannot_be_left_by_what_is_between_them(tmp_path):
    outer = tmp_path / "outer"
    inner = outer / "between" / "inner"
    inner.mkdir(parents=True)
    evil = tmp_path / "evil"
    (evil / "inner").mkdir(parents=True)
    workspace = tmp_path / "ws"
    workspace.mkdir()
    call = calls_in(workspace, extra_roots=(inner, outer))
    assert not anyio.run(lambda: call("Write", path=str(inner / "f"), content="x")).is_error
    (outer / "between").rename(outer / "away")
    (outer / "between").symlink_to(evil)
    assert anyio.run(lambda: call("Write", path=str(inner / "f"), content="x")).is_error
    assert list((evil / "inner").iterdir()) == []


def test_a_root_that_was_made_anew_is_used_again(tmp_path):
    workspace = tmp_path / "above" / "ws"
    workspace.mkdir(parents=True)
    call = calls_in(workspace)
    assert not anyio.run(lambda: call("Write", path="f", content="x")).is_error
    shutil.rmtree(workspace)
    workspace.mkdir()
    assert not anyio.run(lambda: call("Write", path="f", content="y")).is_error
    assert (workspace / "f").read_text() == "y"


# ---- races

SWAPPER = """
import os, shutil, sys
root, outside = sys.argv[1:]
kinds = (
    (f"{root}/sub", outside),                 # a directory becomes a link
    (f"{root}/deep/mid", outside),            # one in the middle of a path
    (f"{root}/sub/f", f"{outside}/f"),        # a file becomes a link
    (f"{root}/above/root2", f"{outside}/a"),
)
spare = f"{root}/spare"
while True:
    for place, target in kinds:
        try:
            os.rename(place, spare)
            os.symlink(target, place)
            os.unlink(place)
            os.rename(spare, place)
        except OSError:  # a tool has made something there meanwhile: start again
            for path in (place, spare):
                try:
                    os.unlink(path) if os.path.islink(path) or os.path.isfile(path) else shutil.rmtree(path)
                except OSError:
                    pass
            for path in (f"{root}/sub", f"{root}/deep/mid/low", f"{root}/above/root2"):
                try:
                    os.makedirs(path, exist_ok=True)
                except OSError:
                    pass
    try:
        os.unlink(f"{root}/h")
    except OSError:
        pass
    try:
        os.link(f"{outside}/h", f"{root}/h")  # a file becomes another name of one outside
    except OSError:
        pass
"""


@contextmanager
def swapped(base: Path) -> Iterator[tuple[Path, Path]]:
    """A root in which another process swaps directories and files for links that lead out."""
    root, outside = base / "root", base / "outside"
    for directory in (root / "sub", root / "deep" / "mid" / "low", root / "above" / "root2", outside / "a"):
        directory.mkdir(parents=True)
    (outside / "low").mkdir()
    for file in (outside / "f", outside / "a" / "f", outside / "low" / "f"):
        file.write_text(CANARY)
    (outside / "h").write_text(SHARED)
    for folder in (outside, outside / "low"):
        (folder / "marker").write_text(CANARY)
    (root / "sub" / "f").write_text("inside")
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(root), str(outside)]) as swapper:
        try:
            yield root, outside
        finally:
            swapper.kill()


PATHS = ("sub/f", "deep/mid/low/f", "h", "sub/made/f", "deep/mid/low/made/f")


async def race(call: Call, tools: tuple[str, ...], tries: int) -> tuple[list[str], int, int]:
    """Do `tries` deeds with `tools`; the texts that hold a canary, how many were done, how many refused."""
    leaked, done, refused, n = [], 0, 0, 0
    folders = tuple(path.rpartition("/")[0] or "." for path in PATHS)
    while n < tries or not (done and refused):
        for path in PATHS if tools in (READERS, WRITERS, (*READERS, *WRITERS)) else folders:
            for tool, args in deeds(path, n):
                if tool in tools:
                    output = await call(tool, **args)
                    n += 1
                    done, refused = done + (not output.is_error), refused + output.is_error
                    if CANARY in output.text:
                        leaked.append(f"{tool} {args}: {output.text}")
    return leaked, done, refused


READERS = ("Read",)
WRITERS = ("Write", "Edit", "MultiEdit")
SEARCHES = ("Grep", "Glob")


@pytest.mark.parametrize(
    ("tools", "share"),
    [
        pytest.param(READERS, 10, id="s392-read"),
        pytest.param(WRITERS, 3, id="s392-write"),
        pytest.param(SEARCHES, 0.5, id="s392-search"),
        pytest.param(("Bash",), 0.1, id="s392-cwd"),
    ],
)
def test_no_race_leads_out_of_the_root(tmp_path, tools, share):
    with swapped(tmp_path) as (root, outside):
        before = outside_of(outside)
        leaked, done, refused = anyio.run(race, calls_in(root), tools, max(int(TRIES * share), 200))
    assert leaked == []
    assert outside_of(outside) == before
    assert done and refused, "both happened, or nothing was raced"


def test_the_root_itself_cannot_be_swapped_from_above(tmp_path):
    """Its parent becomes a link to a directory that has one of the same name."""
    with swapped(tmp_path) as (root, outside):
        (outside / "a" / "ws").mkdir()
        (root / "above" / "root2" / "ws").mkdir(exist_ok=True)
        call = calls_in(root / "above" / "root2")
        before = outside_of(outside)
        leaked, _, _ = anyio.run(race, call, (*READERS, *WRITERS), TRIES)
    assert leaked == [] and outside_of(outside) == before
