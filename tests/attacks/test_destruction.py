# ruff: noqa: SIM905 - a table of words reads best as words
"""A home, a root, the workspace or a repository's .git is deleted by nobody but a person who was asked."""

from __future__ import annotations

import pytest
from verdict_kit import Row, Verdicts

LATCHED = ("--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")
MODES = {
    "default": (),
    "acceptEdits": ("--permission-mode", "acceptEdits"),
    "dontAsk": ("--permission-mode", "dontAsk"),
    "auto-allow": ("--auto-allow",),
    "bypass with the latch": LATCHED,
}
TARGETS = """
~ ~/ ~/* "$HOME" $HOME/ "${HOME}" ${HOME:?} / /* // /. /.. /home /usr /etc . ./ .. ../.. ./* * "$PWD" $(pwd)
`pwd` .git ./.git .git/ "$PWD/.git" .g''it .gi? .[g]it .gi* {.git,x} /home/u /ws /ws/.git ~/. /proc/self/root
/proc/self/cwd /proc/self/cwd/.git
""".split()
DELETERS = (
    "rm -rf {}",
    "rm -r {}",
    "rm -fr -- {}",
    "rm -R {}",
    "rm --recursive --force {}",
    "rm --rec {}",
    "\\\\rm -rf {}".replace("\\\\", "\\"),
    "/bin/rm -rf {}",
    "'rm' -rf {}",
    "grm -rf {}",
    "sudo rm -rf {}",
    "env A=1 nice rm -rf {}",
    "true && rm -rf {}",
    "(rm -rf {})",
    "busybox rm -rf {}",
    "find {} -delete",
    "find {} -exec rm -rf -- '{{}}' +",
    "rm -rf build {}",
)
PARTS = (
    "rm -rf build",
    "rm -rf ./build/",
    "rm -rf build/*",
    'rm -rf "$PWD/build"',
    "rm -rf /tmp/some/where",
    "rm -rf ~/some/cache",
    "find build -delete",
    "find . -name '*.pyc' -delete",
    "rm a.txt",
)


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", MODES)
def test_what_destroys_is_never_waved_on(mode: str, target: str, place: Verdicts) -> None:
    """A rule for everything does not, and neither does a mode."""
    for deleter in DELETERS:
        command = place.placed(deleter.format(target))
        row = Row(("allow Bash",), {"command": command}, "ask", flags=MODES[mode])
        assert place.verdict(row) != "allow", command


@pytest.mark.parametrize("command", PARTS)
def test_what_deletes_a_part_needs_no_more_than_its_rule(command: str, place: Verdicts) -> None:
    assert place.verdict(Row(("allow Bash",), {"command": command}, "allow")) == "allow"


def test_without_the_latch_there_is_no_bypass(place: Verdicts) -> None:
    done = place.run("-p", "x", "--permission-mode", "bypassPermissions")
    assert done.returncode == 64
    assert "--allow-dangerously-skip-permissions" in done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_the_command_says_the_same(mode: str, place: Verdicts) -> None:
    row = Row(("allow Bash",), {"command": "rm -rf ~"}, "ask", flags=MODES[mode])
    assert place.by_command(row) in ("ask", "deny")
