"""The classifier and the rules before it, on both event loops: each failure is an ask, nothing is stale."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from caliban.compose.asking.classifier import Classifier
from caliban.compose.asking.rules import AutoMode, AutoRules
from caliban.compose.permissions import ModeLatches, Permissions
from caliban_drive.notice import Notice
from caliban_permissions import Engine, Rule, RuleSet
from caliban_permissions.auto.lists import AutoLists
from caliban_permissions.errors import BadVerdict
from caliban_permissions.names import guide_spec
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio

BASH = guide_spec("Bash")
assert BASH is not None
MAKE = {"command": "make deploy"}


def says(decision: str) -> Any:
    return reply(json.dumps({"decision": decision, "reason": "why"}))


class Mute(ScriptedProvider):
    """Begins a reply and never ends it."""

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncIterator[Any]:
        async def events() -> AsyncIterator[Any]:
            await anyio.sleep_forever()
            yield

        yield events()


def rules(tmp_path: Path, provider: Any, *, interactive: bool, timeout_s: float = 300.0) -> Any:
    engine = Engine(
        RuleSet(), mode="auto", workspace=tmp_path, interactive=interactive, vouched=[BASH], home=tmp_path
    )
    permissions = Permissions("auto", lambda: engine, ruled=True, latches=ModeLatches(auto=True))
    notices: list[Notice] = []
    classifier = Classifier(provider=provider, model="m", timeout_s=timeout_s)
    auto = AutoMode(AutoLists(), classifier, notices.append)
    return AutoRules(permissions, auto, interactive=interactive), permissions, notices


@pytest.mark.parametrize("interactive", [True, False])
async def test_a_classifier_that_never_answers_is_an_ask(tmp_path, interactive):
    made, _, notices = rules(tmp_path, Mute([]), interactive=interactive, timeout_s=0)
    decision = await made.decide(BASH, MAKE)
    assert (decision.action, decision.by) == ("ask" if interactive else "deny", "classifier")
    assert "gave no verdict within 0 s" in decision.reason
    assert notices[0].details["decision"] == "ask"


@pytest.mark.parametrize("text", ["", "ALLOW", '{"decision": "allow"}'])
async def test_an_odd_answer_is_no_verdict(text):
    with pytest.raises(BadVerdict):
        await Classifier(provider=ScriptedProvider([reply(text)]), model="m").ask("{}")


async def test_a_soft_deny_is_asked_where_somebody_is_there(tmp_path):
    made, _, _ = rules(tmp_path, ScriptedProvider([says("soft_deny")]), interactive=True)
    decision = await made.decide(BASH, MAKE)
    assert (decision.action, decision.by) == ("ask", "classifier")
    assert "the classifier leaves it to you: why" in decision.reason
    assert decision.suggestions == ("Bash(make deploy:*)",)


async def test_a_deny_made_meanwhile_holds_against_the_verdict(tmp_path):
    provider = ScriptedProvider([says("allow")])
    made, permissions, _ = rules(tmp_path, provider, interactive=True)
    ask = made._auto.classifier.ask

    class Slow:
        async def ask(self, question: str) -> Any:
            permissions.add_answers((Rule(pattern="Bash:make *", action="deny"),))
            return await ask(question)

    made._auto.classifier = Slow()
    decision = await made.decide(BASH, MAKE)
    assert (decision.action, decision.by) == ("deny", "rule")


async def test_another_mode_ends_the_auto_mode_at_once(tmp_path):
    made, permissions, _ = rules(tmp_path, ScriptedProvider([]), interactive=True)
    permissions.set_mode("plan")
    assert (await made.decide(BASH, MAKE)).action == "deny"
    permissions.set_mode("default")
    assert (await made.decide(BASH, MAKE)).by == "default"
    assert permissions.bars_mode("auto") is None
    assert permissions.bars_mode("bypassPermissions") is not None


async def test_another_directory_is_another_question(tmp_path):
    provider = ScriptedProvider([says("allow"), says("hard_deny")])
    made, _, _ = rules(tmp_path, provider, interactive=True)
    assert (await made.decide(BASH, {**MAKE, "cwd": "a"})).action == "allow"
    made._auto.generation = 0
    assert (await made.decide(BASH, {**MAKE, "cwd": "b"})).action == "deny"
