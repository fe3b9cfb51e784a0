"""The commands that need a session alone, and an answer as plain text."""

from __future__ import annotations

import pytest

from caliban_agent_core.agent import Agent
from caliban_commands.answer import (
    ChoiceRow,
    ClearTranscript,
    CommandAnswer,
    CopyText,
    RepeatPrompt,
    ShownChoice,
    ShownTable,
    ShownText,
)
from caliban_commands.builtin.help import help_command
from caliban_commands.builtin.table import BUILTIN
from caliban_commands.command import ON_SCREEN, SlashCommand
from caliban_commands.errors import BadArguments, CommandDenied, CommandError, CommandNotHere
from caliban_commands.plain import plain_text
from caliban_commands.registry import CommandRegistry
from caliban_common.hook import HookEvent, HookVerdict, UserPromptSubmit
from caliban_common.message import assistant, system, user
from caliban_drive.notice import drop
from caliban_drive.session import Session
from caliban_provider.testing.scripted import ScriptedProvider

SAID = (system("rules"), user("one"), assistant("first"), user("two"), assistant("second"))

BB = ChoiceRow(label="", line="/bb")


class FreeCosts:
    """Nothing was spent."""

    def total_usd(self) -> float:
        return 0.0

    def by_model(self) -> tuple:
        return ()

    def by_agent(self) -> tuple:
        return ()


class Listener:
    """Hooks that note what they hear, and object where they are told to."""

    def __init__(self, *, denies: bool = False) -> None:
        self.heard: list[HookEvent] = []
        self._denies = denies

    async def fire(self, event: HookEvent) -> HookVerdict:
        self.heard.append(event)
        is_prompt = isinstance(event, UserPromptSubmit)
        return HookVerdict(decision="deny", reason="no") if self._denies and is_prompt else HookVerdict()


class Context:
    """A session, and nobody to tell."""

    def __init__(self, *messages, hooks: Listener | None = None) -> None:
        agent = Agent(ScriptedProvider([]), "m", hooks=hooks)
        self.session = Session(agent, id="s", messages=messages)
        self.costs = FreeCosts()
        self.report = drop


async def run(line: str, context: Context, place="idle") -> CommandAnswer:
    registry = CommandRegistry(BUILTIN)
    called = registry.called(line)
    assert called is not None
    return await registry.run(*called, context, place)


@pytest.mark.anyio
async def test_clear_leaves_the_system_prompt_alone() -> None:
    context = Context(*SAID)
    answer = await run("/clear", context)
    assert answer.effect == ClearTranscript()
    assert context.session.messages == SAID[:1]
    assert "nothing was said yet" in plain_text(await run("/clear", context))


@pytest.mark.anyio
@pytest.mark.parametrize(("line", "text"), [("/copy", "second"), ("/copy 2", "first")])
async def test_copy_counts_back_from_the_last_answer(line: str, text: str) -> None:
    answer = await run(line, Context(*SAID))
    assert answer.effect == CopyText(text=text)


@pytest.mark.anyio
@pytest.mark.parametrize("words", ["0", "-1", "3", "x", "1 2", "٣", "99999"])
async def test_copy_takes_a_number_of_an_answer(words: str) -> None:
    with pytest.raises(CommandError):
        await run(f"/copy {words}", Context(*SAID))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("words", "effect"),
    [
        ("", RepeatPrompt(count=3, interval_s=15.0)),
        ("--n=2 --interval=0.5", RepeatPrompt(count=2, interval_s=0.5)),
        ("look again --n=1", RepeatPrompt(count=1, interval_s=15.0, text="look again")),
        ("--n=1 if x:\n    a--b", RepeatPrompt(count=1, interval_s=15.0, text="if x:\n    a--b")),
    ],
)
async def test_loop_says_how_often_and_what(words: str, effect: RepeatPrompt) -> None:
    assert (await run(f"/loop {words}", Context(*SAID))).effect == effect


@pytest.mark.anyio
@pytest.mark.parametrize(
    "words", ["--n=0", "--n=1.5", "--n=", "--n=nan", "--n=1001", "--interval=-1", "--interval=inf", "--m=1"]
)
async def test_loop_takes_numbers_within_bounds(words: str) -> None:
    with pytest.raises(BadArguments):
        await run(f"/loop {words}", Context(*SAID))


@pytest.mark.anyio
async def test_loop_wants_a_prompt_to_repeat() -> None:
    with pytest.raises(CommandError, match="no prompt yet"):
        await run("/loop", Context(SAID[0]))


@pytest.mark.anyio
async def test_hooks_hear_of_a_command_once_the_session_has_begun_and_may_object() -> None:
    hooks = Listener()
    await run("/clear", Context(*SAID, hooks=hooks))
    kinds = [type(event).__name__ for event in hooks.heard]
    assert kinds == ["SessionStart", "UserPromptSubmit"]
    submitted = hooks.heard[-1]
    assert isinstance(submitted, UserPromptSubmit)
    assert (submitted.prompt, submitted.command, submitted.args) == ("/clear", "clear", "")
    context = Context(*SAID, hooks=Listener(denies=True))
    with pytest.raises(CommandDenied, match=r"/clear is not done: .*no"):
        await run("/clear", context)
    assert context.session.messages == SAID


@pytest.mark.anyio
async def test_a_command_runs_in_its_places_only() -> None:
    with pytest.raises(CommandNotHere, match="/quit does not run without the terminal") as caught:
        await run("/quit", Context(*SAID), "headless")
    assert caught.value.hint
    with pytest.raises(CommandNotHere, match="while a prompt is at work"):
        await run("/clear", Context(*SAID), "running")


@pytest.mark.anyio
async def test_help_lists_groups_in_order_and_says_what_one_does() -> None:
    registry = CommandRegistry(BUILTIN)
    registry.add(help_command(registry))
    registry.add(SlashCommand(name="gone", summary="x", group="Screen", run="", later="it is not built"))
    registry.add(SlashCommand(name="unseen", summary="x", group="Screen", run="", hidden=True))
    context = Context(*SAID)
    shown = plain_text(await registry.run(*registry.called("/help"), context, "headless"))  # type: ignore[misc]
    assert shown.index("Session") < shown.index("Context") < shown.index("Diagnostics")
    assert "/gone" in shown and "not part of this version" in shown and "/unseen" not in shown
    one = plain_text(await registry.run(*registry.called("/help /exit"), context, "headless"))  # type: ignore[misc]
    assert one.startswith("/quit\nleave\nalso /exit")


def test_commands_that_come_and_go_stand_behind_ours() -> None:
    def row(name: str) -> SlashCommand:
        return SlashCommand(name=name, summary="", group="Yours", run="", places=ON_SCREEN)

    rows = [(row("greet"), row("COST"))]
    asked: list[bool] = []

    def further(now: bool) -> tuple[SlashCommand, ...]:
        asked.append(now)
        return rows[-1]

    registry = CommandRegistry(BUILTIN, further=further)
    assert [command.name for command in registry][-1] == "greet"
    assert [command.name for command in registry.taken] == ["COST"]
    rows.append((row("wave"),))
    assert (registry.find("greet", now=True), registry.find("cost") is not None) == (None, True)
    assert registry.find("Wave") is not None
    assert asked == [False, True, False, False]


def test_an_answer_is_plain_text_in_columns() -> None:
    answer = CommandAnswer(
        parts=(
            ShownText(markdown="words"),
            ShownTable(columns=("A", "B"), rows=(("日本", "1"), ("é", "22")), title="T", notes=("n",)),
            ShownChoice(title="which", rows=(ChoiceRow(label="one", line="/a", is_current=True), BB)),
            ShownTable(columns=("A",), rows=(), notes=("none",)),
        )
    )
    assert plain_text(answer) == (
        "words\n\nT\nA     B\n日本  1\né     22\nn\n\nwhich\n* /a   one\n  /bb\n\nnone"
    )
