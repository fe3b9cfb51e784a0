"""One conversation on the screen: what is typed becomes prompts, commands, lines of a shell and notes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban_commands.answer import (
    AnswerPart,
    ClearTranscript,
    CommandAnswer,
    CommandEffect,
    OpenView,
    Quit,
    RepeatPrompt,
    ShownChoice,
    SubmitPrompt,
    SwitchSession,
)
from caliban_commands.command import Place, SlashCommand
from caliban_common.errors import CalibanError
from caliban_common.event import AgentEvent
from caliban_common.message import Message
from caliban_common.text import one_line
from caliban_tui.around import TalkScreen
from caliban_tui.host import TerminalHost
from caliban_tui.markdown.draw import preload
from caliban_tui.render.ends import end_block
from caliban_tui.stage import Stage
from caliban_tui.transcript.blocks import AnswerBlock, NoticeBlock, PromptBlock, TranscriptBlock
from caliban_tui.transcript.fold import fold
from caliban_tui.transcript.joined import read_joined
from caliban_tui.transcript.saved import resumed_blocks
from caliban_tui.transcript.view import RunningCall, begun, progressed
from caliban_tui.waiting import WaitingLine, WaitingLines
from caliban_tui.words import attached_to, fault_told, is_note, with_text
from caliban_tui.work import WorkAtHand

if TYPE_CHECKING:
    from caliban_drive.result import PromptResult

SHELL_ID: Final = "typed"
IDLE_S: Final = 1.0
THINKING_S: Final = 0.25


class Talk:
    """The conversation of `host` on `stage`; `lines` are what was typed and waits. `tasks` outlives it."""

    def __init__(
        self, host: TerminalHost, stage: Stage, lines: WaitingLines, screen: TalkScreen, tasks: TaskGroup
    ) -> None:
        self.host: TerminalHost = host
        self.last_prompt: str = ""
        self.steered: list[str] = []  # said to the run, and not read by it yet
        self._stage = stage
        self._lines = lines
        self._screen = screen
        self._tasks = tasks
        self._next: SwitchSession | None = None
        self._is_over = False
        self._work = WorkAtHand(stage, tasks)
        self._in_prompt = False
        self._is_prepared = False
        self._interrupted = False

    @property
    def is_at_work(self) -> bool:
        """Whether something is under way that can be interrupted."""
        return self._in_prompt or self._work.is_under_way

    async def run(self) -> SwitchSession | None:
        """Answer what is typed until another session is wanted; `None` where the person leaves."""
        self.host.prompt_ended()
        self._begin()
        self._tasks.start_soon(self._prepare, IDLE_S)
        while not self._is_over and self._next is None:
            if not self._lines or self._screen.is_choosing:
                await self._lines.wait(for_more=True)
                continue
            await self._take(self._lines.take())
            self.host.prompt_ended()
            self._stage.changed()
        return self._next

    def _begin(self) -> None:
        """Show what was said before, where the session goes on."""
        messages = tuple(message for message in self.host.session.messages if message.role != "system")
        if messages:
            self._show(*resumed_blocks(messages, self.host.describe))

    def stop(self) -> None:
        """End it: what is at work is interrupted."""
        self._is_over = True
        self.interrupt()
        self._lines.wake()

    def interrupt(self) -> None:
        """End what is at work; what waits behind it goes back into the draft."""
        self._interrupted = True
        self._screen.give_back(self._lines.take_all())
        if not self._work.interrupt() and self._in_prompt:
            self.host.session.interrupt()

    def send(self, text: str, *, steers: bool, shown: str = "") -> None:
        """Take what was typed: at once where it can be, to the run at work where it `steers`, else later.

        `shown` is the draft as it stood, with placeholders for long pastes.
        """
        if not text.strip():
            return
        if self.is_at_work and self._runs_beside(text):
            self._hold(text)
            self._tasks.start_soon(self._guarded, partial(self._beside, text))
        elif steers and self._in_prompt and not text.startswith(("/", "!")) and not is_note(text):
            self._tasks.start_soon(self._guarded, partial(self._steer, text, shown))
        else:
            if not self._lines and not self.is_at_work:
                self._hold(text)
            self._lines.put(WaitingLine(text=text, shown=shown))

    def send_first(self, text: str) -> None:
        """Take what was chosen in a list that a command has opened: before what was typed behind that."""
        if self.is_at_work:
            self.send(text, steers=False)
        else:
            self._hold(text)
            self._lines.put_first((WaitingLine(text=text),))

    def _hold(self, text: str) -> None:
        if self._called_opens(text):
            self._screen.held.awaits(text)

    def _called_opens(self, text: str) -> bool:
        """Whether a line calls a command that opens something."""
        try:
            called = self.host.commands.called(text) if text.startswith("/") else None
        except CalibanError:
            return False
        return called is not None and called[0].opens_for(called[1])

    def _runs_beside(self, text: str) -> bool:
        try:
            called = self.host.commands.called(text) if text.startswith("/") else None
        except CalibanError:
            return True  # told at once that there is no such command
        return called is not None and "running" in called[0].places

    async def _beside(self, text: str) -> None:
        if (called := self.host.commands.called(text)) is not None:
            await self._command(text, *called, place_is_running=True)

    async def _steer(self, text: str, shown: str) -> None:
        """Tell the run at work; too late for it, it is a prompt."""
        message = await self._made(WaitingLine(text=text, shown=shown))
        if not self._in_prompt:
            self._lines.put(WaitingLine(text=text, message=message, shown=shown))
            return
        self.steered.append(message.text)
        self.host.session.steer(message)
        self._stage.changed()

    def start(self, work: Callable[[], Awaitable[None]], *, is_seen: bool = False) -> None:
        """Do something beside what is at work; what goes wrong is told. See `WindowScreen`."""
        seen = is_seen and not self.is_at_work
        self._tasks.start_soon(self._guarded, partial(self._work.result_of, work) if seen else work)

    async def _take(self, line: WaitingLine) -> None:
        self._interrupted = False
        if not self._called_opens(line.text):
            self._screen.held.passed(line.text)
        await self._guarded(partial(self._do, line))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work`; what goes wrong is shown, and the conversation goes on."""
        try:
            await work()
        except CalibanError as error:
            self._show(NoticeBlock(level="error", text=error.message, hint=error.hint or ""))
        except Exception as error:
            if self._screen.shows_faults:
                raise
            self._show(fault_told(error))

    async def _do(self, line: WaitingLine) -> None:
        text = line.text
        if line.message is None:
            if text.startswith("!"):
                await self._shell(text[1:].strip())
                return
            if is_note(text):
                await self._note(text[1:].strip())
                return
            if text.startswith("/mcp__") and not await self._work.result_of(self._refreshed):
                self._screen.give_back((line,))
                return
            called = self.host.commands.called(text) if text.startswith("/") else None
            if called is not None:
                await self._command(text, *called, place_is_running=False)
                return
        await self._prompt(line)

    async def _refreshed(self) -> bool:
        await self.host.commands.refresh()
        return True

    async def _command(self, line: str, command: SlashCommand, words: str, *, place_is_running: bool) -> None:
        place: Place = "running" if place_is_running else "idle"
        run = partial(self.host.commands.run, command, words, self.host, place)
        try:
            answer = await (run() if self.is_at_work else self._work.result_of(run))
            if answer is None:
                self._show(NoticeBlock(level="info", text=f"/{command.name} was interrupted"))
                return
            if not place_is_running and _opens(answer):
                with self._lines.being_taken(WaitingLine(text=line)):
                    await self._screen.held.quiet(line)
            await self._answered(line, answer)
            if isinstance(answer.effect, SwitchSession):
                self._screen.held.passed(line)  # what was typed behind it is for the other session
        finally:
            self._screen.held.settled(line)

    async def _answered(self, line: str, answer: CommandAnswer) -> None:
        effect, parts = answer.effect, answer.parts
        for event in answer.events:
            self._fold(event)
        choice = next((part for part in parts if isinstance(part, ShownChoice)), None)
        if choice is not None and effect is None:
            parts = tuple(part for part in parts if part is not choice)
            self._screen.choose(choice)
        if isinstance(effect, ClearTranscript):
            await self.perform(effect, parts)  # what is answered stands on the empty screen
            effect = None
        if parts and not isinstance(effect, OpenView):
            self._show(AnswerBlock(line=line, parts=parts))
        await self.perform(effect, parts)

    async def perform(self, effect: CommandEffect | None, parts: tuple[AnswerPart, ...] = ()) -> None:
        """Do what a command or an overlay wants. Raises `CalibanError`."""
        match effect:
            case None:
                return
            case Quit():
                self._screen.leave()
            case SwitchSession():
                self._next = effect
                self._lines.wake()
            case SubmitPrompt():
                await self._submitted(effect)
            case RepeatPrompt():
                self._tasks.start_soon(self._guarded, partial(self._repeat, effect))
            case _:
                await self._screen.show_effect(effect, parts)

    async def _submitted(self, effect: SubmitPrompt) -> None:
        line = WaitingLine(text=effect.text, shown=effect.shown, model=effect.model, effort=effect.effort)
        making = partial(self.host.message, effect.references)
        if self.is_at_work:
            self._lines.put(replace(line, message=with_text(await making(), effect.text)))
        elif (message := await self._awaited(line, making)) is not None:
            await self._prompt(replace(line, message=with_text(message, effect.text)))

    async def _awaited(self, line: WaitingLine, making: Callable[[], Awaitable[Message]]) -> Message | None:
        """What `making` gives for `line`, shown meanwhile; interrupted, `None`, and it is a draft again."""
        made: list[Message] = []
        with self._lines.being_taken(line), self._work.seen():
            made.append(await making())
        if not made:
            self._screen.give_back((line,))
        return next(iter(made), None)

    async def _made(self, line: WaitingLine) -> Message:
        """The prompt that a line makes; where it makes none, the line is a draft again. Raises likewise."""
        try:
            return await self.host.message(line.text)
        except CalibanError:
            self._screen.give_back((line,))
            raise

    async def _repeat(self, effect: RepeatPrompt) -> None:
        text = effect.text or self.last_prompt
        for _ in range(effect.count):
            await anyio.sleep(effect.interval_s)
            if self._is_over or self._next is not None:
                return
            self._lines.put(WaitingLine(text=text))

    async def _shell(self, line: str) -> None:
        summary = f"! {one_line(line)}"
        call = RunningCall(tool_use_id=SHELL_ID, name="!", summary=summary, began_s=time.monotonic())

        def progress(text: str) -> None:
            self._stage.view = progressed(self._stage.view, text)
            self._stage.changed()

        block: TranscriptBlock = NoticeBlock(level="warning", text=f"{summary} was interrupted")
        with self._work.seen(call):
            block = await self.host.shell(line, progress)
        self._show(block)

    async def _note(self, note: str) -> None:
        places = self.host.note_places()
        place = await self._screen.choose_note_place(places, note)
        if place is None:
            self._show(NoticeBlock(level="info", text="the note was not written"))
            return
        self.host.add_note(place, note)
        words = f"noted in {place.path}; the model reads it from the next session on"
        self._show(NoticeBlock(level="info", text=words))

    async def _prompt(self, line: WaitingLine) -> None:
        message = line.message or await self._awaited(line, partial(self._made, line))
        if message is None:
            return
        if line.model or line.effort:
            async with self.host.asked_as(line.model, line.effort):
                await self._asked(line, message)
        else:
            await self._asked(line, message)

    async def _asked(self, line: WaitingLine, message: Message) -> None:
        self._show(PromptBlock(text=line.shown or line.text, attached=attached_to(message)))
        self.last_prompt = line.text
        now = time.monotonic()
        self._stage.view = begun(self._stage.view, now)
        self._in_prompt = True
        result: PromptResult | None = None
        try:
            if self._is_over:
                return
            self._tasks.start_soon(self._prepare, THINKING_S)
            async with self.host.session.submit(message) as submission:
                await read_joined(submission, self._fold)
                result = submission.result
        finally:
            self._in_prompt = False
            self._stage.settle()
            self._return_steering()
        if result is not None:
            from caliban_drive.remedies import result_advice

            self._show(end_block(result, time.monotonic() - now, result_advice(result) or ""))
        self._screen.ended(result)

    async def _prepare(self, after_s: float) -> None:
        """Load what draws a reply, once: in an idle moment, or while the model thinks about a prompt."""
        await anyio.sleep(after_s)
        if not self._is_prepared:
            self._is_prepared = True
            await anyio.to_thread.run_sync(preload, abandon_on_cancel=True)

    def _fold(self, event: AgentEvent) -> None:
        self.host.observe(event)
        view, blocks = fold(self._stage.view, event, time.monotonic(), self.host.describe)
        self._stage.view = view
        if blocks:
            self._show(*blocks)
            self._note_read(blocks)
        self._stage.changed()

    def _note_read(self, blocks: tuple[TranscriptBlock, ...]) -> None:
        """What was said to the run stands in the transcript once the run has read it."""
        for block in blocks:
            if isinstance(block, PromptBlock) and block.steered and block.text in self.steered:
                self.steered.remove(block.text)

    def _return_steering(self) -> None:
        """What was said too late for the run to read is the next prompt."""
        self.steered.clear()
        late = self.host.session.unread()
        lines = tuple(WaitingLine(text=message.text, message=message) for message in late)
        if self._interrupted:
            self._screen.give_back(lines)
        else:
            self._lines.put_first(lines)

    def _show(self, *blocks: TranscriptBlock) -> None:
        self._stage.show(*blocks)


def _opens(answer: CommandAnswer) -> bool:
    """Whether an answer opens something to choose from or to look at."""
    chooses = answer.effect is None and any(isinstance(part, ShownChoice) for part in answer.parts)
    return chooses or isinstance(answer.effect, OpenView)
