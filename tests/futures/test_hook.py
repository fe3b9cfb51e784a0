"""A hook is one method over typed events: ten lines that keep a run going until its tests are green."""

from __future__ import annotations

import pytest

from caliban_agent_core import Agent, tool
from caliban_common.hook import HookEvent, HookVerdict, PreToolUse, RunStop
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class UntilChecked:
    """Lets nobody stop who has not called `check`."""

    def __init__(self) -> None:
        self._checked = False

    async def fire(self, event: HookEvent) -> HookVerdict:
        match event:
            case PreToolUse(call=call):
                self._checked = self._checked or call.name == "check"
            case RunStop() if not self._checked:
                return HookVerdict(decision="deny", reason="Call `check` first.")
            case _:
                pass
        return HookVerdict()


@tool
async def check() -> str:
    """Run the tests."""
    return "green"


async def test_a_run_goes_on_until_the_hook_lets_it_end():
    provider = ScriptedProvider([reply("Done."), reply(tool_call("check")), reply("Now it is.")])
    outcome = await Agent(provider, "m", tools=[check], hooks=UntilChecked()).run_to_end("go")
    texts = [message.text for message in outcome.messages if message.text]
    assert texts == ["go", "Done.", "Call `check` first.", "Now it is."]
