"""`/add-dir` through the real command: a directory for the session, in everything that has one."""

from __future__ import annotations

import json
import shutil

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


def lines(*prompts: str) -> bytes:
    return b"".join(json.dumps({"type": "user", "content": text}).encode() + b"\n" for text in prompts)


def results(cli: Cli) -> list[tuple[bool, str]]:
    """Every result of a tool that the last request tells of: whether it is an error, and its words."""
    blocks = [
        block
        for message in cli.bodies()[-1]["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    return [(bool(block.get("is_error")), json.dumps(block["content"])) for block in blocks]


def test_tools_may_go_where_they_might_not_before_and_the_change_is_kept(cli: Cli) -> None:
    other = cli.work.parent / "other place"
    other.mkdir()
    (other / "a.txt").write_text("of the other place\n", encoding="utf-8")
    read = wire.tool_use("Read", {"path": f"{other}/a.txt"})
    new = wire.tool_use("Write", {"path": f"{other}/b.txt", "content": "new\n"})
    cli.script(
        wire.exchange(read),
        wire.exchange(wire.text("no")),
        wire.exchange(read),
        wire.exchange(new),
        wire.exchange(wire.text("yes")),
    )
    flags = ("--session", "s", "--permission-mode", "acceptEdits")
    prompts = ("first", f"/add-dir '{other}'", "/add-dir", "second", "/diff")
    done = cli.run(*FRAMES, *flags, stdin=lines(*prompts))
    assert done.code == 0, done.err
    (before, _), (after, text), (written, _) = results(cli)
    assert (before, after, written) == (True, False, False)
    assert "of the other place" in text
    shown = [frame["content"] for frame in done.of("system") if frame["subtype"] == "local_command_output"]
    assert f"{other} is a working directory until this session ends" in shown[0]
    assert shown[1].startswith(f"{cli.work}\n{other}")
    assert f"+++ b/{other}/b.txt" in shown[2]
    kept = cli.home / ".config" / "caliban" / "settings.toml"
    assert not kept.exists() and not (cli.work / ".caliban").exists()
    cli.script(wire.exchange(read), wire.exchange(wire.text("no")))
    assert cli.run("-p", "third", "-r", "s").code == 0
    assert results(cli)[-1][0]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_command_in_the_sandbox_may_write_there_and_not_beside_it(cli: Cli) -> None:
    other, beside = cli.work.parent / "other", cli.work.parent / "beside"
    for folder in (other, beside):
        folder.mkdir()
    (other / ".git").mkdir()
    places = (f"{beside}/made", f"{other}/.git/config", f"{other}/made")
    (cli.work / "go.sh").write_text("".join(f"echo x > {place}\n" for place in places), encoding="utf-8")
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": "sh go.sh"})), wire.exchange(wire.text("done"))
    )
    flags = ("--sandbox", "--allow", "Bash")
    done = cli.run(*FRAMES, *flags, stdin=lines(f"/add-dir {other}", "go"))
    assert done.code == 0, done.err
    assert (other / "made").exists(), results(cli)
    assert not (beside / "made").exists() and not (other / ".git" / "config").exists()


BAD = [
    "nowhere",
    "a.txt",
    "..",
    "/",
    "~",
    "~/.ssh",
    "~/.config/caliban",
    ".",
    "sub",
    "\x00",
    "x" * 5000,
    "\x1b[2J",
    "''",
]


def test_what_is_no_directory_or_opens_too_much_is_refused_by_name(cli: Cli) -> None:
    (cli.work / "a.txt").write_text("", encoding="utf-8")
    (cli.work / "sub").mkdir()
    (cli.home / ".ssh").mkdir()
    (cli.home / ".config" / "caliban").mkdir(parents=True, exist_ok=True)
    (cli.work / "link").symlink_to(cli.home / ".ssh")
    bad = [*BAD, "link"]
    done = cli.run(*FRAMES, stdin=lines(*(f"/add-dir {text}" for text in bad), "/add-dir"))
    texts = [frame.get("result") or frame.get("error") or "" for frame in done.of("result")]
    errors = [frame["is_error"] for frame in done.of("result")]
    assert errors == [*(True for _ in bad), False], list(zip(bad, texts, strict=False))
    shown = [frame["content"] for frame in done.of("system") if frame["subtype"] == "local_command_output"]
    assert shown[-1].split("\n\n")[0] == str(cli.work)


def test_a_run_of_nothing_else_says_how_a_prompt_has_one(cli: Cli) -> None:
    done = cli.run("-p", "/add-dir /usr/share")
    assert done.code != 0 and "does nothing else" in done.err and "additional_directories" in done.err


def test_on_the_terminal_at_signs_find_its_files_and_a_prompt_brings_them(cli: Cli) -> None:
    other = cli.work.parent / "other"
    other.mkdir()
    (other / "distant.txt").write_text("far away\n", encoding="utf-8")
    cli.script(wire.exchange(wire.text("I see it.")))
    with on_screen(cli, columns=120) as screen:
        screen.wait(" · ")
        screen.type("/add-dir ../other")
        screen.wait("/add-dir ../other")
        screen.press("enter")
        screen.wait("is a working directory until this session")
        screen.type("look at @distant")
        screen.wait(f"{other}/distant.txt")
        screen.press("tab")
        screen.wait(f"@{other}/distant.txt")
        screen.press("enter")
        screen.wait("I see it.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "far away" in json.dumps(cli.bodies()[0])
