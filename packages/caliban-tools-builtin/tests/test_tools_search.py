"""Glob and Grep: the same answers from ripgrep and from Python, ignore rules kept, nothing executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, wait_until

from caliban_common.tool import ToolContext
from caliban_process import Runner
from caliban_tools_builtin.fence import Fence
from caliban_tools_builtin.search import scan
from caliban_tools_builtin.search.engine import Query, SearchEngine, find_ripgrep, ripgrep
from caliban_tools_builtin.search.glob import Glob
from caliban_tools_builtin.search.grep import Grep
from caliban_tools_builtin.search.inside import Sight

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")


@pytest.fixture(params=["ripgrep", "python"])
def search(request, ws):
    """`search(name, **arguments)` with either engine."""
    engine_path = None if request.param == "ripgrep" else ""

    def call(name: str, *, restrict: bool = True, readable=None, deadline_s=HANG_S, **args):
        fence = Fence(ws, restrict=restrict)
        engine = SearchEngine(ws, Runner(), ripgrep=engine_path, deadline_s=deadline_s)
        sight = Sight(path=readable, file=readable)
        tool = Glob(fence, engine, sight) if name == "Glob" else Grep(fence, engine, sight)
        return anyio.run(tool.invoke, args, CONTEXT)

    return call


def write(root: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def tree(ws):
    write(
        ws,
        **{
            ".gitignore": "node_modules/\n*.log\n!keep.log\n/top.txt\n",
            "node_modules/x/README.md": "x\n",
            "app.log": "x\n",
            "keep.log": "x\n",
            "top.txt": "x\n",
            "docs/a.md": "x one\nline two\n",
            "docs/top.txt": "x\n",
            "docs/.ignore": "secret*\n",
            "docs/secret.md": "x\n",
            ".github/workflows/ci.yml": "x needle\n",
            ".git/config": "x\n",
            "naïve.txt": "x\n",
            "a\tb": "x\n",
            "日本.md": "x\n",
        },
    )
    return ws


def rows(output) -> list[str]:
    assert not output.is_error, output.text
    return output.text.split("\n")[1:]


def test_glob_lists_what_git_does_not_ignore(search, tree):
    assert (
        search("Glob", pattern="**/*.md").text == "→ Glob '**/*.md' matched 2 files:\n  docs/a.md\n  日本.md"
    )
    assert rows(search("Glob", pattern="**/*")) == [
        f"  {name}" for name in ('"a\\tb"', "docs/a.md", "docs/top.txt", "keep.log", "naïve.txt", "日本.md")
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.md", ["日本.md"]),
        ("docs/*", ["docs/a.md", "docs/top.txt"]),
        ("d*/*.md", ["docs/a.md"]),
        ("**/{a,日本}.md", ["docs/a.md", "日本.md"]),
        ("**/[a-b].md", ["docs/a.md"]),
        ("docs/a.md", ["docs/a.md"]),
        (".github/**/*.yml", [".github/workflows/ci.yml"]),
        ("**/.git*", [".gitignore"]),
        ("none/*", []),
        ("**/*.log", ["keep.log"]),
        ("./docs/*.md", ["docs/a.md"]),
    ],
)
def test_glob_matches_by_path(search, tree, pattern, names):
    assert rows(search("Glob", pattern=pattern)) == [f"  {name}" for name in names]


def test_glob_starts_from_a_directory(search, tree):
    assert rows(search("Glob", pattern="*.md", path="docs")) == ["  docs/a.md"]
    assert search("Glob", pattern="*", path="docs/a.md").is_error
    assert search("Glob", pattern="*", path="nowhere").is_error


def test_no_file_is_a_plain_answer(search, tree):
    assert search("Glob", pattern="*.zig").text == "→ Glob '*.zig' matched 0 files"
    assert search("Grep", pattern="zig").text == "→ Grep 'zig': no matches"


def test_an_ignored_directory_is_searched_when_it_is_named(search, tree):
    assert rows(search("Glob", pattern="node_modules/**/*.md")) == ["  node_modules/x/README.md"]
    assert rows(search("Grep", pattern="x", path="node_modules")) == ["node_modules/x/README.md:1:x"]
    assert rows(search("Grep", pattern="x", path="app.log")) == ["app.log:1:x"]


def test_a_rule_above_that_hides_everything_gives_way_to_a_named_path(search, ws, tmp_path):
    home = tmp_path / "home"
    write(home, **{".gitignore": "*\n", ".caliban/hooks/a.py": "# TODO\n# FIXME\n"})
    output = search("Grep", pattern="TODO|FIXME", path="~/.caliban/hooks", restrict=False)
    assert rows(output) == [f"{home}/.caliban/hooks/a.py:1:# TODO", f"{home}/.caliban/hooks/a.py:2:# FIXME"]


def test_at_most_two_hundred_files_are_listed_and_the_rest_is_counted(search, ws):
    for number in range(250):
        (ws / f"f{number:03}").write_bytes(b"")
    lines = search("Glob", pattern="*").text.split("\n")
    assert (lines[0], lines[1], lines[200]) == ("→ Glob '*' matched 250 files:", "  f000", "  f199")
    assert lines[201] == "[50 more are not shown: give a narrower pattern or path]" and len(lines) == 202


def test_grep_gives_path_line_and_text(search, tree):
    assert search("Grep", pattern="x|two", path="docs").text == (
        "→ Grep 'x|two': 3 matches\ndocs/a.md:1:x one\ndocs/a.md:2:line two\ndocs/top.txt:1:x"
    )
    assert search("Grep", pattern="line").text == "→ Grep 'line': 1 match\ndocs/a.md:2:line two"


def test_grep_searches_dot_files_but_not_git(search, tree):
    lines = rows(search("Grep", pattern="x"))
    assert ".github/workflows/ci.yml:1:x needle" in lines
    assert not [row for row in lines if row.startswith((".git/", "node_modules", "app.log", "docs/secret"))]
    assert rows(search("Grep", pattern="x", path=".git")) == [".git/config:1:x"]


@pytest.mark.parametrize(
    ("include", "names"),
    [
        ("*.md", ["docs/a.md", "日本.md"]),
        ("*.{md,txt}", ["docs/a.md", "docs/top.txt", "naïve.txt", "日本.md"]),
        (
            "*.*",
            [".github/workflows/ci.yml", "docs/a.md", "docs/top.txt", "keep.log", "naïve.txt", "日本.md"],
        ),
        (".github/workflows/*.{yml,yaml}", [".github/workflows/ci.yml"]),
        ("workflows/*.yml", [".github/workflows/ci.yml"]),
        ("docs/**", ["docs/a.md", "docs/top.txt"]),
        ("/docs/*.md", ["docs/a.md"]),
        ("/workflows/*.yml", []),
        ("[a-b].md", ["docs/a.md"]),
        ("*.zig", []),
    ],
)
def test_grep_is_narrowed_by_name_or_by_path_at_any_depth(search, tree, include, names):
    lines = rows(search("Grep", pattern="^x", include=include))
    assert sorted(row.split(":")[0] for row in lines if row[0] != "[") == sorted(names)


def test_grep_stops_at_the_number_of_matches_that_was_asked_for(search, ws):
    write(ws, a="x\n" * 60, b="x\n" * 60)
    lines = search("Grep", pattern="x").text.split("\n")
    assert lines[0] == "→ Grep 'x': 100 matches" and lines[-1].startswith("[stopped at 100 matches")
    assert search("Grep", pattern="x", max_matches=120).text.endswith("b:60:x")
    assert search("Grep", pattern="x", max_matches=501).is_error


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}"])
def test_a_bad_expression_is_an_error(search, tree, pattern):
    output = search("Grep", pattern=pattern)
    assert output.is_error and "regex parse error" in output.text and "--" not in output.text


@pytest.mark.parametrize("pattern", ["", "a\0b", "\ud800", "x" * 20_000])
def test_what_cannot_be_searched_for_is_refused(search, tree, pattern):
    assert search("Grep", pattern=pattern).is_error


def test_encodings_line_ends_and_binary_files(search, ws):
    write(ws, crlf=b"a\r\nend\r\n", latin="caf\xe9 end".encode("latin-1"), binary=b"\0\1 end")
    write(ws, utf16="héllo end\n".encode("utf-16"), long=b"end " + b"y" * 100_000)
    lines = rows(search("Grep", pattern="end$"))
    assert lines == ["crlf:2:end", "latin:1:café end", "utf16:1:héllo end"]
    assert rows(search("Grep", pattern="end", path="binary")) == ["binary: binary file matches"]
    (row,) = rows(search("Grep", pattern="end", path="long"))
    assert len(row) < 600 and "omitted" in row


def test_a_hopeless_expression_ends_in_time(search, ws):
    write(ws, a="a" * 100_000 + "b\n")
    output = search("Grep", pattern="(a+)+$", deadline_s=1.0)  # without a deadline: not in this life
    assert not output.is_error and "a:1:" not in output.text


def test_links_are_not_followed(search, ws, tmp_path):
    write(tmp_path, **{"outside/secret": "x\n"})
    write(ws, a="x\n")
    (ws / "out").symlink_to(tmp_path / "outside")
    (ws / "loop").symlink_to(".")
    (ws / "file").symlink_to("a")
    assert rows(search("Grep", pattern="x")) == ["a:1:x"]
    assert rows(search("Glob", pattern="**/*")) == ["  a", "  file"]
    assert search("Grep", pattern="x", path="out").is_error
    assert search("Glob", pattern="out/*").is_error


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "{ws}/../*", "~/*"])
def test_a_pattern_with_a_root_of_its_own_is_fenced(search, ws, pattern):
    output = search("Glob", pattern=pattern.format(ws=ws))
    assert output.is_error and "outside the workspace" in output.text
    assert rows(search("Glob", pattern=f"{ws}/*")) == []


def test_what_may_not_be_read_is_neither_listed_nor_shown(search, ws):
    write(ws, **{"a.txt": "KEY\n", ".env": "KEY\n", "secret/b.txt": "KEY\n"})

    def readable(path: str) -> bool:
        return not path.endswith("/.env") and "/secret/" not in path

    assert rows(search("Grep", pattern="KEY", readable=readable)) == ["a.txt:1:KEY"]
    assert rows(search("Glob", pattern="**", readable=readable)) == ["  a.txt", "[1 file hidden by rules]"]
    assert rows(search("Glob", pattern="secret/**", readable=readable)) == ["[1 file hidden by rules]"]
    assert rows(search("Grep", pattern="KEY", path=".env", readable=readable)) == []


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_a_pipe_or_device_is_refused_unread(search, ws, name):
    os.mkfifo(ws / "pipe")
    write(ws, a="x\n")
    output = search("Grep", pattern="x", path=name)
    assert output.is_error and "not a regular file" in output.text
    assert rows(search("Grep", pattern="x")) == ["a:1:x"]


def test_patterns_are_never_options_nor_shell_text(search, ws, tmp_path, monkeypatch):
    pwned = tmp_path / "PWNED"
    script = tmp_path / "p.sh"
    script.write_text(f"#!/bin/sh\ntouch {pwned}\n")
    script.chmod(0o755)
    config = tmp_path / "home" / ".ripgreprc"
    config.write_text(f"--pre={script}\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    write(ws, **{"-Xsh": "x\n", "a": "--pre\n"})
    assert rows(search("Glob", pattern="-Xsh")) == ["  -Xsh"]
    assert rows(search("Grep", pattern="x", include="-Xsh")) == ["-Xsh:1:x"]
    assert rows(search("Grep", pattern="x", path="-Xsh")) == ["-Xsh:1:x"]
    assert rows(search("Grep", pattern="--pre")) == ["a:1:--pre"]
    assert rows(search("Grep", pattern=f"x; touch {pwned} #")) == []
    assert rows(search("Grep", pattern=f"--pre={script}")) == []
    assert not pwned.exists()


def test_ripgrep_of_the_project_is_not_used(ws, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "prefix"))
    for directory in (ws / "bin", tmp_path / "tools"):
        write(directory, rg="#!/bin/sh\n")
        (directory / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"bin:{ws}/bin:{tmp_path}/tools")
    assert find_ripgrep(ws) == f"{tmp_path}/tools/rg"
    monkeypatch.setenv("PATH", f"bin:{ws}/bin")
    assert find_ripgrep(ws) is None


def test_ripgrep_is_never_told_to_override_ignore_files():
    argv = ripgrep("rg", Query(pattern="x", name="*.py", hidden=True))
    assert [word for word in argv if word.startswith(("-g", "--glob"))] == ["--glob=!.git"]
    assert argv[-2:] == ("--", "./")


@pytest.mark.parametrize("damage", ["no commits", "missing object", "unreadable", "file", "bare"])
def test_odd_repositories_are_searched_all_the_same(search, ws, damage):
    if damage == "file":
        write(ws, **{".git": "gitdir: /nowhere\n"})
    else:
        subprocess.run(["git", "init", "-q", *(["--bare"] if damage == "bare" else []), str(ws)], check=True)
    write(ws, **{"a.md": "needle\n", "naïve.txt": "needle\n"})
    if damage == "missing object":
        write(ws / ".git", HEAD="0123456789012345678901234567890123456789\n")
    if damage == "unreadable":
        (ws / ".git").chmod(0)
    try:
        assert {"a.md:1:needle", "naïve.txt:1:needle"} == set(rows(search("Grep", pattern="needle")))
        assert rows(search("Glob", pattern="*.md")) == ["  a.md"]
    finally:
        if damage == "unreadable":
            (ws / ".git").chmod(0o755)


def test_a_search_that_is_cancelled_leaves_no_process(ws, anyio_backend):
    for number in range(300):
        (ws / f"f{number}").write_bytes(b"y\n" * 50_000)
    tool = Grep(Fence(ws, restrict=True), SearchEngine(ws, Runner()), Sight())

    async def main() -> bool:
        with anyio.move_on_after(0.02):
            await tool.invoke({"pattern": "no(t|w)here.*q"}, CONTEXT)
        return True

    assert anyio.run(main, backend=anyio_backend)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    wait_until(lambda: "rg" not in [name_of(pid) for pid in children.read_text().split()])


def name_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


def test_a_file_too_large_to_be_read_at_once_is_searched_to_its_end(search, ws):
    line = b"a" * 999_999 + b"\n"
    with (ws / "large.log").open("wb") as file:
        for _ in range(101):
            file.write(line)
        file.write(b"the needle\n")
    assert "large.log:102:the needle" in search("Grep", pattern="needle").text


def test_a_large_file_in_utf16_is_searched_to_its_end(ws):
    with (ws / "large.txt").open("wb") as file:
        file.write("\ufeff".encode("utf-16-le"))
        for _ in range(101):
            file.write(("a" * 499_999 + "\n").encode("utf-16-le"))
        file.write("die Nädel\n".encode("utf-16-le"))
    assert list(scan._lines_of(str(ws / "large.txt")))[-1] == (102, "die Nädel".encode())
