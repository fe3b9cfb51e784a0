"""Prompts of MCP servers as slash commands, by the real command."""

from __future__ import annotations

import json

from command_kit import Cli
from mcp_kit import given
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

REVIEW = {
    "tools": [],
    "prompts": {
        "review": {
            "entry": {
                "description": "Look at a branch",
                "arguments": [{"name": "branch", "required": True}, {"name": "style"}],
            },
            "messages": [
                {
                    "role": "user",
                    "content": {"type": "text", "text": "Review {branch} {style}. See @notes.txt"},
                }
            ],
        }
    },
}
OK = wire.text("All is well.")
FRAMES = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


def said(body) -> str:
    return json.dumps(body["messages"][-1]["content"])


def test_a_prompt_of_a_server_is_called_with_its_arguments(cli: Cli) -> None:
    (cli.work / "notes.txt").write_text("very-secret")
    cli.script(wire.exchange(OK), wire.exchange(OK))
    flags = ("--mcp-config", given(desk=REVIEW))
    done = cli.run("-p", "/mcp__desk__review main very dry", *flags)
    assert (done.code, done.out) == (0, "All is well.\n"), done.err
    frames = "".join(
        json.dumps({"type": "user", "content": text}) + "\n"
        for text in ("/desk:review style=dry main", "/mcp__desk__review", "/mcp__desk__reviw x", "/help")
    )
    done = cli.run(*FRAMES, *flags, stdin=frames.encode())
    first, second = (said(body) for body in cli.bodies())
    assert "Review main very dry. See @notes.txt" in first and "very-secret" not in first
    assert "Review main dry" in second
    errors = [frame["error"] for frame in done.of("result") if frame["is_error"]]
    assert "the prompt desk:review lacks branch" in errors[0]
    assert "there is no command /mcp__desk__reviw" in errors[1] and "mcp__desk__review?" in errors[1]
    shown = [frame["content"] for frame in done.of("system") if frame["subtype"] == "local_command_output"]
    assert "/mcp__desk__review <branch> [style]  Look at a branch" in " ".join(shown[-1].split("\n"))


def test_a_prompt_of_a_server_is_called_on_the_screen(cli: Cli) -> None:
    (cli.work / "notes.txt").write_text("very-secret")
    cli.script(wire.exchange(OK))
    with on_screen(cli, "--mcp-config", given(desk=REVIEW), columns=100) as screen:
        screen.wait(" · ")
        screen.type("/mcp__desk__review main")
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    sent = said(cli.bodies()[0])
    assert ("Review main" in sent, "very-secret" in sent) == (True, False)
