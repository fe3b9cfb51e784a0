"""A second face is ten lines: it opens the app, submits a prompt, and shows what comes in its own way."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban.cli.options import Options, SessionOptions
from caliban.compose.app import open_app
from caliban_common.event import AssistantTextDelta
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.message import user
from caliban_drive import Notice
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.anyio


async def face(prompt: str, options: Options, lines: list[str]) -> None:
    """The whole face: words as they come, then what it cost."""
    async with open_app(options, lambda notice: lines.append(f"! {notice.message}")) as app:
        session = app.session()
        async with session.submit(user(prompt)) as submission:
            async for event in submission.events:
                if isinstance(event, AssistantTextDelta):
                    lines.append(event.text)
        await session.aclose()
        lines.append(f"= {submission.result.subtype}, {submission.result.turns} turn")


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


async def test_a_second_face_answers_from_the_same_app(server: LoopbackServer):
    server.extend(wire.exchange(wire.text("Hello ", "there.")))
    lines: list[str] = []
    with anyio.fail_after(HANG_S):
        await face("hi", Options(session=SessionOptions(session="mine")), lines)
    assert lines == ["Hello ", "there.", "= success, 1 turn"]


async def test_a_second_face_goes_on_with_a_saved_conversation(server: LoopbackServer):
    server.extend(wire.exchange(wire.text("One.")), wire.exchange(wire.text("Two.")))
    lines: list[str] = []
    with anyio.fail_after(HANG_S):
        await face("first", Options(session=SessionOptions(session="mine")), lines)
        await face("second", Options(session=SessionOptions(resume="mine")), lines)
    texts = [block["text"] for m in server.requests[1].json["messages"] for block in m["content"]]
    assert texts == ["first", "One.", "second"]


async def test_hooks_of_the_app_are_asked_in_every_face(server: LoopbackServer):
    told: list[str] = []

    class Denying:
        async def fire(self, event: HookEvent) -> HookVerdict:
            told.append(event.type)
            return HookVerdict(decision="deny" if event.type == "UserPromptSubmit" else "continue")

    shown: list[Notice] = []
    async with open_app(Options(), shown.append) as app:
        session = replace(app, hooks=Denying()).session()
        async with session.submit(user("hi")) as submission:
            events = [event.type async for event in submission.events]
        await session.aclose()
    assert (submission.result.stop.kind, events[-1], server.requests) == ("hook_denied", "run_end", ())
    assert told == ["SessionStart", "UserPromptSubmit", "SessionEnd"]
