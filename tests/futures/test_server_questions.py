"""A face that lets a person answer MCP servers is an object with one method."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S
from mcp_kit import given

from caliban.cli.options import Options, PermissionOptions, SettingsOptions
from caliban.compose.app import open_app
from caliban_common.event import ToolCallEnd, Warned
from caliban_common.message import user
from caliban_mcp.elicit import ElicitAnswer, FormField, FormQuestion, ServerQuestion, UrlQuestion
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.anyio
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Your name"}, "loud": {"type": "boolean"}},
    "required": ["name"],
}
TOOLS = {
    "form": {"asks": {"message": "Who are you?", "requestedSchema": FORM}},
    "address": {"asks": {"mode": "url", "message": "Open it.", "url": "https://example.com/x"}},
}


class Person:
    """Says yes to everything; a form is filled in with `content`."""

    def __init__(self, **content: object) -> None:
        self.content = content
        self.asked: list[ServerQuestion] = []

    async def elicit(self, question: ServerQuestion) -> ElicitAnswer:
        self.asked.append(question)
        content = self.content if isinstance(question, FormQuestion) else None
        return ElicitAnswer(action="accept", content=content)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with LoopbackServer([]) as server:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CALIBAN_ROUTER_CONFIG"):
            monkeypatch.delenv(name, raising=False)
        yield server


async def answers(server: LoopbackServer, person: Person, told: list[str]) -> list[dict[str, object]]:
    """What the server was told for a form and for an address."""
    for name in ("form", "address"):
        server.extend(wire.exchange(wire.tool_use(f"mcp__desk__{name}", {}, id=name)))
    server.extend(wire.exchange(wire.text("Done.")))
    options = Options(
        settings=SettingsOptions(mcp_config=(given(desk={"tools": TOOLS}),)),
        permissions=PermissionOptions(allow=("mcp__desk__*",)),
    )
    heard = []
    with anyio.fail_after(HANG_S):
        async with open_app(options, lambda notice: told.append(notice.message), elicitor=person) as app:
            assert app.servers is not None
            await app.servers.fleet.settle(app.servers.fleet.servers, None)
            session = app.session()
            async with session.submit(user("go")) as submission:
                async for event in submission.events:
                    if isinstance(event, Warned):
                        told.append(event.message)
                    if isinstance(event, ToolCallEnd):
                        heard.append(json.loads(event.result.content[0].text))
            await session.aclose()
    return heard


async def test_a_person_answers_what_a_server_asks(server: LoopbackServer):
    person, notices = Person(name="Ada", loud=True), list[str]()
    assert await answers(server, person, notices) == [
        {"action": "accept", "content": {"name": "Ada", "loud": True}},
        {"action": "accept"},
    ]
    assert person.asked == [
        FormQuestion(
            server="desk",
            message="Who are you?",
            fields=(
                FormField(name="name", title="Your name", kind="text", required=True),
                FormField(name="loud", title="loud", kind="boolean"),
            ),
        ),
        UrlQuestion(server="desk", message="Open it.", url="https://example.com/x", host="example.com"),
    ]
    assert notices == []


async def test_what_does_not_fit_the_form_is_no_answer(server: LoopbackServer):
    notices: list[str] = []
    assert (await answers(server, Person(name=7), notices))[0] == {"action": "decline"}
    (words,) = notices
    assert "'Who are you?' (the answer is none: name must be a text)" in words
