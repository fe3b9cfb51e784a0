"""Names and encodings that searches trip over: links, brackets, control characters, odd bytes."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import anyio
import pytest
from extent_kit import some

from caliban_common.tool import ToolContext
from caliban_process import Runner
from caliban_tools_builtin.fence import Fence, shown_name
from caliban_tools_builtin.search.engine import SearchEngine
from caliban_tools_builtin.search.glob import Glob
from caliban_tools_builtin.search.grep import Grep
from caliban_tools_builtin.search.inside import Sight

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX")


@pytest.fixture(params=["ripgrep", "python"])
def search(request, ws):
    """`search(name, **arguments)` with either engine: the lines of the answer."""

    def call(name: str, readable=None, **args) -> list[str]:
        fence = Fence(ws, restrict=True)
        engine = SearchEngine(ws, Runner(), ripgrep=None if request.param == "ripgrep" else "")
        sight = Sight(path=readable, file=readable)
        tool = Glob(fence, engine, sight) if name == "Glob" else Grep(fence, engine, sight)
        return anyio.run(tool.invoke, args, CONTEXT).text.splitlines()

    return call


def write(root: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_a_link_to_a_file_is_listed_and_one_to_a_directory_is_not_entered(search, ws, tmp_path):
    write(
        ws, **{"AGENTS.md": "x", "deep/er/a.md": "x", ".gitignore": "hidden*\n", "ignored/.gitignore": "*\n"}
    )
    write(tmp_path / "outside", **{"secret.md": "x"})
    (ws / "CLAUDE.md").symlink_to("AGENTS.md")
    (ws / "deep/link.md").symlink_to("er/a.md")
    (ws / "only").mkdir()
    (ws / "only/foo").symlink_to("../AGENTS.md")
    (ws / "away").symlink_to(tmp_path / "outside")
    (ws / "gone.md").symlink_to("nothing")
    (ws / "hidden.md").symlink_to("AGENTS.md")
    (ws / "ignored/l.md").symlink_to("../AGENTS.md")
    assert search("Glob", pattern="CLAUDE.md")[1:] == ["  CLAUDE.md"]
    assert search("Glob", pattern="*.md")[1:] == ["  AGENTS.md", "  CLAUDE.md"]
    assert search("Glob", pattern="only/foo")[1:] == ["  only/foo"]
    assert search("Glob", pattern="**/*.md")[1:] == [
        "  AGENTS.md",
        "  CLAUDE.md",
        "  deep/er/a.md",
        "  deep/link.md",
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("src/app/[locale]/(auth)/**", ["src/app/[locale]/(auth)/page.tsx"]),
        ("src/app/[locale]/(auth)/page.tsx", ["src/app/[locale]/(auth)/page.tsx"]),
        ("**/[locale]/**/*.ts[x]", ["src/app/[locale]/(auth)/page.tsx"]),
        ("[ab].txt", ["a.txt"]),
        ("[xyz].txt", []),
    ],
)
def test_brackets_that_match_nothing_are_names(search, ws, pattern, names):
    write(ws, **{"src/app/[locale]/(auth)/page.tsx": "needle\n", "a.txt": "x", "[ab].txt": "x"})
    assert search("Glob", pattern=pattern)[1:] == [f"  {name}" for name in names]


def test_the_include_of_a_search_may_name_brackets(search, ws):
    write(ws, **{"app/[id]/page.tsx": "needle\n"})
    assert search("Grep", pattern="needle", include="[id]/*.tsx")[1:] == ["app/[id]/page.tsx:1:needle"]


@pytest.mark.parametrize("include", ["*.md,*.sh", "!*.md", "*.(md|sh)", "d", "*.rs"])
def test_an_include_that_fits_no_file_is_told(search, ws, include):
    write(ws, **{"a.md": "needle\n", "b.sh": "needle\n", "d/c.md": "needle\n"})
    lines = search("Grep", pattern="needle", include=include)
    assert lines[0] == "→ Grep 'needle': no matches"
    assert lines[1].startswith(f"[no file there fits include {include!r}")


def test_an_include_that_fits_says_nothing_of_itself(search, ws):
    write(ws, **{"a.md": "x\n"})
    assert search("Grep", pattern="needle", include="*.md") == ["→ Grep 'needle': no matches"]


@pytest.mark.parametrize("pattern", ["café", "crème", "“quoted”", "caf.", r"caf\w", "caf[é]"])
def test_text_in_windows_1252_is_found(search, ws, pattern):
    text = "x\r\nle café, la crème, “quoted”\r\n"
    write(ws, **{"old.txt": text.encode("cp1252"), "new.txt": "nothing\n"})
    assert search("Grep", pattern=pattern)[1:] == ["old.txt:2:le café, la crème, “quoted”"]


def test_text_in_both_encodings_is_found_once_each(search, ws):
    write(
        ws,
        **{"old.txt": "café\n".encode("cp1252"), "new.txt": "café\n", "wide.txt": "café\n".encode("utf-16")},
    )
    lines = search("Grep", pattern="café")[1:]
    assert lines == ["new.txt:1:café", "old.txt:1:café", "wide.txt:1:café"]


@pytest.mark.parametrize("name", ["nl\nx.txt", "tab\tx.txt", 'q"x.txt', "esc\x1b[2Jx.txt", "bi\u202ex.txt"])
def test_names_with_control_characters_are_quoted(search, ws, name):
    write(ws, **{name: "needle\n", "plain.txt": "needle\n"})
    shown = shown_name(name)
    assert "\n" not in shown
    assert shown.isprintable()
    assert search("Grep", pattern="needle")[1:] == sorted([f"{shown}:1:needle", "plain.txt:1:needle"])
    assert sorted(search("Glob", pattern="*.txt")[1:]) == sorted([f"  {shown}", "  plain.txt"])


def test_a_name_that_is_no_utf8_is_listed_and_files_hidden_by_rules_are_counted(search, ws):
    (ws / "sub").mkdir()
    for name in (b"\xff.txt", b"a.txt", b"b.txt"):
        Path(os.fsdecode(os.fsencode(ws / "sub") + b"/" + name)).write_text("needle\n")

    def readable(path: str) -> bool:
        return not path.endswith("/a.txt")

    assert search("Glob", readable, pattern="sub/*")[1:] == [
        "  sub/b.txt",
        r'  "sub/\xff.txt"',
        "[1 file hidden by rules]",
    ]
    assert search("Grep", readable, pattern="needle")[1:] == [
        r'"sub/\xff.txt":1:needle',
        "sub/b.txt:1:needle",
    ]


def test_hidden_files_are_listed_where_nothing_else_matches(search, ws):
    write(ws, **{".github/workflows/ci.yml": "x", "a.txt": "x"})
    assert search("Glob", pattern="**/ci.yml")[1:] == [
        "  .github/workflows/ci.yml",
        "[only hidden files match]",
    ]


def test_a_directory_that_is_swapped_for_a_link_gives_nothing_away(search, ws, tmp_path):
    outside = tmp_path / "outside"
    write(ws, **{f"sub/in{number}.txt": "needle inside\n" for number in range(20)})
    write(
        outside, **{f"in{number}.txt": "needle OUTSIDE\n" for number in range(20)}, **{"secret.txt": "needle"}
    )
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(ws / "sub", ws / ".parked")
            (ws / "sub").symlink_to(outside)
            (ws / "sub").unlink()
            os.rename(ws / ".parked", ws / "sub")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in some(range(15)):
            shown = "\n".join((*search("Grep", pattern="needle"), *search("Glob", pattern="**/*.txt")))
            assert "OUTSIDE" not in shown
            assert "secret" not in shown
    finally:
        stop.set()
        thread.join()


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/proc/self/mem"])
@pytest.mark.parametrize("name", [".gitignore", "sub/.ignore", ".git/info/exclude"])
def test_an_ignore_file_that_is_none_is_left_out_and_the_others_count(search, ws, kind, name):
    write(ws, **{"sub/.rgignore": "hidden\n", "sub/hidden": "x\n", "sub/a": "x\n"})
    odd = ws / name
    odd.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.symlink_to(kind)
    assert search("Grep", pattern="x") == ["→ Grep 'x': 1 match", "sub/a:1:x"]
    assert search("Glob", pattern="**/*") == ["→ Glob '**/*' matched 1 file:", "  sub/a"]


def test_what_ignore_files_hide_is_not_said_to_be_missing(search, ws):
    write(ws, **{".gitignore": "*.log\ndist/\n", "a.log": "x\n", "dist/b.js": "x\n", ".env.log": "x\n"})

    def readable(path: str) -> bool:
        return not path.endswith(".js")

    hidden = "[ignore files hide every file that matches: name the path of one to search it]"
    assert search("Glob", pattern="**/*.log")[1:] == [hidden]
    assert search("Glob", pattern="**/*.js")[1:] == [hidden]
    assert search("Glob", pattern="**/*.js", readable=readable)[1:] == []
    assert search("Glob", pattern="**/*.py")[1:] == []
    hidden = "[ignore files hide every file that fits include '*.log': name the path of one to search it]"
    assert search("Grep", pattern="x", include="*.log")[1:] == [hidden]
    lines = search("Grep", pattern="x", include="*.js", readable=readable)
    assert lines[1:] == ["[no file there fits include '*.js']"]


def test_of_a_large_tree_links_near_its_root_are_listed(search, ws, monkeypatch):
    monkeypatch.setattr("caliban_tools_builtin.search.links.MAX_ENTRIES", 10)
    (ws / "deep").mkdir()
    for number in range(20):
        (ws / f"f{number}.txt").write_text("x")
    (ws / "near.md").symlink_to("f1.txt")
    (ws / "deep" / "far.md").symlink_to("../f1.txt")
    assert search("Glob", pattern="**/*.md") == ["→ Glob '**/*.md' matched 1 file:", "  near.md"]
