"""Trust in a project, asked for at the terminal before anything of it counts: shown whole first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio.to_thread
from msgspec.structs import replace

from caliban.cli.options import Options
from caliban.compose.project import open_project
from caliban.compose.workspace import build_workspace
from caliban_common.errors import CalibanError
from caliban_drive.notice import Notice, Report
from caliban_tui.question.asked import AnswerOption, ChoiceQuestion, ChosenAnswer
from caliban_tui.question.call import text_lines
from caliban_tui.question.desk import ApprovalDesk

if TYPE_CHECKING:
    from caliban.commands.trust import TrustQuestion

ASKED: Final = ("untrusted", "changed")
OPTIONS: Final = (
    AnswerOption(key="y", value="yes", label="yes, as long as it stays as it is"),
    AnswerOption(key="o", value="once", label="once, for this run"),
    AnswerOption(key="n", value="no", label="no: nothing of it counts"),
)


async def with_trust(options: Options, desk: ApprovalDesk, report: Report) -> Options:
    """The options of a run, once the person at `desk` has said whether the project is trusted.

    Nobody is asked about a project that supplies nothing, or was trusted as it is. A yes that cannot be saved
    holds for this run, and that is reported.
    """
    question = await anyio.to_thread.run_sync(_open_question, options)
    if question is None:
        return options
    from caliban.commands.trust import keep, shown_lines

    changed = question.trust.state == "changed"
    answer = await desk.ask(
        ChoiceQuestion(
            title="This project has changed since you trusted it. Trust it again?"
            if changed
            else "Do you trust this project? It would load all of this:",
            body=text_lines("\n".join(shown_lines(question))),
            options=OPTIONS,
        )
    )
    match answer:
        case ChosenAnswer(value="yes"):
            try:
                await anyio.to_thread.run_sync(keep, question)
            except CalibanError as error:
                words = f"the project is trusted for this session only: it is not saved: {error.message}"
                report(Notice(subtype="trust", message=words, hint=error.hint))
                return _trusting(options)
        case ChosenAnswer(value="once"):
            return _trusting(options)
    return options


def _trusting(options: Options) -> Options:
    return replace(options, settings=replace(options.settings, trust_project=True))


def _open_question(options: Options) -> TrustQuestion | None:
    """The question to ask; `None` where there is none, or the project cannot be read."""
    try:
        workspace = build_workspace(options.workspace.workspace)
        if open_project(options.settings, workspace).trust.state not in ASKED:
            return None
        from caliban.commands.trust import look_at
        from caliban.compose.consents import refused_root

        return look_at(workspace) if refused_root(workspace) is None else None
    except CalibanError:
        return None  # opening the app tells of it
