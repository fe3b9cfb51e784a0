"""The one road of notices: into the events of the prompt that runs, in order, else shown at once."""

from __future__ import annotations

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent
from caliban_common.event import TurnEnd, TurnStart, Warned
from caliban_common.message import user
from caliban_drive import Notice, Reporter, Session, SessionParts
from caliban_provider.testing.scripted import ScriptedProvider, reply

pytestmark = pytest.mark.anyio

SWITCH = Notice(subtype="model_switch", message="another one answers", hint="no matter", details={"to": "b"})


class Reporting(ScriptedProvider):
    """A provider that reports while it is asked."""

    report: Reporter

    def stream(self, request):
        self.report(SWITCH)
        return super().stream(request)


def reporting_session() -> tuple[Session, Reporter, list[Notice]]:
    shown: list[Notice] = []
    reporter = Reporter(shown.append)
    provider = Reporting([reply("one")])
    provider.report = reporter
    return Session(Agent(provider, "m"), id="s", parts=SessionParts(reporter=reporter)), reporter, shown


async def test_what_is_reported_during_a_run_stands_among_its_events_where_it_happened():
    session, _, shown = reporting_session()
    with anyio.fail_after(HANG_S):
        async with session.submit(user("hi")) as submission:
            events = [event async for event in submission.events]
    outline = [event for event in events if isinstance(event, TurnStart | Warned | TurnEnd)]
    assert [event.type for event in outline] == ["turn_start", "warned", "turn_end"]
    details = {"to": "b", "hint": "no matter"}
    assert outline[1] == Warned(subtype="model_switch", message="another one answers", details=details)
    assert shown == []


async def test_what_is_reported_while_no_prompt_runs_is_shown_at_once():
    session, reporter, shown = reporting_session()
    reporter(SWITCH)
    assert shown == [SWITCH]
    async with session.submit(user("hi")) as submission:
        async for _ in submission.events:
            pass
        reporter(SWITCH)
    assert shown == [SWITCH, SWITCH]


async def test_what_is_reported_behind_the_end_of_a_run_still_reaches_its_reader():
    session, reporter, shown = reporting_session()
    types = []
    async with session.submit(user("hi")) as submission:
        async for event in submission.events:
            if event.type == "turn_end":
                await anyio.wait_all_tasks_blocked()  # the run is over, its last event is not read yet
                reporter(SWITCH)
            types.append(event.type)
    assert types[-2:] == ["warned", "run_end"]
    assert shown == []
