"""The fence: one reading of every path, and no way out, not even in a race."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tools_builtin.errors import PathRefused, ToolFailed
from caliban_tools_builtin.fence import Fence, path_fault
from caliban_tools_builtin.fs.file import load, store

TRIES = int(os.environ.get("CALIBAN_TEST_RACES", "1500"))
ESCAPES = ("/etc/passwd", "../../etc/passwd", "sub/../../x", "{ws}-evil/x", "~/x", "~", "/", "..", "out/f")
REFUSED = ["/etc", "../x", "~/x", "out", "a\0b", "file:///etc", "http://h/x", "", "\ud800"]
WINDOWS = ["CON", "nul.txt", "d\\AUX", "com1", "a::$DATA", "c:\\ws\\f:s", ".env.", ".env ", "\\\\?\\C:\\x"]


@pytest.fixture
def fence(ws: Path) -> Fence:
    (ws / "sub").mkdir()
    (ws / "out").symlink_to(ws.parent)
    return Fence(ws, restrict=True)


@pytest.mark.parametrize("path", ESCAPES)
def test_nothing_outside_the_workspace_is_admitted(fence, ws, path):
    with pytest.raises(PathRefused, match="outside the workspace"):
        fence.admit(path.format(ws=ws))


@pytest.mark.parametrize("tool", ["Read", "Write", "Edit", "Grep", "Glob", "Bash"])
@pytest.mark.parametrize("path", REFUSED)
def test_every_tool_refuses_what_the_fence_refuses(call, ws, tool, path):
    (ws / "out").symlink_to(ws.parent)
    args = {
        "Read": {"path": path},
        "Write": {"path": path, "content": "x"},
        "Edit": {"path": path, "old_string": "", "new_string": "x"},
        "Grep": {"pattern": "x", "path": path},
        "Glob": {"pattern": "*", "path": path},
        "Bash": {"command": "ls", "cwd": path},
    }[tool]
    output = call(tool, **args)
    assert output.is_error and output.text.startswith("Error: invalid input: ")
    assert sorted(p.name for p in ws.parent.iterdir()) == ["home", "ws"]


def test_a_dangling_link_that_leads_outside_creates_nothing(call, ws):
    (ws / "newlink").symlink_to(ws.parent / "PWNED")
    assert call("Write", path="newlink", content="x").is_error
    assert not (ws.parent / "PWNED").exists()


def test_extra_roots_are_fenced_like_the_workspace(make, ws):
    shared = ws.parent / "data" / "shared"
    (ws.parent / "data" / "private").mkdir(parents=True)
    shared.mkdir()
    call = make(extra_roots=(shared,))
    assert call("Write", path=str(shared / "x"), content="x").text == f"→ Wrote {shared}/x (1 bytes)"
    assert call("Write", path=f"{shared}/../private/x", content="x").is_error
    assert call("Write", path=f"{shared}-evil/x", content="x").is_error


def test_both_names_of_a_workspace_that_is_a_link_are_accepted(make, ws):
    (ws / "a.txt").write_text("x\n")
    link = ws.parent / "link"
    link.symlink_to(ws)
    call = make(workspace=link)
    for path in ("a.txt", link / "a.txt", ws / "a.txt"):
        assert call("Read", path=str(path)).text.startswith("→ Read a.txt, ")


def test_without_restriction_any_file_may_be_named(make, ws):
    other = ws.parent / "other.txt"
    other.write_text("x\n")
    call = make(restrict_paths=False)
    assert call("Read", path=str(other)).text.startswith(f"→ Read {other}, lines 1-1 of 1")
    assert not call("Write", path="../other.txt", content="y").is_error and other.read_text() == "y"


def test_home_is_expanded_and_nothing_else(make, ws, fence):
    (ws.parent / "home" / "h.txt").write_text("h\n")
    assert "1  h" in make(restrict_paths=False)("Read", path="~/h.txt").text
    assert fence.admit("$HOME/.env").path == ws / "$HOME" / ".env"
    assert fence.admit("@/x").path == ws / "@" / "x"
    assert fence.admit("．．/x").path == ws / "．．" / "x"


def test_detours_lead_to_the_canonical_place(fence, ws):
    for path in ("sub/../a", "./a", "sub//..///a", "a/", f"{ws}/a", f"/proc/self/root{ws}/a"):
        place = fence.admit(path)
        assert (place.path, place.shown) == (ws / "a", "a")


@pytest.mark.parametrize("path", WINDOWS)
def test_the_many_names_of_windows_are_refused_there(path):
    assert path_fault(path, windows=True)
    assert path_fault(path, windows=False) is None


@pytest.mark.parametrize("path", ["C:\\ws\\a.txt", "..\\x", ".env", "console.log", "a.b.c"])
def test_plain_names_are_fine_on_windows(path):
    assert path_fault(path, windows=True) is None


SWAPPER = """
import os, shutil, sys
sub, away, outside = sys.argv[1:]
while True:
    try:
        os.rename(sub, away); os.symlink(outside, sub); os.unlink(sub); os.rename(away, sub)
    except OSError:  # the writer has made a directory where there was none: start again
        if os.path.islink(sub):
            os.unlink(sub)
        shutil.rmtree(away, ignore_errors=True)
        os.makedirs(sub, exist_ok=True)
"""


def test_a_directory_that_is_swapped_for_a_link_never_leads_out(ws):
    outside = ws.parent / "outside"
    outside.mkdir()
    (ws / "sub").mkdir()
    fence = Fence(ws, restrict=True)
    arguments = [str(ws / "sub"), str(ws / "away"), str(outside)]
    with subprocess.Popen([sys.executable, "-c", SWAPPER, *arguments]) as swapper:
        written = refused = 0
        try:
            while written + refused < TRIES or not (written and refused):
                try:
                    place = fence.admit("sub/f")
                    store(place, b"x", old=load(place, max_bytes=10))
                    written += 1
                except ToolFailed:
                    refused += 1
        finally:
            swapper.kill()
    assert list(outside.iterdir()) == []


names = st.sampled_from(["a", "b", "c", "..", ".", "l1", "l2", ""])
paths = st.lists(names, min_size=1, max_size=7).map("/".join)


@given(st.data())
@settings(max_examples=examples(150))
def test_no_tree_of_links_leads_out_of_the_root(tmp_path_factory, data):
    base = tmp_path_factory.mktemp("fence")
    root = base / "root"
    for directory in ("a/b/c", "b/a", "c"):
        (root / directory).mkdir(parents=True)
    for place in ("l1", "a/l2", "a/b/l1", "b/l2"):
        target = data.draw(paths) or "."
        (root / place).symlink_to(target if data.draw(st.booleans()) else f"{base}/{target}")
    fence = Fence(root, restrict=True)
    before = sorted(path.name for path in base.iterdir())
    for _ in range(5):
        text = data.draw(paths)
        try:
            place = fence.admit(text)
            store(place, b"x", old=load(place, max_bytes=10))
        except ToolFailed:
            continue
        assert place.path.is_relative_to(root.resolve()) and os.path.realpath(place.path) == str(place.path)
        assert (root / text).resolve() == place.path
    assert sorted(path.name for path in base.iterdir()) == before == ["root"]
