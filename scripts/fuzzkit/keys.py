"""Bytes of a terminal into the line editor: keys, pastes, answers in any pieces, questions at any moment."""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import anyio.lowlevel
from keyboard_kit import Keyboard, keyboard

from caliban_agent_core.ports import ApprovalRequest
from caliban_commands.answer import CommandAnswer
from caliban_commands.command import ON_SCREEN, SlashCommand
from caliban_commands.registry import CommandRegistry
from caliban_common.message import ToolUseBlock
from caliban_common.tool import ToolSpec
from caliban_tui.draft.lines import draft_lines
from caliban_tui.draft.ports import EditorOptions, EditorPorts
from caliban_tui.draft.suggest import CommandSuggester
from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.question.asked import AskedField, CallQuestion, FieldOption, FieldsQuestion, PersonQuestion
from caliban_tui.question.call import plan_question, text_lines
from caliban_tui.question.desk import ApprovalDesk
from caliban_tui.question.opened import ARM_S
from fuzzkit.main import Miss
from fuzzkit.strokes import NAMED, Wrong, any_bytes, cut, filter_fault, pasted

_ROUND = 40
_FILTERED = 8
"""So many times as often the bytes alone are tried, which is quick."""


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Streams through the filter alone, then through an editor with all that may stand around it."""
    from fuzzkit.vim import differences

    while True:
        misses = []
        for _ in range(_ROUND * _FILTERED):
            seed = pick.randrange(1 << 40)
            fault = filter_fault(seed)
            if fault:
                misses.append(Miss(f"filter, seed {seed}", fault))
        for _ in range(_ROUND):
            seed = pick.randrange(1 << 40)
            fault = anyio.run(editor_fault, seed, backend="asyncio")
            if fault:
                misses.append(Miss(f"editor, seed {seed}", fault))
        misses += differences(pick.randrange(1 << 40))
        yield _ROUND * (_FILTERED + 1), misses


async def editor_fault(seed: int) -> str:
    """What is wrong with what an editor does with a stream."""
    pick = random.Random(seed)
    try:
        await _Session(pick).play()
    except Wrong as error:
        return str(error)
    except Exception as error:
        while isinstance(error, ExceptionGroup) and isinstance(error.exceptions[0], Exception):
            error = error.exceptions[0]
        if isinstance(error, Wrong):
            return str(error)
        return "".join(traceback.format_exception(error, limit=-4))
    return ""


async def _nothing(context: object, arguments: str) -> CommandAnswer:
    return CommandAnswer()


_REGISTRY = CommandRegistry(
    SlashCommand(name=name, summary=name, group="Session", run=_nothing, places=ON_SCREEN)
    for name in ("compact", "cost", "model", "memory")
)


class _Session:
    """One editor, one desk of questions, one clock."""

    def __init__(self, pick: random.Random) -> None:
        self.pick = pick
        self.now_s = 0.0
        self.is_vim = pick.random() < 0.4
        self.is_careful = not self.is_vim and pick.random() < 0.5
        self.desk = ApprovalDesk(lambda: None, clock=lambda: self.now_s)
        self.filter = KeyFilter(clock=lambda: self.now_s)
        self.quiet_s = 0.0
        self.engaged = False
        self.words: list[str] = []
        self.word = ""
        self.log: list[str] = []
        self.scopes: list[anyio.CancelScope] = []
        self.board: Keyboard

    async def play(self) -> None:
        suggester = CommandSuggester(lambda: _REGISTRY, lambda: "idle")
        ports = EditorPorts(suggesters=(suggester,))
        async with (
            anyio.create_task_group() as tasks,
            keyboard(EditorOptions(vim=self.is_vim), ports) as board,
        ):
            self.board = board
            board.editor._intercept = self._intercepts
            await board.started()
            try:
                for _ in range(self.pick.randrange(1, 30)):
                    await self._step(tasks)
                self._kept()
            except Exception as error:
                raise Wrong(f"{type(error).__name__}: {error}; {' '.join(self.log[-60:])}") from error
            tasks.cancel_scope.cancel()

    async def _step(self, tasks: anyio.abc.TaskGroup) -> None:
        match self.pick.randrange(12):
            case 0:
                was = self.desk.open
                tasks.start_soon(self._ask, _question(self.pick))
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
                if was is None:
                    self.quiet_s, self.engaged = self.now_s, False
                self.log.append("ASK")
            case 1:
                if self.scopes:
                    first = self.desk.open
                    self.pick.choice(self.scopes).cancel()
                    await anyio.lowlevel.checkpoint()
                    await anyio.lowlevel.checkpoint()
                    self._moved_on(first)
            case 2 | 3:
                self.now_s += self.pick.choice((0.01, 0.05, 0.3, 0.59, 0.61, 1.0, 2.5))
                self.log.append(f"@{self.now_s:.2f}")
                for _ in range(2):
                    self._strokes(self.filter.flush())
            case 4 if self.is_careful:
                self._pressed(self.pick.choice(("home", "end", "enter", "c-c", "a-enter", "up", "down")))
            case 4:
                self._fed(any_bytes(self.pick))
            case 5 | 6:
                self._typed_word()
            case 7:
                text = f"q{len(self.words)}p" if self.is_careful else pasted(self.pick)
                self._fed(b"\x1b[200~" + text.encode() + b"\x1b[201~")
                for _ in range(2):
                    self._strokes(self.filter.flush())
                if self.is_careful and self.log[-1] == f"paste:{text!r}":
                    self.words.append(text)
            case 8 if not self.is_careful:
                self._fed(b"".join(any_bytes(self.pick) for _ in range(3)))
            case 9 if self.is_vim:
                self._fed(
                    self.pick.choice(
                        (
                            b"\x1b",
                            b"dw",
                            b"3x",
                            b"cw",
                            b"u",
                            b".",
                            b"p",
                            b"yy",
                            b"v",
                            b"V",
                            b"\x16",
                            b"o",
                            b"gg",
                            b"ciw",
                        )
                    )
                )
            case _:
                moves = ("enter", "up", "down", "tab", *(() if self.is_careful else ("left", "right")))
                self._pressed(self.pick.choice(moves))
        await anyio.lowlevel.checkpoint()

    async def _ask(self, question: PersonQuestion) -> None:
        with anyio.CancelScope() as scope:
            self.scopes.append(scope)
            await self.desk.ask(question)
        self.scopes.remove(scope)

    def _pressed(self, name: str) -> None:
        self._strokes([*self.filter.flush(), *self.filter.feed(NAMED[name])])

    def _typed_word(self) -> None:
        """A word of its own, of which every letter went to the draft or none counts."""
        word = f"q{len(self.words)}z"
        self._strokes(self.filter.flush())
        before = len(self.log)
        self._fed(word.encode())
        if self.is_careful and self.log[before:] == list(word) and not self.board.editor.text.startswith("/"):
            self.words.append(word)

    def _fed(self, data: bytes) -> None:
        for piece in cut(self.pick, data):
            self._strokes(self.filter.feed(piece))

    def _strokes(self, strokes: Sequence[KeyStroke]) -> None:
        for stroke in strokes:
            self._stroke(stroke)

    def _stroke(self, stroke: KeyStroke) -> None:
        editor, app = self.board.editor, self.board.editor._app
        if not app.is_running or app.is_done:
            return
        assert app.context is not None
        before, cursor, searched = editor.whole, editor.text[: editor.cursor], editor._search is not None
        first, waits = self.desk.open, self.desk._queue[0] if self.desk._queue else None
        was_answered = waits is not None and waits.answer is not None
        self.was_taken = False
        app.context.copy().run(editor._keys.stroke, stroke)
        name = f"{stroke.name}:{stroke.text!r}" if stroke.name == PASTE else stroke.name
        self.log.append(f"<{name}>" if self.was_taken or searched else name)
        if not was_answered:
            self._answered(waits, stroke)
        if first is not None and waits is not None:
            self.engaged = self.was_taken
        self.quiet_s = self.now_s
        self._sane()
        if stroke.name == PASTE and not self.was_taken and not searched:
            head = editor._pastes.whole(cursor)
            wanted = head + stroke.text + before[len(head) :]
            _hold(editor.whole == wanted, f"a paste of {stroke.text!r} into {before!r} gave {editor.whole!r}")

    def _intercepts(self, name: str) -> bool:
        if name == PASTE:
            self.was_taken = self.desk.paste(self.board.editor.stroke.text)
        else:
            self.was_taken = self.desk.key(name)
        return self.was_taken

    def _answered(self, waits: object, stroke: KeyStroke) -> None:
        answer = getattr(waits, "answer", None)
        if answer is None:
            return
        late = self.now_s - self.quiet_s >= ARM_S - 1e-9
        _hold(stroke.name != PASTE, "a paste has answered")
        _hold(
            late or self.engaged, f"{stroke.name} has answered {self.now_s - self.quiet_s:.2f} s after a key"
        )

    def _moved_on(self, first: object) -> None:
        now = self.desk.open
        if now is not None and (first is None or now.asked is not first.asked):  # type: ignore[attr-defined]
            self.quiet_s, self.engaged = self.now_s, False

    def _sane(self) -> None:
        editor = self.board.editor
        text, cursor = editor.text, editor.cursor
        _hold(0 <= cursor <= len(text), f"the cursor is at {cursor} of {len(text)}")
        _hold(
            editor._pastes.outside(text, cursor, cursor) == cursor,
            f"the cursor is within a character at {cursor} of {text!r}",
        )
        _hold(text.encode("utf-8", "replace").decode() == text, f"no text: {text!r}")
        lines, caret = draft_lines(editor.draft(), 20, 10)
        _hold(0 <= caret.row < len(lines) and 0 <= caret.column <= 20, f"the caret is at {caret}")
        editor.menu()

    def _kept(self) -> None:
        """Every word is in what was sent, in the history, in the draft, or comes back by undoing."""
        if not self.is_careful:
            return
        editor = self.board.editor
        seen = "\n".join((*self.board.done, *editor.history.typed, editor.whole))
        for _ in range(300):
            editor._buffer.undo()
            seen += "\n" + editor.whole
        lost = [word for word in self.words if word not in seen]
        _hold(not lost, f"lost: {lost}")


def _question(pick: random.Random) -> PersonQuestion:
    call = ToolUseBlock(id="1", name="Bash", input={"command": "ls", "plan": "p"})
    request = ApprovalRequest(
        call=call,
        tool=ToolSpec(name="Bash", description="", input_schema={}),
        reason="",
        suggestions=("Bash:ls",),
    )
    match pick.randrange(4):
        case 0:
            return plan_question(request)
        case 1:
            options = (FieldOption(value="a", label="a"), FieldOption(value="b", label="b"))
            kind = pick.choice(("text", "number", "choice", "choices", "boolean"))
            asked = AskedField(
                name="a",
                label="b",
                kind=kind,
                options=options if "choice" in kind else (),
                is_open=pick.random() < 0.5,
            )
            return FieldsQuestion(title="t", fields=(asked,) * pick.randrange(1, 3))
        case _:
            return CallQuestion(request=request, title="t", body=text_lines("ls"), patterns=("Bash:ls",))


def _hold(is_so: bool, why: str) -> None:
    if not is_so:
        raise Wrong(why)
