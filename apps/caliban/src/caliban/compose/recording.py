"""A run that is recorded: its parts wired onto a tape, and the scene that it begins with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from caliban.compose.agents import agent_limits
from caliban.compose.app import App
from caliban.compose.host import Host, learn
from caliban.compose.resolved import ResolvedModel
from caliban.compose.wiring import Wiring
from caliban.version import VERSION
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.subagent.spec import NAME
from caliban_common.mask import Masker
from caliban_common.paths import expand_user, home
from caliban_drive.notice import Notice, Report, Reporter
from caliban_drive.session import Session
from caliban_process.environ import secret_variables
from caliban_replay.lines import NoticeLine, Scene, SubAgents
from caliban_replay.recorder import (
    RecordingCompactor,
    RecordingCosts,
    RecordingProvider,
    RecordingRules,
    RecordingTools,
    recorded_children,
    recorded_news,
)
from caliban_replay.tape import Tape, plain

SERVICES = ("masker", "timing", "keeps_overflow")
"""Options of an agent that are no data."""


def open_tape(name: str, host: Host) -> Tape:
    """The tape of `--record`. It knows the secrets of the environment from the start.

    Raises `RecordingUnwritable`, before anything is written.
    """
    own = Masker()
    learn(own, secret_variables(host.environ))
    return Tape(expand_user(name).absolute(), (host.masker, own), home=str(home()))


def recording_wiring(tape: Tape) -> Wiring:
    """Everything as usual, and written down."""

    def model(resolved: ResolvedModel) -> ResolvedModel:
        compactor = resolved.compactor
        return replace(
            resolved,
            provider=RecordingProvider(resolved.provider, tape),
            compactor=None if compactor is None else RecordingCompactor(compactor, tape),
        )

    return Wiring(
        model=model,
        children=lambda models: recorded_children(models, tape),
        tools=lambda tools: RecordingTools(tools, tape),
        rules=lambda rules: RecordingRules(rules, tape),
        costs=lambda costs: RecordingCosts(costs, tape),
        news=lambda news: recorded_news(news, tape),
        options=lambda options: replace(options, timing=tape.timing),
        reporter=lambda show: RecordingReporter(show, tape),
        new_id=tape.new_id,
    )


class RecordingReporter(Reporter):
    """A reporter whose notices stand on `tape`, too."""

    def __init__(self, show: Report, tape: Tape) -> None:
        super().__init__(show)
        self._tape = tape

    def __call__(self, notice: Notice) -> None:
        """Report `notice`."""
        self._tape.write(
            NoticeLine(
                at_s=self._tape.timing.clock(),
                subtype=notice.subtype,
                message=notice.message,
                hint=notice.hint,
                remedy=notice.remedy,
                details=plain(notice.details),
            )
        )
        super().__call__(notice)


def begin_tape(tape: Tape, app: App, session: Session, face: Mapping[str, Any]) -> None:
    """Write down what the run begins with; `face` is what the face adds. Raises `RecordingUnwritable`."""
    provider = app.model.provider
    provider.capabilities(app.model.model)
    offered = (*app.tools.tools(), *(tool for tool in session.agent.tools.tools() if tool.spec.name == NAME))
    specs = tuple(tool.spec for tool in offered)
    agents = None
    if any(spec.name == NAME for spec in specs):
        agents = SubAgents(
            definitions=app.agents.definitions,
            **agent_limits(app.workspace, app.settings, app.memory.agent_text()),
        )
    active = app.active_tools()
    tape.begin(
        Scene(
            session_id=session.id,
            provider=app.model.name,
            family=provider.family,
            model=app.model.model,
            messages=session.messages,
            tools=specs,
            options=_options_data(session.agent.options),
            seed=tape.seed,
            prefix=session.prefix,
            agents=agents,
            deferral=None if active is None else active.deferral,
            held=tuple(sorted(app.held_tools())),
            has_summarizer=app.model.compactor is not None,
            face=face,
        ),
        VERSION,
    )
    tape.on_failure = lambda error: app.reporter(
        Notice(subtype="recording_failed", message=f"the recording stops here: {error.message}")
    )


def _options_data(options: AgentOptions) -> dict[str, Any]:
    data = {name: plain(getattr(options, name)) for name in options.__struct_fields__ if name not in SERVICES}
    place: Path | None = options.overflow_dir
    return {**data, "overflow_dir": None if place is None else str(place)}
