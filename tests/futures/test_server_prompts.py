"""Slash commands of MCP servers: a face lists prompts, completes their arguments and gets their messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from mcp_kit import given

from caliban.cli.options import Options, PermissionOptions, SettingsOptions
from caliban.compose.app import App, open_app
from caliban.compose.servers.prompts import (
    ServerPrompt,
    ServerPromptArgument,
    fetch_prompt,
    server_prompts,
)
from caliban.errors import CommandRefused
from caliban_common.errors import CalibanError
from caliban_common.message import TextBlock

pytestmark = pytest.mark.anyio
KEY = "sk-ant-api03-" + "a1B2" * 20


def text(words: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": words}}


REVIEW = {
    "entry": {
        "title": "Review",
        "description": "Look\u200b at a change.",
        "arguments": [
            {"name": "branch", "description": "which", "required": True},
            {"name": "style"},
        ],
    },
    "messages": [text("Review {branch} in the style {style}."), text("Gladly.", "assistant")],
}
DESK = {
    "tools": {"grow": {"prompts": {"new": {"messages": []}}}},
    "prompts": {
        "review": REVIEW,
        "big": {"messages": [text("0123456789" * 9000), text(f"the key is {KEY}")]},
        "with space": {"messages": []},
    },
    "completes": ["main", "make", "other"],
}
PLAIN = {"tools": {}, "prompts": ["hello"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CALIBAN_ROUTER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@asynccontextmanager
async def opened(told: list[str] | None = None, *, deny: tuple[str, ...] = ()) -> AsyncIterator[App]:
    servers = given(desk=DESK, plain=PLAIN, empty={"tools": {}}, dead={"exit": 1})
    options = Options(
        settings=SettingsOptions(mcp_config=(servers,)), permissions=PermissionOptions(deny=deny)
    )
    words: list[str] = [] if told is None else told
    with anyio.fail_after(HANG_S):
        async with open_app(options, lambda notice: words.append(notice.message)) as app:
            assert app.servers is not None
            await app.servers.fleet.settle(app.servers.fleet.servers, None)
            yield app


def named(prompts: tuple[ServerPrompt, ...], command: str) -> ServerPrompt:
    (prompt,) = [prompt for prompt in prompts if prompt.command == command]
    return prompt


async def test_prompts_of_connected_servers_are_values_under_both_of_their_names(home: Path):
    async with opened() as app:
        prompts = await server_prompts(app)
        assert [prompt.command for prompt in prompts] == ["desk:big", "desk:review", "plain:hello"]
        assert named(prompts, "desk:review") == ServerPrompt(
            server="desk",
            name="review",
            command="desk:review",
            full_name="mcp__desk__review",
            description="Look at a change.",
            arguments=(
                ServerPromptArgument(name="branch", description="which", required=True),
                ServerPromptArgument(name="style"),
            ),
        )
        assert named(prompts, "plain:hello").full_name == "mcp__plain__hello"
        assert named(prompts, "desk:review").usage == "<branch> [style]"


async def test_a_list_that_changes_is_asked_for_anew(home: Path):
    async with opened() as app:
        await server_prompts(app)
        assert app.servers is not None
        server = app.servers.fleet.find("desk")
        assert server is not None
        await server.call("grow", {}, lambda _: None)
        while "desk:new" not in [prompt.command for prompt in await server_prompts(app)]:
            await anyio.sleep(0)


async def test_a_prompt_is_filled_in_by_its_server_and_its_arguments_are_checked_here(home: Path):
    async with opened() as app:
        prompts = await server_prompts(app)
        review = named(prompts, "desk:review")
        fetched = await fetch_prompt(app, review, {"branch": "main", "style": "dry"})
        assert fetched.description == "Look at a change."
        assert [(one.role, one.text) for one in fetched.messages] == [
            ("user", "Review main in the style dry."),
            ("assistant", "Gladly."),
        ]
        with pytest.raises(CommandRefused, match="the prompt desk:review lacks branch") as caught:
            await fetch_prompt(app, review, {"style": "dry"})
        assert caught.value.hint == "/desk:review <branch> [style]"
        with pytest.raises(CommandRefused, match="takes no colour"):
            await fetch_prompt(app, review, {"branch": "main", "colour": "red"})
        gone = ServerPrompt(server="desk", name="no", command="desk:no", full_name="mcp__desk__no")
        with pytest.raises(CalibanError):
            await fetch_prompt(app, gone, {})
        with pytest.raises(CommandRefused, match="is not one of this run any more"):
            await fetch_prompt(app, ServerPrompt(server="x", name="y", command="x:y", full_name="z"), {})


async def test_what_a_prompt_says_is_masked_and_capped_and_lost_nowhere(home: Path):
    async with opened() as app:
        fetched = await fetch_prompt(app, named(await server_prompts(app), "desk:big"), {})
        first, second = fetched.messages
        assert first.text.startswith("[truncated: 90000 chars in all; the whole text is in ")
        assert len(first.text) < 50_000
        path = Path(first.text.partition("is in ")[2].partition("]")[0])
        assert path.read_text() == "0123456789" * 9000 and path.is_relative_to(home)
        assert second.text.startswith("the key is ") and KEY not in second.text
        assert all(isinstance(block, TextBlock) for block in second.content)


async def test_a_rule_takes_a_prompt_away(home: Path):
    async with opened(deny=("mcp__desk__review",)) as app:
        assert [prompt.command for prompt in await server_prompts(app)] == ["desk:big", "plain:hello"]
