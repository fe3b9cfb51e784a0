"""Real reports of users of such tools about files, searches and commands, by their numbers.

Which report is shown where is in `test_reports.py`. Calls come one a turn, and what they leave on the disk is
compared byte for byte.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from caliban_common.testing import sample_image
from caliban_provider_anthropic.testing import wire

FRAMES = ("--output-format", "stream-json")
Call = tuple[str, Mapping[str, Any]]


def read(path: str, **more: Any) -> Call:
    return "Read", {"path": path, **more}


def edit(path: str, old: str, new: str) -> Call:
    return "Edit", {"path": path, "old_string": old, "new_string": new}


def write(path: str, content: str) -> Call:
    return "Write", {"path": path, "content": content}


def bash(command: str, timeout_seconds: int = 300) -> Call:
    return "Bash", {"command": command, "timeout_seconds": timeout_seconds}


def glob(pattern: str, path: str = ".") -> Call:
    return "Glob", {"pattern": pattern, "path": path}


def grep(pattern: str, **more: str) -> Call:
    return "Grep", {"pattern": pattern, **more}


def results(bodies: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The parts of each tool result that the last of `bodies` shows."""
    content = [block for message in bodies[-1]["messages"] for block in message["content"]]
    return [block["content"] for block in content if block["type"] == "tool_result"]


def run(cli, *calls: Call, flags: Sequence[str] = ("--no-permissions",)) -> list[str]:
    """What the model reads of `calls`, one a turn; a strict server takes every request."""
    cli.script(*(wire.exchange(wire.tool_use(*call)) for call in calls), wire.exchange(wire.text("done")))
    done = cli.run("-p", "go", *FRAMES, *flags)
    assert (done.code, cli.server.refused) == (0, ()), done.err
    parts = results(cli.bodies())
    assert len(parts) == len(calls)
    return ["".join(part.get("text", "") for part in result) for result in parts]


def put(folder: Path, files: Mapping[str, bytes | str]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


def found(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


MARK8 = b"\xef\xbb\xbf"


def changed(cli, changes: Sequence[tuple[str, bytes, Call, bytes]]) -> list[str]:
    """Each file as it was, a call, and the file as it must be after that."""
    put(cli.work, {name: before for name, before, _, _ in changes})
    texts = run(cli, *(call for _, _, call, _ in changes))
    assert found(cli.work, [change[0] for change in changes]) == {c[0]: c[3] for c in changes}
    return texts


def test_b018_an_edit_of_several_lines_matches_whatever_ends_them(cli):
    changed(
        cli,
        [
            (
                "crlf",
                b"a\r\nb\r\nc\r\n",
                edit("crlf", "a\nb", "a\nX\nb"),
                b"a\r\nX\r\nb\r\nc\r\n",
            ),
            ("cr", b"a\rb\rc\r", edit("cr", "a\nb", "a\nX\nb"), b"a\rX\rb\rc\r"),
            ("lf", b"a\nb\nc", edit("lf", "a\r\nb", "a\r\nX\r\nb"), b"a\nX\nb\nc"),
            ("mixed", b"a\r\nb\nc\r\n", edit("mixed", "b\nc", "b\nX\nc"), b"a\r\nb\nX\nc\r\n"),
            ("one line", b"a\r\nb\nc\r\n", edit("one line", "b", "B"), b"a\r\nB\nc\r\n"),
            (
                "several",
                b"a\r\nb\r\n",
                (
                    "MultiEdit",
                    {
                        "path": "several",
                        "edits": [
                            {"old_string": "a\nb", "new_string": "a\nX\nb"},
                            {"old_string": "X\n", "new_string": "Y\nZ\n"},
                        ],
                    },
                ),
                b"a\r\nY\r\nZ\r\nb\r\n",
            ),
        ],
    )


def test_b020_a_whole_file_keeps_its_mark_and_line_ends(cli):
    old = MARK8 + b"one\r\ntwo\r\n"
    changed(
        cli,
        [
            ("whole", old, write("whole", "one\ntwo\nthree\n"), MARK8 + b"one\r\ntwo\r\nthree\r\n"),
            ("marked", old, write("marked", "\ufeffone\r\ntwo\n"), MARK8 + b"one\r\ntwo\r\n"),
            ("edited", old, edit("edited", "two", "2"), MARK8 + b"one\r\n2\r\n"),
            ("lf", b"one\n", write("lf", "one\ntwo"), b"one\ntwo"),
            ("empty", b"", write("empty", "one\n"), b"one\n"),
        ],
    )
    run(cli, write("new", "a\nb\n"))
    assert (cli.work / "new").read_bytes() == b"a\nb\n"


def test_b023_bytes_that_are_no_utf8_stay_as_they_are(cli):
    texts = changed(
        cli,
        [
            (
                "cp1252",
                "O objetivo é testar".encode("cp1252"),
                edit("cp1252", "testar", "provar"),
                "O objetivo é provar".encode("cp1252"),
            ),
            ("latin", b"caf\xe9 \x81 a\n", edit("latin", "a\n", "b\n"), b"caf\xe9 \x81 b\n"),
            ("sjis", b"\x93\xfa\x96{ test\n", edit("sjis", "test", "best"), b"\x93\xfa\x96{ best\n"),
            (
                "stray",
                "né\n".encode() + b"\xff a\n",
                edit("stray", " a", " b"),
                "né\n".encode() + b"\xff b\n",
            ),
            # What an encoding cannot hold, or only may hold, is refused.
            ("arrow", b"\xe9t\xe9 a\n", edit("arrow", " a", " \u2192"), b"\xe9t\xe9 a\n"),
            ("guess", b"\x93\xfa\x96{ a\n", write("guess", "\u65e5\u672c\n"), b"\x93\xfa\x96{ a\n"),
        ],
    )
    assert ["Error" in text for text in texts] == [False] * 4 + [True] * 2
    assert "\ufffd" not in run(cli, read("cp1252"))[-1]


@pytest.mark.parametrize("order", ["le", "be"])
def test_b024_utf16_is_text_and_stays_what_it_is(cli, order):
    mark, code = (b"\xff\xfe", "utf-16-le") if order == "le" else (b"\xfe\xff", "utf-16-be")
    made = "héllo\r\nx 日\r\n"
    put(cli.work, {"a": mark + made.encode(code), "b": mark + made.encode(code), "bare": made.encode(code)})
    texts = run(cli, read("a"), edit("a", "héllo\nx", "hi\ny"), write("b", "hi\n"), edit("bare", "x", "y"))
    assert "héllo" in texts[0] and "x 日" in texts[0]
    assert found(cli.work, ["a", "b", "bare"]) == {
        "a": mark + "hi\r\ny 日\r\n".encode(code),
        "b": mark + "hi\r\n".encode(code),
        "bare": made.encode(code),
    }
    assert "binary" in texts[3]


def test_b025_straight_quotes_become_curly_ones(cli):
    curly = "\u2018%s\u2019"
    changed(
        cli,
        [
            ("q", b"echo '%s'\n", edit("q", "'%s'", curly), f"echo {curly}\n".encode()),
            ("back", f"echo {curly}\n".encode(), edit("back", curly, "'%s'"), b"echo '%s'\n"),
            ("dash", b"a - b\n", edit("dash", "a - b", "a \u2013 b"), "a \u2013 b\n".encode()),
            ("space", b"a b\n", edit("space", "a b", "a\u00a0b"), "a\u00a0b\n".encode()),
        ],
    )


def test_b028_a_link_stays_a_link(cli):
    put(cli.work, {"real.txt": "x", "a/b/t.txt": "one\n", "a/x.txt": "up\n"})
    links = {
        "link.txt": "real.txt",
        "chain": "link.txt",
        "whole": str(cli.work / "real.txt"),
        "dangling": "sub/none.txt",
        "alias": "a/b",
        "a/b/up": "../x.txt",
        "one": "other",
        "other": "one",
    }
    for name, target in links.items():
        (cli.work / name).symlink_to(target)
    texts = run(
        cli,
        write("link.txt", "y"),
        edit("link.txt", "y", "z"),
        edit("chain", "z", "zz"),
        write("whole", "zzz"),
        write("dangling", "new\n"),
        write("alias/up", "upped\n"),
        edit("alias/t.txt", "one", "two"),
        write("one", "x"),
    )
    assert {name: str((cli.work / name).readlink()) for name in links} == links
    assert found(cli.work, ["real.txt", "sub/none.txt", "a/x.txt", "a/b/t.txt"]) == {
        "real.txt": b"zzz",
        "sub/none.txt": b"new\n",
        "a/x.txt": b"upped\n",
        "a/b/t.txt": b"two\n",
    }
    assert ["Error" in text for text in texts] == [False] * 7 + [True]


def test_b029_modes_and_hard_links_stay(cli):
    modes = {"run.sh": 0o755, "secret": 0o600, "group": 0o2755, "odd": 0o1644, "none": 0o200}
    put(cli.work, dict.fromkeys((*modes, "one", "shared/f"), "old\n"))
    for name, mode in modes.items():
        (cli.work / name).chmod(mode)
    os.link(cli.work / "one", cli.work / "two")
    (cli.work / "shared").chmod(0o2775)
    (cli.work / "shared/f").chmod(0o660)
    readable = [name for name in (*modes, "one", "shared/f") if os.geteuid() == 0 or name != "none"]
    run(cli, *(edit(name, "old", "new") for name in readable), write("two", "both\n"))
    assert {name: stat.S_IMODE((cli.work / name).stat().st_mode) for name in modes} == modes
    assert stat.S_IMODE((cli.work / "shared/f").stat().st_mode) == 0o660
    assert found(cli.work, ["one", "two", "run.sh"]) == {
        "one": b"both\n",
        "two": b"both\n",
        "run.sh": b"new\n",
    }
    assert (cli.work / "one").stat().st_nlink == 2
    assert not list(cli.work.glob("**/.caliban-*"))


def test_b030_b031_staleness_is_of_content_and_heals_by_reading(cli):
    put(cli.work, {"f": "a\n"})
    texts = run(
        cli,
        read("f"),
        bash("touch -d '2 hours ago' f; cp f g; mv g f"),
        edit("f", "a", "b"),  # another file of another time, with what was read
        bash("echo more >> f"),
        edit("f", "b", "c"),
        write("f", "lost\n"),
        read("f"),
        edit("f", "b", "c"),
        write("f", "whole\n"),
    )
    assert [("stale" in text, "Error" in text) for text in texts] == [
        *[(False, False)] * 4,
        *[(True, True)] * 2,
        *[(False, False)] * 3,
    ]
    assert (cli.work / "f").read_bytes() == b"whole\n"


def test_b033_an_empty_old_text_wipes_nothing(cli):
    put(cli.work, {"keep": "keep\n", "blank": "\n", "empty": ""})
    nothing = {"path": "keep", "edits": [{"old_string": "", "new_string": "x"}]}
    texts = run(
        cli,
        edit("keep", "", "new\n"),
        ("MultiEdit", nothing),
        edit("blank", "", "new\n"),
        edit("empty", "", "new\n"),
        edit("missing", "", "new\n"),
    )
    assert found(cli.work, ["keep", "blank", "empty", "missing"]) == {
        "keep": b"keep\n",
        "blank": b"\n",
        "empty": b"new\n",
        "missing": b"new\n",
    }
    assert ["Error" in text for text in texts] == [True, True, True, False, False]


def test_b034_b037_the_texts_of_a_call_are_written_as_they_are(cli):
    deep = "            if c:\n                r = f()"
    put(cli.work, {"deep": f"def x():\n{deep}\n", "ws": "  \n\t lead and trail \n\n"})
    escaped = 'print("Hello\\nworld")\n'
    calls = [
        edit("deep", deep, deep.replace("f()", "g()")),
        edit("ws", "  \n\t lead", "\t\n  lead"),
        write("blank", "  \n\t x \n\n"),
        write("esc", escaped),
        edit("esc", '\\nworld"', '\\tworld\\\\"'),
        write("json", '{"a": "\\u0041\\"\\/"}'),
    ]
    # Pieces of one character cut everywhere, also between the two characters of an escape.
    cli.script(*(wire.exchange(wire.tool_use(*call, piece_chars=1)) for call in calls))
    cli.script(wire.exchange(wire.text("done")))
    assert cli.run("-p", "go", "--no-permissions").code == 0
    assert found(cli.work, ["deep", "ws", "blank", "esc", "json"]) == {
        "deep": f"def x():\n{deep.replace('f()', 'g()')}\n".encode(),
        "ws": b"\t\n  lead and trail \n\n",
        "blank": b"  \n\t x \n\n",
        "esc": b'print("Hello\\tworld\\\\")\n',
        "json": b'{"a": "\\u0041\\"\\/"}',
    }


def test_b036_tabs_are_shown_and_named(cli):
    put(cli.work, {"a.go": "\t\tx := 1\n", "b.py": "    y = 1\n"})
    texts = run(
        cli,
        read("a.go"),
        edit("a.go", "\t\tx := 1", "\t\tx := 2"),
        edit("a.go", "        x := 2", "        x := 3"),
        edit("b.py", "\ty = 1", "\ty = 3"),
    )
    assert "\t\tx := 1" in texts[0]
    assert "the file uses tabs" in texts[2]
    assert "the file uses spaces" in texts[3]
    assert found(cli.work, ["a.go", "b.py"]) == {"a.go": b"\t\tx := 2\n", "b.py": b"    y = 1\n"}


def test_b039_an_image_is_known_by_its_bytes_and_only_four_kinds_are_sent(cli):
    kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"]
    shown = {f"{kind[6:]}.{ending}": sample_image(kind) for kind in kinds for ending in ("png", "txt")}
    others = {
        "a.bmp": b"BM" + bytes(60),
        "a.tiff": b"II*\0" + bytes(60),
        "a.ico": b"\0\0\1\0\1\0" + bytes(60),
        "a.avif": b"\0\0\0\x18ftypavif" + bytes(40),
        "wave.webp": b"RIFF\x24\0\0\0WAVEfmt " + bytes(30),
        "cut.png": sample_image("image/png")[:-9],
    }
    texts = {"a.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>", "words.png": "words\n", "none.png": ""}
    put(cli.work, {**shown, **others, **texts})
    run(cli, *map(read, (*shown, *others, *texts)))
    sent = [
        [part["source"]["media_type"] for part in r if part["type"] == "image"] for r in results(cli.bodies())
    ]
    assert sent == [
        *([f"image/{name.partition('.')[0]}"] for name in shown),
        *([] for _ in (*others, *texts)),
    ]


def test_b040_output_of_any_bytes_is_text(cli):
    put(cli.work, {"real.png": sample_image("image/png")})
    texts = run(
        cli,
        bash("cat real.png"),
        bash("head -c 3000 /dev/urandom"),
        bash("cat real.png >&2; exit 3"),
        bash("printf 'a\\0b\\n'"),
        bash("printf '\\xff\\xfeh\\0i\\0'"),
    )
    assert [part["type"] for result in results(cli.bodies()) for part in result] == ["text"] * 5
    assert "binary output" in texts[0] and "binary output" in texts[1] and "binary output" in texts[2]
    assert not any("\0" in text for text in texts)
    assert "Exit code: 3" in texts[2]


ATTACHED = [
    (r"@foo\?bar.txt what?", ["foo?bar.txt"]),
    ('@"a b.txt", and @x,y.txt.', ["a b.txt", "x,y.txt"]),
    ("mail me@host.com, or git@x,y.txt", []),
    ("see (@naïve.txt)! `@semi;colon.txt`;", ["naïve.txt", "semi;colon.txt"]),
    ("@nai\u0308ve.txt @'a b.txt'", ["naïve.txt", "a b.txt"]),
    ("「@日本.md」を @x,y.txtと。", ["日本.md", "x,y.txt"]),
    ("@x,y.txt:12 @naïve.txt#L1-L3", ["x,y.txt", "naïve.txt"]),
]


@pytest.mark.parametrize(("prompt", "names"), ATTACHED)
def test_b042_files_are_attached_however_they_are_called(cli, prompt, names):
    for name in ("foo?bar.txt", "a b.txt", "x,y.txt", "naïve.txt", "semi;colon.txt", "日本.md"):
        (cli.work / name).write_text(f"<{name}>")
    cli.script(wire.exchange(wire.text("ok")))
    done = cli.run("-p", prompt)
    assert (done.code, done.out) == (0, "ok\n")
    block, *files = cli.bodies()[0]["messages"][0]["content"]
    assert block["text"] == prompt
    assert [file["text"].split("\n")[1] for file in files] == [f"<{name}>" for name in names]


@pytest.mark.parametrize("is_git", [False, True])
def test_b043_b044_b048_searches_keep_ignore_files_and_say_what_those_hide(cli, is_git):
    put(
        cli.work,
        {
            ".gitignore": "node_modules/\n*.log\n",
            ".ignore": "*.skip\n",
            "node_modules/x/README.md": "x\n",
            "app.log": "x\n",
            "b.skip": "x\n",
            "docs/a.md": "x\n",
            "repo/.github/workflows/ci.yml": "needle\n",
            "repo/.github/workflows/sub/no.yml": "needle\n",
        },
    )
    if is_git:
        subprocess.run(["git", "init", "-q", str(cli.work)], check=True)
    texts = run(
        cli,
        glob("**/*.md"),
        grep("x", include="*.*"),
        glob("**/*.md", "node_modules"),
        grep("x", path="app.log"),
        grep("needle", include=".github/workflows/*.{yml,yaml}"),
        grep("needle", path="repo", include="workflows/*.yml"),
        glob("**/*.log"),
        grep("x", include="*.log"),
        grep("x", include="*.none"),
    )
    assert [text.split("\n")[1:] for text in texts] == [
        ["  docs/a.md"],
        ["docs/a.md:1:x"],
        ["  node_modules/x/README.md"],
        ["app.log:1:x"],
        ["repo/.github/workflows/ci.yml:1:needle"],
        ["repo/.github/workflows/ci.yml:1:needle"],
        ["[ignore files hide every file that matches: name the path of one to search it]"],
        ["[ignore files hide every file that fits include '*.log': name the path of one to search it]"],
        ["[no file there fits include '*.none']"],
    ]


def test_b048_a_path_that_is_named_is_searched_although_rules_above_hide_it(cli):
    put(cli.home, {".gitignore": "*\n", ".caliban/hooks/a.py": "# TODO\n"})
    put(cli.work, {".gitignore": "*\n", ".caliban/hooks/b.py": "# TODO\n"})
    calls = (
        grep("TODO|FIXME", path="~/.caliban/hooks"),
        glob("*.py", "~/.caliban/hooks"),
        grep("TODO", path=".caliban/hooks"),
    )
    texts = run(cli, *calls, flags=("--no-permissions", "--no-restrict-paths"))
    assert [text.split("\n")[1:] for text in texts] == [
        [f"{cli.home}/.caliban/hooks/a.py:1:# TODO"],
        [f"  {cli.home}/.caliban/hooks/a.py"],
        [".caliban/hooks/b.py:1:# TODO"],
    ]


def test_b047_no_call_waits_for_a_pipe_or_reads_a_device(cli):
    os.mkfifo(cli.work / "p")
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(os.path.relpath(cli.work / "sock"))
    (cli.work / "to-p").symlink_to("p")
    (cli.work / "to-zero").symlink_to("/dev/zero")
    put(cli.work, {"f": "x\n"})
    names = ["p", "to-p", "to-zero", "sock", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/mem"]
    calls = [
        *map(read, names),
        *(grep("x", path=name) for name in ("p", "to-zero", "sock")),
        edit("p", "a", "b"),
        write("p", "a"),
        write("/dev/null", "a"),
    ]
    flags = ("--no-permissions", "--no-restrict-paths")
    texts = run(cli, *calls, grep("x"), bash("timeout 1 cat p"), flags=flags)
    assert ["not a regular file" in text for text in texts] == [True] * len(calls) + [False] * 2
    assert texts[-2] == "→ Grep 'x': 1 match\nf:1:x"
    assert "Exit code: 124" in texts[-1]


@pytest.mark.parametrize("name", [".gitignore", ".ignore", "a/b/.rgignore", ".git/info/exclude", "a/link"])
def test_b047_an_ignore_file_that_never_ends_holds_no_search_up(cli, name):
    put(cli.work, {"a/b/f": "x\n", "a/.gitignore": "hidden\n", "a/hidden": "x\n"})
    odd = cli.work / name
    odd.parent.mkdir(parents=True, exist_ok=True)
    if odd.name == "link":
        odd.with_name(".ignore").symlink_to("/dev/zero")
    else:
        os.mkfifo(odd)
    assert run(cli, grep("x"), glob("**/f")) == [
        "→ Grep 'x': 1 match\na/b/f:1:x",
        "→ Glob '**/f' matched 1 file:\n  a/b/f",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "work/CLAUDE.md",
        "work/.caliban/settings.toml",
        "work/.caliban/settings.json",
        "home/.config/caliban/settings.toml",
        "home/.config/caliban/agents/a.md",
        "home/.local/share/caliban/sessions/s.json",
    ],
)
def test_b047_a_start_does_not_wait_for_a_pipe(cli, name):
    odd = cli.home.parent / name
    odd.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(odd)
    cli.script(wire.exchange(wire.text("ok")))
    done = cli.run("-p", "hi", "--session", "s")
    if "settings" in name or "sessions" in name:
        assert done.code in (66, 78) and f"{odd} is a named pipe, not a regular file" in done.err
    else:
        assert (done.code, done.out) == (0, "ok\n")


@pytest.mark.parametrize("prompt", ["look at @p", "@/dev/zero"])
def test_b047_a_pipe_in_a_prompt_is_refused(cli, prompt):
    os.mkfifo(cli.work / "p")
    done = cli.run("-p", prompt, "--no-restrict-paths")
    assert done.code == 64 and "not a regular file" in done.err


REPOSITORIES = {
    "no commits": "git init -q",
    "detached": "git init -q; git add -A; git commit -qm x; git checkout -q --detach",
    "deleted": "git init -q; git add -A; git commit -qm x; rm gone.txt",
    "no objects": "git init -q; git add -A; git commit -qm x; rm -rf .git/objects/??",
    "bare": "git init -q --bare .",
    "nowhere": "echo 'gitdir: /nowhere' > .git",
    "pipe": "mkfifo .git",
    "no submodule": "git init -q; git add -A; git commit -qm x;"
    " git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub",
    "links": "git init -q; ln -s . loop; ln -s two one; ln -s one two",
    "wrong head": "git init -q; echo garbage > .git/HEAD",
    "wrong settings": "git init -q; echo '[[[' > .git/config",
    "program": "git init -q; git config core.fsmonitor 'touch pwned'",
}


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_b049_odd_repositories_are_worked_in_like_any_other(cli, kind):
    names = ["naïve.txt", "a\tb.txt", "日本.md", "gone.txt"]
    put(cli.work, dict.fromkeys(names, "needle\n"))
    author = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", **author}
    subprocess.run(["sh", "-c", REPOSITORIES[kind]], cwd=cli.work, env=env, check=True)
    cli.script(
        wire.exchange(wire.tool_use(*glob("*.txt")), wire.tool_use(*grep("needle"))),
        wire.exchange(wire.text("done")),
    )
    done = cli.run("-p", "see @日本.md", "--quiet")
    assert (done.code, done.out, done.err) == (0, "done\n", "")
    assert cli.bodies()[0]["messages"][0]["content"][1]["text"] == '<file path="日本.md">\nneedle\n\n</file>'
    listed, matched = (result[0]["text"].split("\n")[1:] for result in results(cli.bodies()))
    left = [name for name in names if kind != "deleted" or name != "gone.txt"]
    quoted = {name: json.dumps(name) if "\t" in name else name for name in left}
    assert sorted(listed) == sorted(f"  {shown}" for name, shown in quoted.items() if name.endswith(".txt"))
    assert sorted(matched) == sorted(f"{shown}:1:needle" for shown in quoted.values())
    assert not (cli.work / "pwned").exists()
