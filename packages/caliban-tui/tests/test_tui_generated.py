"""What generated screens found: each was a fault once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from keyboard_kit import keyboard
from msgspec.structs import replace

from caliban_agent_core.ports import ApprovalRequest
from caliban_common.message import ToolUseBlock
from caliban_common.tool import ToolSpec
from caliban_tui.clean import in_line
from caliban_tui.compose import compose
from caliban_tui.draft.history import PromptHistory
from caliban_tui.draft.lines import draft_lines
from caliban_tui.draft.ports import EditorOptions
from caliban_tui.keys.filter import KeyFilter
from caliban_tui.keys.stroke import KeyStroke
from caliban_tui.line import StyledText, plain, text_of
from caliban_tui.markdown.draw import markdown_lines
from caliban_tui.markdown.words import WordSpan, broken, wrapped
from caliban_tui.paint.delta import changed_part
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.paint.pen import Pen
from caliban_tui.question.asked import AskedField, CallBrief, ChoiceQuestion, FieldsQuestion
from caliban_tui.question.call import call_question
from caliban_tui.question.draw import question_view
from caliban_tui.question.opened import OpenQuestion
from caliban_tui.question.step import pasted, step
from caliban_tui.question.textfield import TextField
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.status import StatusLine, status_line
from caliban_tui.theme.theme import PLAIN
from caliban_tui.transcript.view import ConversationView
from caliban_tui.ui import DraftView, UiState
from caliban_tui.width import cells, graphemes

JOINED = "❤️"
"""Two cells, or one: a terminal decides."""


def test_a_line_that_a_terminal_may_find_full_is_not_erased_behind_its_end() -> None:
    pen = Pen(0, 10, PLAIN)
    pen.pour(plain(f"{JOINED}12345678"))
    assert pen.text == f"\x1b[J{JOINED}12345678\r\n"
    pen = Pen(0, 10, PLAIN)
    pen.to(0, 0)
    pen.put(plain(f"{JOINED}1234567"))
    assert pen.text == f"\r\x1b[K{JOINED}1234567"
    pen = Pen(0, 10, PLAIN)
    pen.pour(plain("123456789漢"))
    assert pen.text == "\x1b[J123456789漢\x1b[K\r\n"  # the cell before it is not written
    pen = Pen(0, 10, PLAIN)
    pen.pour(plain("123456789"))
    assert pen.text == "123456789\x1b[K\r\n"


@pytest.mark.parametrize("after", ["a w", "a "])
def test_a_mark_on_a_blank_that_stays_is_taken_away(after: str) -> None:
    old = (StyledText("a "), StyledText("\ufe0f", "dim"))
    assert changed_part(old, plain(after)) == (0, plain(after))
    assert changed_part(plain("a b"), plain("a w")) == (2, plain("w"))


def test_what_is_not_sent_has_no_cells_in_a_frame() -> None:
    size, painter = ScreenSize(4, 4), InlinePainter(PLAIN)
    painter.paint(ScreenFrame(lines=(plain("a…"), plain("> "))), [], size)
    data = painter.paint(ScreenFrame(lines=(plain("\x0b\x07\x1b\x00a…"), plain("> "))), [], size)
    assert data == b""


def test_a_field_on_a_screen_of_a_few_columns_is_drawn() -> None:
    field = AskedField(name="a", label="b")
    asked = OpenQuestion(asked=FieldsQuestion(title="t", fields=(field,)), quiet_from_s=0.0)
    for columns in range(1, 8):
        view = question_view(asked, ScreenSize(columns, 30), 9.0)
        assert view.caret is not None and view.caret.column < columns


def test_the_caret_stands_where_one_types_in_a_text_that_is_longer_than_the_screen() -> None:
    field = AskedField(name="a", label="b")
    text = TextField(text="x" * 50 + "漢y" + "z" * 50, cursor=52)
    asked = OpenQuestion(asked=FieldsQuestion(title="t", fields=(field,)), quiet_from_s=0.0, text=text)
    view = question_view(asked, ScreenSize(20, 30), 9.0)
    assert view.caret is not None
    line = text_of(view.lines[view.caret.row])
    before, _, after = line.partition("y")
    assert cells(before) + 1 == view.caret.column and after[:1] == "z"


def test_words_of_a_question_are_lines_of_their_own_nowhere() -> None:
    call = ToolUseBlock(id="1", name="Write", input={})
    spec = ToolSpec(name="Write", description="", input_schema={})
    request = ApprovalRequest(call=call, tool=spec, reason="", agent="a\n\x1b[2Jb")
    question = call_question(request, CallBrief(text="", path="p\n? May Read run?", before="", after="x"))
    asked = OpenQuestion(asked=question, quiet_from_s=0.0, hint="no\n\x1b[31m\u202eway")
    view = question_view(asked, ScreenSize(200, 30), 9.0)
    assert all(in_line(segment.text) == segment.text for line in view.lines for segment in line)
    assert text_of(view.lines[0]) == "? May Write change p\\n? May Read run?? (asked by a\\n\\x1b[2Jb)"
    plan = OpenQuestion(asked=ChoiceQuestion(title="t", options=(), agent="a\nb"), quiet_from_s=0.0)
    assert text_of(question_view(plan, ScreenSize(200, 30), 9.0).lines[0]) == "? t (asked by a\\nb)"


def test_the_status_the_hint_and_what_waits_hold_nothing_that_a_terminal_obeys() -> None:
    evil = "a\n\x1b[2Jb\x9b1m\u202e\x07"
    status = StatusLine(cwd=f"/{evil}", branch=evil, model=evil, session=evil, state=evil)
    ui = UiState(queued=(evil,), hint=evil, status=status)
    frame = compose(ConversationView(), ui, ScreenSize(200, 24), 0.0)
    assert all(in_line(segment.text) == segment.text for line in frame.lines for segment in line)
    assert "… a b" in [text_of(line) for line in frame.lines]
    assert cells(text_of(status_line(status, 20))) <= 20


def test_a_character_with_many_hidden_ones_on_it_is_cut_to_the_width() -> None:
    lines, caret = draft_lines(DraftView(text="漢" + "\U000e0100" * 30, cursor=31), 20)
    assert [cells(text_of(line)) <= 20 for line in lines] == [True] * len(lines)
    assert caret.column < 20
    lines, _ = draft_lines(DraftView(text="a\udcffb"), 20)
    assert text_of(lines[0]) == "> a\ufffdb"


def test_a_table_of_next_to_nothing_but_empty_cells_is_shown_as_it_stands() -> None:
    head = "|".join("abcdefghij" * 5)
    text = f"{head}\n{'|'.join('-' * 50)}\n" + "|\n" * 400
    lines = markdown_lines(text, 200)
    assert text_of(lines[0]) == head
    assert len(lines) == 403
    assert text_of(markdown_lines(text[:400], 200)[0]) != head


def test_a_screen_that_joins_otherwise_loses_no_row_above_when_it_becomes_narrower() -> None:
    family = "👨\u200d👩\u200d👧"  # two cells, or six
    frame = ScreenFrame(lines=(plain("☎️" * 4), plain(family), plain("> ")), caret=Caret(2, 2))
    painter = InlinePainter(PLAIN)
    painter.paint(frame, [], ScreenSize(40, 10))
    assert b"\x1b[2A" in painter.paint(frame, [], ScreenSize(4, 10))


def test_without_unicode_what_is_sent_is_measured() -> None:
    pen = Pen(0, 3, replace(PLAIN, unicode=False))
    pen.pour(plain("ab漢漢"))
    assert pen.text == "ab????\r\n"  # two whole rows: erased behind them, the last character would go


def test_a_joiner_hides_no_letter_from_the_width() -> None:
    assert [cells(text) for text in ("a\u200db", "\u200dabc", "👨\u200dx", "👨\u200d👩\u200d👧")] == [
        2,
        3,
        3,
        2,
    ]


def test_what_is_joined_without_an_end_is_broken() -> None:
    run = "\u1100" * 40  # beginnings of Korean syllables: one character, says Unicode
    assert [cells(text_of(row)) for row in broken(plain(run), 20)] == [20] * 4
    assert list(graphemes("👨\u200d👩\u200d👧🇩🇪")) == ["👨\u200d👩\u200d👧", "🇩🇪"]


def test_a_long_line_is_broken_in_time_that_grows_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[int] = []

    def counted(text: str) -> int:
        measured.append(len(text))
        return cells(text)

    monkeypatch.setattr("caliban_tui.width.cells", counted)
    size = 4_000
    rows = broken((StyledText("漢" * size),), 10)
    lines = wrapped([WordSpan("漢" * size)], 10, hard=True)
    assert len(rows) == len(lines) == size * 2 // 10
    assert sum(measured) < 8 * size


def strokes_of(data: bytes, *pieces: int) -> tuple[list[KeyStroke], list[bytes]]:
    answers: list[bytes] = []
    keys = KeyFilter(answers.append, clock=lambda: 0.0)
    places = [0, *pieces, len(data)]
    strokes = [stroke for start, end in pairwise(places) for stroke in keys.feed(data[start:end])]
    return [*strokes, *keys.flush()], answers


def test_what_comes_between_two_pastes_at_once_is_no_part_of_them() -> None:
    data = b"\x1b[200~a\x1b[201~\x1b[Ib\x1b[A\x03\x1b[200~c\x1b[201~\x1b]11;rgb:0/0/0\x07d"
    strokes, answers = strokes_of(data)
    assert strokes == [
        KeyStroke("paste", "a"),
        KeyStroke("paste", "b"),
        KeyStroke("paste", "c"),
        KeyStroke("d"),
    ]
    assert answers == [b"\x1b[I", b"\x1b]11;rgb:0/0/0\x07"]


def test_a_character_that_is_cut_behind_a_paste_is_whole() -> None:
    data = b"\x1b[200~a\x1b[201~" + "漢\ufe0f".encode() + b"\x1b[200~c\x1b[201~"
    for place in range(13, len(data) - 6):
        strokes, _ = strokes_of(data, place)
        assert "".join(stroke.text or stroke.name for stroke in strokes) == "a漢\ufe0fc"


def test_a_paste_goes_to_where_an_answer_is_written_and_answers_nothing() -> None:
    call = ToolUseBlock(id="1", name="Bash", input={})
    request = ApprovalRequest(
        call=call, tool=ToolSpec(name="Bash", description="", input_schema={}), reason=""
    )
    asked = OpenQuestion(asked=call_question(request, CallBrief(text="ls")), quiet_from_s=0.0)
    assert pasted(asked, "y", 9.0) is None
    words, _ = step(asked, "tab", 9.0)
    written = pasted(words, "one\n two\x1b[A\ty", 9.0)
    assert written is not None and written.text == TextField.of("one two[A y")
    assert pasted(words, "x" * 20_000, 9.0) is None
    field = FieldsQuestion(title="t", fields=(AskedField(name="a", label="b"),))
    assert pasted(OpenQuestion(asked=field, quiet_from_s=0.0), "late", 0.1) is None
    filled = pasted(OpenQuestion(asked=field, quiet_from_s=0.0), "text", 9.0)
    assert filled is not None and filled.text.text == "text"


def test_images_without_an_end_are_shown_as_they_stand() -> None:
    text = "![#*" * 250
    assert "".join(text_of(line) for line in markdown_lines(text, 40)) == text
    assert text_of(markdown_lines("![a](https://b.example/c)", 40)[0]).startswith("[image: a]")


def test_a_header_below_which_nothing_stands_is_shown_on_a_narrow_screen() -> None:
    lines = markdown_lines("first column|second column\n-|-\nvalue|\nmore|\n", 12)
    shown = [text_of(line) for line in lines]
    assert " ".join(shown).count("second") == 1


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_draft_that_was_left_for_one_of_the_history_is_remembered(anyio_backend: str) -> None:
    async with keyboard() as board:
        await board.started()
        board.press("old\r")
        board.press("new")
        board.editor._buffer.history_backward()
        assert board.editor.text == "old"
        board.press("er\r")
        assert board.done == ["send old", "send older"]
        assert board.editor.history.typed == ("old", "new", "older")
        board.press("third")
        board.editor._begin_search()
        board.editor._end_search()
        board.press("\r")
        assert board.editor.history.typed[-2:] == ("third", "older")
        board.press("fourth")
        board.editor._buffer.history_backward()
        board.editor._buffer.history_forward()
        board.press("\r")
        assert board.editor.history.typed[-1] == "fourth"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_operator_of_vim_over_nothing_changes_nothing(anyio_backend: str) -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        for keys in ("d0", "db", "dtx", "dFx", "y0", "di(", 'di"', "j0d0", "gU0", "dgg"):
            board.begin("foo bar\nbaz")
            board.press(keys)
            text = "foo bar\nbaz" if keys != "dgg" else "baz"
            assert (keys, board.editor.text) == (keys, text)
            board.press("\x1b")
        board.begin("foo")
        board.press("c0x\x1b")
        assert board.shown == "|xfoo"


def test_a_draft_that_begins_with_an_empty_line_is_no_secret() -> None:
    history = PromptHistory()
    for text in ("\nwords", " secret", "\tsecret", "\n", "words"):
        history.add(text)
    assert history.typed == ("\nwords", "words")
