"""Rows of the class containment: no file tool leaves the workspace, by whatever name it is asked to.

The fence as a law, with farms of links and with races, is tested in `test_attacks_fence.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from calls_kit import run_calls

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and paths are those of POSIX")

CANARY = "CANARY-of-a-file-outside"
ALLOWED = ("--allow", "Read", "--allow", "Write", "--allow", "Edit", "--allow", "Bash")


@pytest.fixture
def outside(cli) -> Path:
    """A directory beside the workspace, with a file that nobody may see or change."""
    folder = cli.home.parent / "outside"
    folder.mkdir()
    (folder / "f.txt").write_text(CANARY)
    evil = Path(f"{cli.work}-evil")
    evil.mkdir()
    (evil / "x").write_text(CANARY)
    (cli.home / "note.txt").write_text(CANARY)
    return folder


def put(cli, outside) -> None:
    """Links of every kind that lead out of the workspace."""
    work = cli.work
    (work / "sub").mkdir()
    (work / "top").symlink_to("/")
    (work / "out").symlink_to(outside)
    (work / "file").symlink_to(outside / "f.txt")
    (work / "newlink").symlink_to(outside / "PWNED")
    (work / "chain").symlink_to("sub/next")
    (work / "sub" / "next").symlink_to("../out")
    (work / "up").symlink_to("..")
    (work / "loop").symlink_to("loop")
    (work / "self").symlink_to("/proc/self/root")
    (work / "cwd").symlink_to("/proc/self/cwd/..")


def tree(folder: Path) -> list[tuple[str, bytes]]:
    return sorted((str(path), path.read_bytes()) for path in folder.rglob("*") if path.is_file())


READS = [
    pytest.param("Read", {"path": "/etc/passwd"}, id="s387"),
    pytest.param("Read", {"path": "../../../../../../../../etc/passwd"}, id="s388"),
    pytest.param("Read", {"path": "{work}-evil/x"}, id="s389"),
    pytest.param("Bash", {"command": "ls", "cwd": "/etc"}, id="s396"),
    pytest.param("Glob", {"pattern": "/etc/*"}, id="s398"),
    pytest.param("Grep", {"pattern": "x", "path": "top"}, id="s400"),
    pytest.param("Grep", {"pattern": "x", "path": "{home}"}, id="s935"),
    *(
        pytest.param("Read", {"path": path}, id=f"own-read-{path}")
        for path in (
            "sub/../../outside/f.txt",
            "out/f.txt",
            "out/../outside/f.txt",
            "chain/f.txt",
            "file",
            "up/outside/f.txt",
            "up/work/../outside/f.txt",
            "self{outside}/f.txt",
            "cwd/outside/f.txt",
            "loop/../../outside/f.txt",
            "/proc/self/root{outside}/f.txt",
            "/proc/self/cwd/../outside/f.txt",
            "/proc/thread-self/root{outside}/f.txt",
            "/dev/fd/../../..{outside}/f.txt",
            "~/note.txt",
            "~",
            "{outside}",
            "//{outside}/f.txt",
            "./././/..//outside//f.txt",
            "file://{outside}/f.txt",
            "{work}/../outside/f.txt",
        )
    ),
    *(
        pytest.param(tool, {**more, "path": path}, id=f"own-{tool}-{path}")
        for tool, more in (("Grep", {"pattern": "CANARY"}), ("Glob", {"pattern": "**/*"}))
        for path in ("..", "out", "chain", "up", "self{outside}", "cwd/outside", "{work}-evil", "file")
        if (tool, path) != ("Glob", "file")
    ),
    *(
        pytest.param("Glob", {"pattern": pattern}, id=f"own-Glob-{pattern}")
        for pattern in ("../outside/*", "~/*", "{outside}/**", "out/*", "sub/../../outside/*", "up/**/f.txt")
    ),
    pytest.param("Bash", {"command": "ls", "cwd": "out"}, id="own-cwd-link"),
    pytest.param("Bash", {"command": "ls", "cwd": "../outside"}, id="own-cwd-dots"),
    pytest.param("Bash", {"command": "ls", "cwd": "up/outside"}, id="own-cwd-up"),
    pytest.param("Bash", {"command": "ls", "cwd": "out", "background": True}, id="own-cwd-background"),
    pytest.param("Bash", {"command": "ls", "cwd": "file"}, id="own-cwd-file"),
]


@pytest.mark.long(keep=3)
@pytest.mark.parametrize(("tool", "given"), READS)
def test_nothing_outside_is_read_or_entered(cli, outside, tool, given):
    put(cli, outside)
    places = {"work": str(cli.work), "home": str(cli.home), "outside": str(outside)}
    given = {k: v.format(**places) if k in ("path", "cwd", "pattern") else v for k, v in given.items()}
    (text,), done = run_calls(cli, (tool, given), flags=("--restrict-paths", *ALLOWED))
    assert text.startswith(("Error: ", "Tool call denied: ")), text
    assert (
        "CANARY" not in text.replace("'CANARY'", "") and "root:" not in text and "Traceback" not in done.err
    )


CHANGES = [
    pytest.param("newlink", id="s391"),
    pytest.param("out/new.txt", id="own-link"),
    pytest.param("out/f.txt", id="own-existing"),
    pytest.param("chain/new.txt", id="own-chain"),
    pytest.param("chain/made/new.txt", id="own-made"),
    pytest.param("up/outside/new.txt", id="own-up"),
    pytest.param("sub/../../outside/new.txt", id="own-dots"),
    pytest.param("cwd/outside/f.txt", id="own-proc"),
    pytest.param("{outside}/f.txt", id="own-absolute"),
    pytest.param("file", id="own-file"),
    pytest.param("~/note.txt", id="own-home"),
    pytest.param("loop/x", id="own-loop"),
]


@pytest.mark.parametrize("path", CHANGES)
def test_nothing_outside_is_made_or_changed_by_any_tool(cli, outside, path):
    put(cli, outside)
    path = path.format(outside=outside)
    before = tree(cli.home.parent)
    cell = {"path": path, "cell_index": 0, "source": "x", "action": "replace"}
    calls = (
        ("Write", {"path": path, "content": "PWNED"}),
        ("Edit", {"path": path, "old_string": "CANARY", "new_string": "PWNED"}),
        ("Edit", {"path": path, "old_string": "", "new_string": "PWNED"}),
        ("MultiEdit", {"path": path, "edits": [{"old_string": "CANARY", "new_string": "PWNED"}]}),
        ("NotebookEdit", cell),
    )
    texts, done = run_calls(cli, *calls, flags=ALLOWED)
    assert [text for text in texts if not text.startswith(("Error: ", "Tool call denied: "))] == []
    kept = [row for row in tree(cli.home.parent) if "/.local/" not in row[0] and "/.cache/" not in row[0]]
    assert kept == before, done.err


@pytest.mark.parametrize(
    ("path", "leaves"),
    [
        pytest.param("{shared}/../private/x", True, id="s393"),
        pytest.param("{shared}-evil/x", True, id="own-prefix"),
        pytest.param("{shared}/out/x", True, id="own-link"),
        pytest.param("{shared}/ok/x", False, id="own-inside"),
    ],
)
def test_a_further_directory_has_the_same_fence(cli, path, leaves):
    data = cli.home.parent / "data"
    for name in ("shared", "private", "shared-evil"):
        (data / name).mkdir(parents=True)
    shared = data / "shared"
    (shared / "out").symlink_to(data / "private")
    cli.configure(f'additional_directories = ["{shared}"]\n')
    call = ("Write", {"path": path.format(shared=shared), "content": "x"})
    (text,), _ = run_calls(cli, call, flags=ALLOWED)
    assert text.startswith("Error: " if leaves else "→ Wrote "), text
    assert [path.name for path in data.rglob("x")] == ([] if leaves else ["x"])


@pytest.mark.parametrize(
    "spelling", ["{real}/a.txt", "{link}/a.txt", "a.txt", "./a.txt", "{real}/../real/a.txt"]
)
@pytest.mark.parametrize("row", ["s402"])
def test_both_names_of_a_workspace_behind_a_link_are_inside(cli, spelling, row):
    real = cli.home.parent / "real"
    real.mkdir()
    (real / "a.txt").write_text("hello\n")
    link = cli.home.parent / "ws"
    link.symlink_to(real)
    path = spelling.format(real=real, link=link)
    (text,), _ = run_calls(cli, ("Read", {"path": path}), flags=("--workspace", str(link)))
    assert text.startswith("→ Read a.txt, lines 1-1 of 1"), text


def test_s403_what_an_administrator_mounts_inside_is_inside(cli):
    mount = cli.work / "mnt"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", "/etc", mount], check=False).returncode:
        pytest.skip("needs the right to mount")
    try:
        (text,), _ = run_calls(cli, ("Read", {"path": "mnt/passwd"}))
        assert text.startswith("→ Read mnt/passwd, lines 1-")
    finally:
        subprocess.run(["umount", mount], check=True)


def test_what_the_flag_opens_is_open_and_only_then(cli, outside):
    call = ("Read", {"path": str(outside / "f.txt")})
    (text,), _ = run_calls(cli, call, flags=("--no-restrict-paths", *ALLOWED))
    assert CANARY in text
    (text,), _ = run_calls(cli, call, flags=("--no-restrict-paths", "--restrict-paths", *ALLOWED))
    assert CANARY not in text
    (text,), _ = run_calls(cli, call, flags=("--workspace", str(outside), *ALLOWED))
    assert CANARY in text


@pytest.mark.parametrize(
    "text", ["{outside}/f.txt", "file", "out/f.txt", "../outside/f.txt", "up/outside/f.txt"]
)
def test_no_attachment_leaves_the_fence_even_when_a_person_expands_files(cli, outside, text):
    put(cli, outside)
    name = text.format(outside=outside)
    run_calls(cli, ("Glob", {"pattern": "*"}))
    for flags in ((), ("--expand-files",)):
        cli.script(wire.exchange(wire.text("ok")))
        done = cli.run("-p", f"look at @{name}", *flags)
        assert f"@{name} is not attached: is outside the workspace" in done.err, done.err
    assert CANARY not in "".join(request.body.decode() for request in cli.server.requests)
