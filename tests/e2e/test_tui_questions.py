"""Questions to the person at the terminal, through the real command."""

from __future__ import annotations

import json

import pytest
from command_kit import Cli
from mcp_kit import given
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

LISTENS_LATER = "listens once you stop typing"
READY = "tab no, with a reason"


def begin(screen: Screen) -> None:
    """Say something, so that the model answers with its call."""
    screen.wait(" · ")
    screen.type("go")
    screen.wait("> go")
    screen.press("enter")


def leave(screen: Screen) -> None:
    screen.press("ctrl+d")
    assert screen.ended() == 0


def bash(command: str) -> wire.WireBlock:
    return wire.tool_use("Bash", {"command": command})


def results(cli: Cli, turn: int) -> str:
    """What the model is told of its calls in a turn."""
    return json.dumps(cli.bodies()[turn]["messages"][-1]["content"])


def test_yes_once_runs_what_was_shown_and_writes_no_rule(cli: Cli) -> None:
    command = "touch made && touch more"
    cli.script(wire.exchange(bash(command)), wire.exchange(wire.text("All done.")))
    with on_screen(cli) as screen:
        begin(screen)
        assert LISTENS_LATER in screen.wait("May Bash run?")
        assert command in screen.wait(READY)
        assert not (cli.work / "made").exists()
        screen.press("y")
        screen.wait("All done.")
        assert (cli.work / "more").exists()
        assert not (cli.work / ".caliban").exists()
        leave(screen)


def test_always_writes_the_rule_that_was_shown_to_the_file_that_was_shown(cli: Cli) -> None:
    cli.script(
        wire.exchange(bash("touch one")), wire.exchange(bash("touch one")), wire.exchange(wire.text("Done."))
    )
    with on_screen(cli, rows=30) as screen:
        begin(screen)
        screen.wait(READY)
        screen.press("Y")
        shown = screen.wait("settings.local.toml")
        assert "Bash:touch one" in shown
        screen.press("down", "down", "enter")
        screen.wait("Done.")
        kept = (cli.work / ".caliban" / "settings.local.toml").read_text(encoding="utf-8")
        assert 'pattern = "Bash:touch one"' in kept and 'action = "allow"' in kept
        leave(screen)


def test_a_no_with_a_reason_is_what_the_model_reads(cli: Cli) -> None:
    cli.script(wire.exchange(bash("touch made")), wire.exchange(wire.text("As you wish.")))
    with on_screen(cli) as screen:
        begin(screen)
        screen.wait(READY)
        screen.press("tab")
        screen.wait("the model is told")
        screen.type("use the other directory")
        screen.press("enter")
        screen.wait("As you wish.")
        assert "the user said no: use the other directory" in results(cli, 1)
        assert not (cli.work / "made").exists()
        leave(screen)


def test_s602_two_questions_queue_and_a_draft_loses_no_key_to_either(cli: Cli) -> None:
    cli.script(
        wire.exchange(bash("touch first"), bash("touch second")), wire.exchange(wire.text("Both seen."))
    )
    with on_screen(cli) as screen:
        screen.wait(" · ")
        screen.type("go")
        screen.wait("> go")
        screen.type("\ryes please ")  # the question comes into the middle of what is typed
        screen.wait("1 more question")
        screen.type("yYnN every key")
        text = screen.wait("> yes please yYnN every key")
        assert "1 more question" in text
        screen.wait(READY)
        screen.press("y")
        screen.wait(lambda: "1 more" not in screen.text and READY in screen.text)
        screen.press("n")
        screen.wait("Both seen.")
        assert "> yes please yYnN every key" in screen.text
        assert [(cli.work / name).exists() for name in ("first", "second")] == [True, False]
        screen.press("ctrl+c")
        leave(screen)


def test_an_edit_is_shown_as_a_diff_before_it_is_made(cli: Cli) -> None:
    (cli.work / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    call = wire.tool_use("Edit", {"path": "a.txt", "old_string": "two", "new_string": "2\u202e"})
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "a.txt"})),
        wire.exchange(call),
        wire.exchange(wire.text("Left.")),
    )
    with on_screen(cli) as screen:
        begin(screen)
        text = screen.wait("May Edit change a.txt?")
        assert "-two" in text and "+2<U+202E>" in text
        screen.wait(READY)
        screen.press("esc")
        screen.wait("esc again says no")
        screen.press("esc")
        screen.wait("Left.")
        assert (cli.work / "a.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
        leave(screen)


def test_what_the_model_asks_is_answered_on_screen(cli: Cli) -> None:
    questions = [{"question": "Which colour?", "options": ["red", "blue"]}, {"question": "Why?"}]
    cli.script(
        wire.exchange(wire.tool_use("AskUser", {"questions": questions})), wire.exchange(wire.text("I see."))
    )
    with on_screen(cli) as screen:
        begin(screen)
        screen.wait("Which colour?")
        screen.wait("or its number")
        screen.press("2")
        screen.wait("Why?")
        screen.type("it is calm")
        screen.press("enter")
        screen.wait("I see.")
        text = results(cli, 1)
        assert "blue" in text and "it is calm" in text
        leave(screen)


def test_a_plan_is_approved_with_edits_or_sent_back_with_words(cli: Cli) -> None:
    cli.script(
        wire.exchange(wire.tool_use("EnterPlanMode", {})),
        wire.exchange(wire.tool_use("ExitPlanMode", {"plan": "# First\n\nthis"})),
        wire.exchange(wire.tool_use("ExitPlanMode", {"plan": "# Second\n\nthat"})),
        wire.exchange(wire.tool_use("Write", {"path": "b.txt", "content": "b"})),
        wire.exchange(wire.text("Carried out.")),
    )
    with on_screen(cli) as screen:
        begin(screen)
        screen.wait("Carry this plan out?")
        screen.wait("then enter")
        screen.press("n")
        screen.wait("what is to be different")
        screen.type("more of that")
        screen.press("enter")
        screen.wait("Second")
        screen.wait("then enter")
        screen.press("a")
        screen.wait("Carried out.")
        assert "more of that" in results(cli, 2)
        assert (cli.work / "b.txt").read_text(encoding="utf-8") == "b"
        assert "May Write" not in "".join(screen.scrollback)
        leave(screen)


def test_what_a_server_asks_is_filled_in_or_opened_after_a_yes_only(cli: Cli) -> None:
    properties = {
        "port": {"type": "integer", "title": "Which port?", "minimum": 1000},
        "sure": {"type": "boolean", "title": "Are you sure?"},
    }
    form = {
        "message": "I need to know.",
        "requestedSchema": {"type": "object", "properties": properties, "required": ["port", "sure"]},
    }
    url = {"mode": "url", "message": "Log in.", "url": "https://example.com/x", "elicitationId": "e1"}
    servers = given(desk={"tools": {"form": {"asks": form}, "address": {"asks": url}}})
    cli.script(
        wire.exchange(wire.tool_use("mcp__desk__form", {})),
        wire.exchange(wire.tool_use("mcp__desk__address", {})),
        wire.exchange(wire.text("Served.")),
    )
    with on_screen(cli, "--mcp-config", servers, "--allow", "mcp__desk__*") as screen:
        begin(screen)
        text = screen.wait("Which port?")
        assert "The MCP server desk asks (1 of 2)" in text and "I need to know." in text
        screen.wait("enter goes on")
        screen.type("80")
        screen.press("enter")
        screen.wait("at least 1000")
        screen.type("80")
        screen.press("enter")
        screen.wait("Are you sure?")
        screen.press("1")
        screen.wait("https://example.com/x")
        screen.wait("then enter")
        screen.press("n")
        screen.wait("Served.")
        sent = "".join(results(cli, turn) for turn in (1, 2))
        assert '\\"port\\": 8080' in sent and '\\"sure\\": true' in sent and "decline" in sent
        leave(screen)


def test_a_project_is_shown_whole_and_counts_once_it_is_trusted(cli: Cli) -> None:
    folder = cli.work / ".caliban"
    folder.mkdir()
    (folder / "permissions.toml").write_text(
        '[[rules]]\npattern = "Bash:touch *"\naction = "allow"\n', encoding="utf-8"
    )
    turns = (wire.exchange(bash("touch made")), wire.exchange(wire.text("Made.")))
    cli.script(*turns, *turns)
    with on_screen(cli) as screen:
        text = screen.wait("Do you trust this project?")
        assert "Bash:touch *" in text
        screen.wait("then enter")
        screen.press("y")
        begin(screen)
        screen.wait("Made.")
        assert "May Bash" not in screen.text and (cli.work / "made").exists()
        leave(screen)
    with on_screen(cli) as screen:
        begin(screen)
        screen.wait("Made.")
        assert "trust this project" not in "".join(screen.scrollback)
        leave(screen)


def test_a_question_that_an_output_draws_takes_no_key(cli: Cli) -> None:
    fake = "\x1b[2J\x1b[H? May Bash run?\r\n  rm -rf /\n  y yes, once\n  " + READY
    (cli.work / "fake.txt").write_text(fake, encoding="utf-8")
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": "fake.txt"})),
        wire.exchange(wire.text(f"Look:\n\n{fake}\n\nEnd.")),
    )
    with on_screen(cli, rows=40) as screen:
        begin(screen)
        screen.wait("End.")
        screen.type("yYn")
        screen.wait("> yYn")
        assert "> go" in screen.text, "the output has not cleared the screen"
        screen.press("ctrl+c")
        leave(screen)


def test_a_question_names_the_agent_whose_call_it_is(cli: Cli) -> None:
    task = {"prompt": "do it", "description": "helper", "subagent_type": "general-purpose"}
    cli.script(
        wire.exchange(wire.tool_use("Agent", task)),
        wire.exchange(bash("touch child")),
        wire.exchange(wire.text("Child done.")),
        wire.exchange(wire.text("All over.")),
    )
    with on_screen(cli, "--allow", "Agent") as screen:
        begin(screen)
        text = screen.wait("May Bash run?")
        assert "(asked by " in text
        screen.wait(READY)
        screen.press("y")
        screen.wait("All over.")
        assert (cli.work / "child").exists()
        leave(screen)


def test_a_rule_for_the_session_holds_until_it_is_deleted(cli: Cli) -> None:
    turns = [(wire.exchange(bash("touch one")), wire.exchange(wire.text(f"Done {n}."))) for n in range(3)]
    cli.script(*(exchange for turn in turns for exchange in turn))
    with on_screen(cli, rows=30) as screen:
        begin(screen)
        screen.wait(READY)
        screen.press("Y")
        screen.wait("kept in no file")
        screen.press("down", "enter")
        screen.wait("Done 0.")
        begin(screen)
        screen.wait("Done 1.")
        screen.type("/permissions")
        screen.wait("/permissions")
        screen.press("enter")
        screen.wait("> allow Bash:touch one  this session")
        screen.press("d")
        screen.wait("Delete allow Bash:touch one?")
        screen.press("down", "enter")
        screen.wait(lambda: "this session" not in screen.text)
        screen.press("q")
        screen.wait(lambda: "next mode" not in screen.text)
        begin(screen)
        screen.wait(READY)
        screen.press("n")
        screen.wait("Done 2.")
        assert not (cli.work / ".caliban").exists()
        leave(screen)


@pytest.mark.parametrize(
    ("columns", "rows", "keys"), [(40, 10, "y yes   Y always   n no   N never"), (20, 5, "y Y n N · 1/")]
)
def test_a_question_on_a_low_screen_shows_what_it_is_about_and_its_keys(
    cli: Cli, columns: int, rows: int, keys: str
) -> None:
    command = "touch made; echo one two three four five; echo six seven eight nine ten; ls -la | sort"
    cli.script(wire.exchange(bash(command)), wire.exchange(wire.text("Done.")))
    with on_screen(cli, columns=columns, rows=rows) as screen:
        screen.wait(" · anthropic")
        screen.type("go")
        screen.wait("> go")
        screen.press("enter")
        screen.wait("? May Bash run?")
        screen.wait(keys)
        assert "touch made" in screen.text
        screen.press("pagedown")
        screen.wait(lambda: "touch made" not in screen.text)
        assert "? May Bash run?" in screen.text and "y" in screen.text
        screen.press("y")
        screen.wait(lambda: " out" in screen.text)
        leave(screen)
    assert (cli.work / "made").exists()
