"""What servers say of how an argument could go on, in the menu: the real command on a terminal."""

from __future__ import annotations

import json

from command_kit import Cli
from mcp_kit import given
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

DESK = {
    "tools": [],
    "completes": ["main", "maintenance", "dry as\u200b dust", "dry"],
    "resources": {"docs://main/x": "the main page"},
    "templates": ["docs://{page}/x", "odd://{?q}"],
    "prompts": {
        "review": {
            "entry": {"arguments": [{"name": "branch", "required": True}, {"name": "style"}]},
            "messages": [{"role": "user", "content": {"type": "text", "text": "Review {branch} {style}."}}],
        }
    },
}


def test_a_server_is_asked_how_what_is_typed_of_its_prompts_and_resources_could_go_on(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("All is well.")), wire.exchange(wire.text("Read it.")))
    with on_screen(cli, "--mcp-config", given(desk=DESK), columns=100) as screen:
        screen.wait(" · ")
        screen.type("/mcp__desk__review ma")
        screen.wait("  maintenance")
        screen.press("down", "down")
        screen.wait("› maintenance")
        screen.press("tab")
        screen.wait("> /mcp__desk__review maintenance")
        screen.type(" d")
        text = screen.wait("  dry")
        assert "dust" not in text
        screen.type("ry")
        screen.press("enter")
        screen.wait("All is well.")
        screen.type("see @desk:docs://mai")
        screen.wait("  desk:docs://maintenance/x")
        screen.press("down")
        screen.wait("› desk:docs://main/x")
        screen.press("tab")
        screen.wait("> see @desk:docs://main/x")
        screen.press("enter")
        screen.wait("Read it.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    first, second = (json.dumps(body["messages"][-1]["content"]) for body in cli.bodies())
    assert "Review maintenance dry." in first
    assert "the main page" in second


def test_a_server_that_completes_nothing_or_never_answers_costs_no_key(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("All is well.")))
    deaf = {**DESK, "deaf": ["completion/complete"]}
    flags = ("--mcp-config", given(desk=deaf))
    with on_screen(cli, *flags, columns=100) as screen:
        screen.wait(" · ")
        screen.type("/mcp__desk__review ma")
        screen.wait("> /mcp__desk__review ma")
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "Review ma {style}." in json.dumps(cli.bodies()[0]["messages"])
