"""The model and the effort that a command file names: for its prompt alone, on the terminal and in frames."""

from __future__ import annotations

import json
import shlex

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
OK = wire.exchange(wire.text("All is well."))


def command(cli: Cli, name: str, text: str) -> None:
    folder = cli.home / ".config" / "caliban" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def lines(*prompts: str) -> bytes:
    return b"".join(json.dumps({"type": "user", "content": text}).encode() + b"\n" for text in prompts)


def asked(cli: Cli) -> list[tuple[str, str | None]]:
    """The model and the effort of every request."""
    return [(body["model"], body.get("output_config", {}).get("effort")) for body in cli.bodies()]


def test_on_the_terminal_its_prompt_is_asked_so_and_the_next_one_as_before(cli: Cli) -> None:
    command(cli, "dear", "---\nmodel: claude-opus-4-6\neffort: high\n---\nThink hard.")
    command(cli, "lost", "---\nmodel: openai/gpt-5\n---\nNever sent.")
    cli.script(OK, OK, OK)
    with on_screen(cli) as screen:
        screen.wait("claude-sonnet-4-6")
        for count, line in enumerate(("first", "/dear", "second"), 1):
            screen.type(line)
            screen.wait(line)
            screen.press("enter")
            screen.wait(lambda count=count: screen.text.count("All is well.") == count)
            screen.wait("anthropic/claude-sonnet-4-6")
        screen.type("/lost")
        screen.wait("/lost")
        screen.press("enter")
        screen.wait("/lost")
        screen.wait("OPENAI_API_KEY")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert asked(cli) == [
        ("claude-sonnet-4-6", None),
        ("claude-opus-4-6", "high"),
        ("claude-sonnet-4-6", None),
    ]
    cli.script(OK)
    assert cli.run("-c", "-p", "third").code == 0
    assert asked(cli)[-1] == ("claude-sonnet-4-6", None)


def test_in_frames_and_on_the_command_line_it_is_asked_so_too(cli: Cli) -> None:
    command(cli, "dear", "---\nmodel: claude-opus-4-6\neffort: LOW\n---\nThink hard.")
    cli.script(OK, OK, OK, OK)
    done = cli.run(*FRAMES, stdin=lines("first", "/dear", "second"))
    assert done.code == 0, done.err
    assert asked(cli) == [
        ("claude-sonnet-4-6", None),
        ("claude-opus-4-6", "low"),
        ("claude-sonnet-4-6", None),
    ]
    assert cli.run("-p", "/dear").code == 0
    assert asked(cli)[-1] == ("claude-opus-4-6", "low")


def test_a_flag_says_more_than_the_file_and_a_name_of_nobody_sends_nothing(cli: Cli) -> None:
    command(cli, "dear", "---\nmodel: claude-opus-4-6\n---\nThink hard.")
    command(cli, "lost", "---\nmodel: openai/gpt-5\n---\nNever sent.")
    cli.script(OK)
    done = cli.run(*FRAMES, "--model", "claude-haiku-4-5", stdin=lines("/dear"))
    assert done.code == 0, done.err
    assert asked(cli) == [("claude-haiku-4-5", None)]
    cli.script(OK)
    done = cli.run(*FRAMES, stdin=lines("/lost", "after"))
    first, last = done.of("result")
    assert (first["is_error"], last["is_error"]) == (True, False)
    assert asked(cli)[1:] == [("claude-sonnet-4-6", None)]


@pytest.mark.parametrize("effort", ["much", "-1", "high\\u202e", "'\\x1b[2J'", "x" * 39])
def test_an_effort_that_is_none_is_told_and_not_asked_for(cli: Cli, effort: str) -> None:
    command(cli, "odd", f'---\neffort: "{effort}"\n---\nHi.')
    cli.script(OK)
    done = cli.run("-p", "/odd")
    assert done.code == 0, done.err
    assert "is not known, and not asked for" in done.err
    assert asked(cli) == [("claude-sonnet-4-6", None)]


def test_the_effort_of_a_project_that_is_not_trusted_does_nothing(cli: Cli) -> None:
    folder = cli.work / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("---\neffort: max\n---\nHi.", encoding="utf-8")
    cli.script(OK)
    done = cli.run("-p", "/x")
    assert "its effort does nothing" in done.err
    assert asked(cli) == [("claude-sonnet-4-6", None)]


@pytest.mark.parametrize("line", ["/effort high", "/effort HIGH", "/think on", "/think 2048", "/think off"])
def test_alone_a_change_for_later_prompts_is_no_success_and_the_hint_does_it(cli: Cli, line: str) -> None:
    done = cli.run("-p", line)
    assert done.code == 1 and done.out == "" and cli.bodies() == []
    assert f"{line.partition(' ')[0]} counts until the run ends, and this one does nothing else" in done.err
    given = shlex.split(done.err.partition("--settings ")[2])[0]
    cli.script(wire.exchange(wire.text("done")))
    assert cli.run("-p", "go", "--settings", given).code == 0
    assert [body["output_config"]["effort"] for body in cli.bodies()] == ["high"]
