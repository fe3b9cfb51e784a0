"""How a hook's program is started: without a shell where the command is one word."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban_hooks import HookFailed, HookSpec, Programs
from caliban_hooks.command import argv_of, is_one_word
from caliban_process import Runner

ENV = {"CLAUDE_PROJECT_DIR": "/a b; c", "PATH": "/usr/bin:/bin"}
WORD = ("/bin/sh", "-c", 'exec "$0"')


def spec(command: str, **more: object) -> HookSpec:
    return HookSpec(event="PreToolUse", kind="command", place="here", command=command, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("$CLAUDE_PROJECT_DIR/g.sh", (*WORD, "/a b; c/g.sh")),
        ('"$CLAUDE_PROJECT_DIR"/g.sh', (*WORD, "/a b; c/g.sh")),
        ("${CLAUDE_PROJECT_DIR}/g.sh", (*WORD, "/a b; c/g.sh")),
        ("./g.sh", (*WORD, "./g.sh")),
        ("$NONE/g.sh", (*WORD, "/g.sh")),
        ("g.sh", ("/bin/sh", "-c", "g.sh")),
        ("./g.sh now", ("/bin/sh", "-c", "./g.sh now")),
        ("~/g.sh", ("/bin/sh", "-c", "~/g.sh")),
        ("./g.sh;x", ("/bin/sh", "-c", "./g.sh;x")),
        ("./$(x)", ("/bin/sh", "-c", "./$(x)")),
        ("./`x`", ("/bin/sh", "-c", "./`x`")),
    ],
)
def test_one_word_is_a_program_and_more_is_a_line(command: str, argv: tuple[str, ...]) -> None:
    assert argv_of(spec(command), ENV) == argv


def test_arguments_are_put_in_one_by_one() -> None:
    hook = spec("${CLAUDE_PROJECT_DIR}/g", args=("$CLAUDE_PROJECT_DIR", "$NONE", "a b"))
    assert argv_of(hook, ENV) == ("/a b; c/g", "/a b; c", "", "a b")


def test_many_variables_take_no_time() -> None:
    assert not is_one_word("/" + "$aaaaaaaaaaaaaaaaaaaa" * 200 + "!")


@pytest.mark.anyio
async def test_a_script_without_a_first_line_is_one_for_sh(tmp_path: Path) -> None:
    path = tmp_path / "g"
    path.write_text("echo no >&2\nexit 2\n")
    programs = Programs(runner=Runner(), env=ENV, cwd=str(tmp_path))
    with pytest.raises(HookFailed, match="126"):
        await programs.ask(spec("./g"), b"{}")
    path.chmod(0o755)
    answer = await programs.ask(spec("./g"), b"{}")
    assert (answer.decision, answer.reason) == ("deny", "no")
