"""Blocks and frames with hostile words wherever words may stand."""

from __future__ import annotations

import random

from caliban_agent_core.ports import ApprovalRequest
from caliban_commands.answer import ChoiceRow, ShownChoice, ShownTable, ShownText
from caliban_common.hunks import text_change
from caliban_common.message import ImageBlock, ToolUseBlock
from caliban_common.tool import ToolSpec
from caliban_tui.compose import compose
from caliban_tui.draft.menu import MenuRow, MenuView
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.markdown.splitter import OpenReply, fed
from caliban_tui.question.asked import AskedField, CallBrief, FieldOption, FieldsQuestion, PersonQuestion
from caliban_tui.question.call import call_question, plan_question
from caliban_tui.question.opened import OpenQuestion
from caliban_tui.render.look import TranscriptLook
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.status import StatusLine
from caliban_tui.theme.palettes import PALETTES
from caliban_tui.theme.theme import DARK, PLAIN, Theme
from caliban_tui.theme.themes import TerminalKind, choose_theme
from caliban_tui.transcript.blocks import (
    AnswerBlock,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    ShellBlock,
    SummaryBlock,
    TaskBlock,
    TodoBlock,
    TodoRow,
    TranscriptBlock,
)
from caliban_tui.transcript.view import ConversationView, RunningCall, ThinkingText
from caliban_tui.ui import DraftView, UiState
from fuzzkit.hostile import tame, text

_STYLES = ("", "", "dim", "bold link", "tool", "error", "selected", "nonsense", "sgr:4;31")
_LINKS = (
    "",
    "",
    "",
    "https://a.example/x",
    "file:///a%20b",
    "javascript:x",
    "http://é",
    "http://a\x1b]8;;b",
    "x y",
)
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
RAW = (StyledText("any", "dim"),)
"""The first line of a frame of lines from anywhere."""
_WIDTHS = (1, 2, 3, 5, 10, 20, 40, 40, 80, 80, 80, 120)
_HEIGHTS = (1, 2, 3, 5, 8, 12, 24, 24, 40)


def size(pick: random.Random) -> ScreenSize:
    """A screen, often a small one."""
    return ScreenSize(pick.choice(_WIDTHS) + pick.randrange(3), pick.choice(_HEIGHTS) + pick.randrange(2))


def theme(pick: random.Random) -> Theme:
    """Any theme on any kind of terminal."""
    if pick.random() < 0.2:
        return pick.choice((DARK, PLAIN))
    kind = TerminalKind(
        depth=pick.choice(("none", "16", "256", "true")),
        unicode=pick.random() < 0.8,
        links=pick.random() < 0.7,
        is_dark=pick.random() < 0.5,
    )
    return choose_theme(pick.choice(("auto", *PALETTES)), kind)


def look(pick: random.Random) -> TranscriptLook:
    """How blocks are drawn."""
    return TranscriptLook(
        detail=pick.choice(("brief", "normal", "normal", "full")),
        images=pick.choice(("", "", "", "kitty", "iterm2", "sixel")),
        wraps_prose=pick.random() < 0.8,
    )


def block(pick: random.Random, depth: int = 0) -> TranscriptBlock:
    """A finished block of any kind."""
    match pick.randrange(13):
        case 0:
            return PromptBlock(
                text=text(pick), attached=(text(pick, 2),) * pick.randrange(2), steered=_flag(pick)
            )
        case 1 | 2:
            fence = pick.choice(("", "", "", "```python", "~~~", "````" + text(pick, 1)))
            return ReplyBlock(
                markdown=text(pick),
                is_joined=_flag(pick),
                ordinal=pick.randrange(3),
                fence=fence.partition("\n")[0],
            )
        case 3:
            return ReasoningBlock(text=text(pick), duration_s=pick.choice((0.0, 3.0)))
        case 4 | 5 | 6:
            return _call(pick, depth)
        case 7:
            rows = tuple(
                TodoRow(
                    content=text(pick, 3),
                    status=pick.choice(("pending", "in_progress", "completed", text(pick, 1))),
                )
                for _ in range(pick.randrange(4))
            )
            return TodoBlock(rows=rows, is_apart=_flag(pick))
        case 8:
            return TaskBlock(title=text(pick, 3), status=text(pick, 1), inner=_inner(pick, depth))
        case 9:
            level = pick.choice(("info", "warning", "error"))
            return NoticeBlock(level=level, text=text(pick), hint=text(pick, 2))
        case 10:
            return _answer(pick)
        case 11:
            return ShellBlock(command=text(pick, 4), output=text(pick, 20), code=pick.choice((0, 1, None)))
        case _:
            if _flag(pick):
                return SummaryBlock(reason=text(pick, 2), tokens_before=10_000, tokens_after=5)
            return EndBlock(duration_s=1.0, turns=2, cost_usd=None, words=text(pick, 3), hint=text(pick, 2))


def _flag(pick: random.Random) -> bool:
    return pick.random() < 0.5


def _call(pick: random.Random, depth: int) -> CallBlock:
    details: dict[str, object] = {}
    if _flag(pick):
        details["path"] = pick.choice(("/", "")) + text(pick, 2)
    if pick.random() < 0.3:
        details["change"] = text_change(text(pick), text(pick)).details()
    if pick.random() < 0.3:
        details["exit_code"] = pick.choice((0, 1, "x"))
    image = ImageBlock.of(pick.choice(("image/png", text(pick, 1))), pick.choice((_PIXEL, text(pick, 2))))
    return CallBlock(
        tool_use_id="1",
        name=text(pick, 1),
        summary=text(pick, 4),
        arguments={"command": text(pick, 4)},
        output=pick.choice(("", "→ ", "→ Stdout:\n")) + text(pick, 20),
        outcome=pick.choice(("ran", "ran", "failed", "denied", "invalid", "interrupted")),
        reason=text(pick, 4),
        details=details,
        duration_s=pick.choice((0.0, 75.0)),
        agent=text(pick, 1),
        images=(image,) if pick.random() < 0.2 else (),
        is_apart=_flag(pick),
        inner=_inner(pick, depth),
        left_out=pick.randrange(2),
    )


def _inner(pick: random.Random, depth: int) -> tuple[TranscriptBlock, ...]:
    if depth > 2 or pick.random() < 0.6:
        return ()
    return tuple(block(pick, depth + 1) for _ in range(pick.randrange(4)))


def _answer(pick: random.Random) -> AnswerBlock:
    columns = tuple(text(pick, 2) for _ in range(pick.randrange(1, 4)))
    rows = tuple(tuple(text(pick, 2) for _ in columns) for _ in range(pick.randrange(3)))
    table = ShownTable(columns=columns, rows=rows, title=text(pick, 1), notes=(text(pick, 2),))
    choice = ShownChoice(
        title=text(pick, 2), rows=(ChoiceRow(label=text(pick, 2), line="/x", detail=text(pick, 2)),)
    )
    parts = (ShownText(markdown=text(pick)), table, choice)
    return AnswerBlock(line=text(pick, 3), parts=tuple(pick.sample(parts, pick.randrange(1, 4))))


def lines(pick: random.Random) -> tuple[ScreenLine, ...]:
    """Lines that nobody has cut or cleaned; some stand there more than once."""
    words = tame if _flag(pick) else text
    pool = [
        tuple(
            StyledText(words(pick, 5), pick.choice(_STYLES), pick.choice(_LINKS))
            for _ in range(pick.randrange(4))
        )
        for _ in range(pick.randrange(1, 5))
    ]
    return tuple(pick.choice(pool) for _ in range(pick.randrange(10)))


def frame(pick: random.Random, at: ScreenSize, drawn: TranscriptLook) -> ScreenFrame:
    """A frame: of lines from anywhere, or of a view in which hostile words stand."""
    if _flag(pick):
        shown = (RAW, *lines(pick))
        caret = Caret(pick.randrange(max(len(shown), 1)), pick.randrange(30)) if pick.random() < 0.8 else None
        return ScreenFrame(lines=shown, caret=caret, look=drawn, spoken=lines(pick) if _flag(pick) else ())
    return compose(view(pick), ui(pick, drawn), at, 20.0)


def view(pick: random.Random) -> ConversationView:
    """The open end of a conversation."""
    calls = tuple(_running(pick, 0) for _ in range(pick.randrange(3)))
    todos = tuple(
        TodoRow(content=text(pick, 3), status=pick.choice(("pending", "in_progress"))) for _ in range(2)
    )
    return ConversationView(
        reply=fed(OpenReply(), text(pick))[0] if _flag(pick) else OpenReply(),
        thinking=ThinkingText(tail=text(pick), since_s=1.0) if pick.random() < 0.3 else ThinkingText(),
        is_working=_flag(pick),
        calls=calls,
        tasks=tuple(_running(pick, 0) for _ in range(pick.randrange(2))),
        todos=todos if pick.random() < 0.3 else (),
        output_tokens=pick.choice((0, 12_345)),
    )


def _running(pick: random.Random, depth: int) -> RunningCall:
    return RunningCall(
        tool_use_id="1",
        name=text(pick, 1),
        summary=text(pick, 4),
        began_s=pick.choice((1.0, 19.5)),
        progress=text(pick, 6),
        state=pick.choice(("written", "waiting", "running")),
        input_chars=pick.choice((0, 9_999)),
        inner_count=pick.randrange(2),
        child=view(pick) if depth < 2 and pick.random() < 0.2 else None,
    )


def ui(pick: random.Random, drawn: TranscriptLook) -> UiState:
    """A keyboard at which anything may have been typed and asked."""
    draft = text(pick)
    rows = tuple(MenuRow(label=text(pick, 2), detail=text(pick, 2), heading=text(pick, 1)) for _ in range(3))
    menu = MenuView(rows=rows, selected=pick.randrange(-1, 3), title=text(pick, 1), hint=text(pick, 1))
    status = StatusLine(
        cwd=text(pick, 2),
        branch=text(pick, 2),
        model=text(pick, 1),
        session=text(pick, 1),
        script=text(pick, 3),
    )
    asked = OpenQuestion(
        asked=question(pick), quiet_from_s=0.0, top=pick.choice((0, 0, 6)), hint=text(pick, 1)
    )
    return UiState(
        draft=DraftView(text=draft, cursor=pick.randrange(len(draft) + 1)),
        menu=menu if pick.random() < 0.3 else None,
        queued=tuple(text(pick, 3) for _ in range(pick.randrange(2))),
        question=asked if pick.random() < 0.4 else None,
        status=status,
        hint=text(pick, 2),
        look=drawn,
    )


def question(pick: random.Random) -> PersonQuestion:
    """Something that a person is asked in hostile words."""
    call = ToolUseBlock(id="1", name=text(pick, 1), input={"command": text(pick), "plan": text(pick)})
    spec = ToolSpec(name="Bash", description="", input_schema={})
    rule = (text(pick, 2),) * pick.randrange(2)
    request = ApprovalRequest(call=call, tool=spec, reason="", agent=text(pick, 1), suggestions=rule)
    match pick.randrange(4):
        case 0:
            return plan_question(request)
        case 1:
            options = tuple(FieldOption(value=str(n), label=text(pick, 2)) for n in range(pick.randrange(3)))
            kind = pick.choice(("text", "choice", "choices", "boolean")) if options else "text"
            asked = AskedField(
                name="a", label=text(pick, 2), kind=kind, detail=text(pick, 3), options=options
            )
            return FieldsQuestion(
                title="The model asks", fields=(asked,), words=text(pick, 3), agent=text(pick, 1)
            )
        case 2:
            change = CallBrief(
                text=text(pick), path=text(pick, 2) or "p", before=text(pick), after=text(pick)
            )
            return call_question(request, change)
        case _:
            return call_question(
                request, CallBrief(text=text(pick), effects=(text(pick, 2),) * pick.randrange(3))
            )
