"""`/diff` through the real command: what the session changed, by its checkpoints."""

from __future__ import annotations

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

EDITS = ("--permission-mode", "acceptEdits", "--allow", "Bash", "--session", "s")


def write(path: str, content: str):
    return wire.tool_use("Write", {"path": path, "content": content})


def changed(cli: Cli) -> None:
    """A session of two prompts that change files, one of which somebody else has changed since."""
    (cli.work / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (cli.work / "gone.txt").write_text("bye\n", encoding="utf-8")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "a.txt"})),
        wire.exchange(wire.tool_use("Edit", {"path": "a.txt", "old_string": "two", "new_string": "2"})),
        wire.exchange(wire.tool_use("Bash", {"command": "rm gone.txt; printf '\\0' > b.bin"})),
        wire.exchange(wire.text("done")),
        wire.exchange(write("new.txt", "fresh \x1b[31mred\n")),
        wire.exchange(wire.text("done")),
    )
    assert cli.run("-p", "first", *EDITS).code == 0
    assert cli.run("-p", "second", *EDITS).code == 0


def test_all_that_the_session_changed_is_a_diff_and_so_is_what_a_prompt_changed(cli: Cli) -> None:
    changed(cli)
    (cli.work / "new.txt").write_text("fresh \x1b[31mred\nmine\n", encoding="utf-8")
    (cli.work / "other.txt").write_text("of nobody here\n", encoding="utf-8")
    done = cli.run("-r", "s", "-p", "/diff")
    assert done.code == 0, done.err
    whole = done.out
    assert "4 files changed since this session began: +3 -2" in whole
    assert "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" in whole
    assert "--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-bye\n" in whole
    assert "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+fresh \x1b[31mred\n+mine" in whole
    assert "# b.bin: no text, or too large to be shown" in whole
    assert "# new.txt: somebody else changed it since" in whole
    assert "other.txt" not in whole
    second = cli.run("-r", "s", "-p", "/diff 2").out
    assert "1 file changed since before prompt 2" in second and "a.txt" not in second
    assert [request for request in cli.server.requests if request.method == "POST"][6:] == []


def test_a_prompt_that_changed_nothing_is_one_that_rewind_lists_and_diff_knows(cli: Cli) -> None:
    cli.script(
        wire.exchange(write("a.txt", "a\n")),
        wire.exchange(wire.text("done")),
        wire.exchange(wire.text("only words")),
    )
    assert cli.run("-p", "first", *EDITS).code == 0
    assert cli.run("-p", "second", *EDITS).code == 0
    done = cli.run("-r", "s", "-p", "/diff 2")
    assert (done.code, done.err) == (0, "")
    assert "no file is another one than it was before prompt 2" in done.out
    assert "1 to 2 are kept" in cli.run("-r", "s", "-p", "/diff 3").err


@pytest.mark.parametrize("words", ["x", "-1", "0", "3", "1 2", "²", "99999999", "\x1b[31m"])
def test_what_is_no_prompt_of_the_session_is_said_to_be_none(cli: Cli, words: str) -> None:
    cli.script(wire.exchange(write("a.txt", "a\n")), wire.exchange(wire.text("done")))
    assert cli.run("-p", "first", *EDITS).code == 0
    done = cli.run("-r", "s", "-p", f"/diff {words}")
    assert done.code != 0
    assert "no prompt" in done.err or "takes the number of a prompt" in done.err
    assert "\x1b" not in done.err


def test_a_run_without_checkpoints_says_so_and_an_empty_session_has_changed_nothing(cli: Cli) -> None:
    assert "nothing was said yet" in cli.run("-p", "/diff").err
    cli.script(wire.exchange(wire.text("done")))
    assert cli.run("-p", "first", "--session", "s").code == 0
    assert "no file is another one than when this session began" in cli.run("-r", "s", "-p", "/diff").out
    done = cli.run("-r", "s", "-p", "/diff", "--no-checkpoints")
    assert done.code != 0 and "keeps no checkpoints" in done.err and "!git diff" in done.err


def test_a_terminal_draws_the_changes_with_line_numbers_and_shows_what_would_steer_it(cli: Cli) -> None:
    changed(cli)
    with on_screen(cli, "--resume", "s", rows=50) as screen:
        screen.wait(" · ")
        screen.type("/diff")
        screen.wait("/diff")
        screen.press("enter")
        text = screen.wait(lambda: "new.txt  +1 -0  new" in screen.text)
        assert "a.txt  +1 -1" in text and "gone.txt  +0 -1  deleted" in text
        assert "2 - two" in text and "2 + 2" in text
        assert "red" in text and b"\x1b[31mred" not in screen.sent
        screen.press("ctrl+d")
        assert screen.ended() == 0
