"""A second face is ten lines: it opens the app, submits a prompt, and shows what comes in its own way."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S
from msgspec.structs import replace

from caliban.cli.options import Options, PermissionOptions, SessionOptions
from caliban.compose.app import open_app
from caliban_agent_core import ApprovalRequest, Decision
from caliban_common.event import AssistantTextDelta
from caliban_common.hook import HookEvent, HookVerdict
from caliban_common.message import user
from caliban_drive import Notice
from caliban_provider.testing.exchange import Exchange
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
    fired: list[str] = []

    class Denying:
        async def fire(self, event: HookEvent) -> HookVerdict:
            fired.append(event.type)
            return HookVerdict(decision="deny" if event.type == "UserPromptSubmit" else "continue")

    shown: list[Notice] = []
    async with open_app(Options(), shown.append) as app:
        session = replace(app, hooks=Denying()).session()
        async with session.submit(user("hi")) as submission:
            events = [event.type async for event in submission.events]
        await session.aclose()
    assert (submission.result.stop.kind, events[-1], server.requests) == ("hook_denied", "run_end", ())
    assert fired == ["SessionStart", "UserPromptSubmit", "SessionEnd"]


TASK = {"description": "a look", "prompt": "look"}
WRITE = {"path": "made", "content": "x"}


class Remembering:
    """Hooks that object to nothing."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def fire(self, event: HookEvent) -> HookVerdict:
        self.told.append((event.type, getattr(event, "agent", "")))
        return HookVerdict()


class Desk:
    """Somebody who is asked, and says the same to everything."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.asked: list[tuple[str, object]] = []

    async def approve(self, request: ApprovalRequest) -> Decision:
        self.asked.append((request.call.name, request.call.input))
        return Decision(action=self.action, reason="says the desk")


def call(name: str, args: dict[str, str], id: str) -> Exchange:
    return wire.exchange(wire.tool_use(name, args, id=id))


async def test_hooks_of_the_app_are_asked_about_what_its_sub_agents_do(server: LoopbackServer):
    done = wire.exchange(wire.text("Done."))
    server.extend(call("Agent", TASK, "d1"), call("Glob", {"pattern": "*"}, "g1"), done, done)
    hooks = Remembering()
    async with open_app(Options(), lambda notice: None) as app:
        session = replace(app, hooks=hooks).session()
        async with session.submit(user("hi")) as submission:
            _ = [event async for event in submission.events]
        await session.aclose()
    assert submission.result.subtype == "success"
    kinds = ("SubagentStart", "PreToolUse", "SubagentStop")
    assert [pair for pair in hooks.told if pair[0] in kinds] == [
        ("PreToolUse", ""),
        ("SubagentStart", "general-purpose"),
        ("PreToolUse", "general-purpose"),
        ("SubagentStop", "general-purpose"),
    ]


@pytest.mark.parametrize("by_agent", [False, True])
@pytest.mark.parametrize("action", ["allow", "deny"])
async def test_an_approver_is_asked_where_rules_leave_a_call_to_a_person(
    server: LoopbackServer, tmp_path: Path, action: str, by_agent: bool
):
    done = wire.exchange(wire.text("Done."))
    calls = (call("Write", WRITE, "w1"), done)
    server.extend(*((call("Agent", TASK, "d1"), *calls, done) if by_agent else calls))
    desk = Desk(action)
    async with open_app(Options(), lambda notice: None) as app:
        session = app.session(approver=desk)
        async with session.submit(user("hi")) as submission:
            _ = [event async for event in submission.events]
        await session.aclose()
    assert submission.result.subtype == "success"
    assert desk.asked == [("Write", WRITE)]
    assert (tmp_path / "made").exists() == (action == "allow")
    (denied,) = submission.result.denials or (None,)
    assert (denied is None) == (action == "allow")


async def test_what_rules_deny_or_allow_is_asked_of_nobody(server: LoopbackServer, tmp_path: Path):
    done = wire.exchange(wire.text("Done."))
    server.extend(call("Write", WRITE, "w1"), call("Bash", {"command": "touch other"}, "b1"), done)
    desk = Desk("deny")
    rules = PermissionOptions(allow=("Write",), deny=("Bash(touch *)",))
    async with open_app(Options(permissions=rules), lambda notice: None) as app:
        session = app.session(approver=desk)
        async with session.submit(user("hi")) as submission:
            _ = [event async for event in submission.events]
        await session.aclose()
    assert (desk.asked, (tmp_path / "made").exists(), (tmp_path / "other").exists()) == ([], True, False)


async def test_an_approver_who_answers_later_ends_the_prompt_and_the_conversation_may_go_on(
    server: LoopbackServer, tmp_path: Path
):
    server.extend(call("Write", WRITE, "w1"), wire.exchange(wire.text("Then not.")))
    ends = []
    async with open_app(Options(), lambda notice: None) as app:
        session = app.session(approver=Desk("ask"))
        for prompt in ("write it", "leave it"):
            async with session.submit(user(prompt)) as submission:
                _ = [event async for event in submission.events]
            ends.append(submission.result.stop.kind)
        await session.aclose()
    assert (ends, (tmp_path / "made").exists()) == (["approval", "end_of_turn"], False)
    (result, _) = server.requests[1].json["messages"][-1]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("w1", True)
