"""Blocks as lines, per width and per level of detail: `CALIBAN_GOLDEN=record` writes the files anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tui_samples import PIXEL, SAMPLES, call, reply_blocks

from caliban_common.message import ImageBlock
from caliban_tui.line import ScreenLine, StyledText, text_of
from caliban_tui.paint.sgr import encode_line
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.calls import MARKS
from caliban_tui.render.images import image_protocol
from caliban_tui.render.look import NORMAL, DetailLevel, TranscriptLook
from caliban_tui.theme.theme import DARK
from caliban_tui.transcript.blocks import ReplyBlock, TranscriptBlock
from caliban_tui.width import line_cells

SNAPSHOTS = Path(__file__).parent / "snapshots"


def lines_of(*blocks: TranscriptBlock, columns: int = 80, look: TranscriptLook = NORMAL) -> list[str]:
    return [text_of(line).rstrip() for block in blocks for line in block_lines(block, columns, look)]


def markdown(text: str, columns: int = 80) -> list[str]:
    return lines_of(*reply_blocks(text), columns=columns)


def segments(text: str) -> list[StyledText]:
    return [segment for block in reply_blocks(text) for line in block_lines(block, 80) for segment in line]


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("detail", ["brief", "normal", "full"])
def test_everything_looks_as_it_did(detail: DetailLevel, columns: int):
    shown = "\n".join(lines_of(*SAMPLES, columns=columns, look=TranscriptLook(detail=detail))) + "\n"
    path = SNAPSHOTS / f"transcript-{detail}-{columns}.txt"
    if os.environ.get("CALIBAN_GOLDEN") == "record":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def test_only_what_is_copied_whole_is_wider_than_the_screen():
    wide = {
        text_of(line).strip()
        for block in SAMPLES
        for line in block_lines(block, 40, TranscriptLook(detail="full"))
        if line_cells(line) > 40
    }
    whole = ("https://", "(https://", "return [", "def parse", *MARKS.values())
    assert {word for word in wide if not word.startswith(whole)} == set()
    assert any(word.startswith("https://") for word in wide)


def test_code_is_printed_unindented_and_unbroken_and_in_colours():
    long = "x = " + " + ".join(str(number) for number in range(100))
    (block,) = reply_blocks(f"```python\n{long}\n```")
    (_, line) = block_lines(block, 40)
    assert text_of(line) == long
    assert "syntax_number" in {segment.style for segment in line}
    (plain_block,) = reply_blocks(f"```nosuchlanguage\n{long}\n```")
    assert {segment.style for line in block_lines(plain_block, 40) for segment in line} == {"code"}
    assert markdown("- a\n  ```sh\n  echo hi\n  ```")[-1] == "echo hi"


def test_code_of_a_long_fence_is_drawn_like_that_of_one_block():
    lines = [f"line_{number} = {number}" for number in range(100)]
    blocks = reply_blocks("```py\n" + "\n".join(lines) + "\n```\nend")
    assert len(blocks) > 5
    assert lines_of(*blocks) == ["", *lines, "end"]


def test_links_lead_only_where_a_person_may_be_led_and_say_where():
    text = "[a](https://e.org/x) [b](javascript:alert(1)) [c](file:///etc/hosts) <mailto:me@e.org> https://e.org/y."
    links = {segment.text: segment.link for segment in segments(text) if segment.link}
    assert links == {
        "a": "https://e.org/x",
        "https://e.org/x": "https://e.org/x",
        "c": "file:///etc/hosts",
        "file:///etc/hosts": "file:///etc/hosts",
        "mailto:me@e.org": "mailto:me@e.org",
        "https://e.org/y": "https://e.org/y",
    }
    assert "javascript:alert(1)" in markdown(text, 200)[1]
    hostile = "[a](https://e.org/&#27;]8;;x&#7;) ![i](https://e.org/&#x9b;2J) &#27;[2J &#8238;gpj"
    lines = [line for block in reply_blocks(hostile) for line in block_lines(block, 80)]
    shown = "".join(encode_line(line, DARK) for line in lines)
    for sign in ("\x1b]8;;x", "\x9b", "\x1b[2J", "\u202e", "\x07"):
        assert sign not in shown


def test_emphasis_and_headings_have_their_roles():
    styles = {segment.text: segment.style for segment in segments("# T\n\n**b** *e* ~~s~~ `c` **`bc`**")}
    assert styles == {
        "T": "heading", "b": "bold", "e": "emphasis", "s": "dim", "c": "code", "bc": "bold code", " ": "",
    }  # fmt: skip


def test_a_table_shares_the_width_and_becomes_lines_where_it_is_too_narrow():
    table = "| a | b |\n|---|---|\n| one two three four | five six seven eight |\n| 1 | |"
    assert markdown(table, 60)[1:] == [
        "a                   b",
        "──────────────────  ────────────────────",
        "one two three four  five six seven eight",
        "1",
    ]
    assert markdown(table, 24)[3:5] == ["one two      five six", "three four   seven eight"]
    assert markdown(table, 12)[1:] == ["a: one two", "three four", "b: five six", "seven eight", "", "a: 1"]
    assert markdown("|||\n|-|-|\n", 12)


OPTIONS = (
    "| Configuration option | Default value | What it does |\n|---|---|---|\n"
    "| `permissions.mode` | default | Says which calls are asked about |\n"
    "| timeout_ms | 120000 | Ends a command |"
)


def test_a_table_is_broken_at_words_or_is_a_record_a_row():
    assert markdown(OPTIONS, 48)[1:] == [
        "Configuration     Default value  What it does",
        "option",
        "────────────────  ─────────────  ───────────────",
        "permissions.mode  default        Says which",
        "                                 calls are asked",
        "                                 about",
        "timeout_ms        120000         Ends a command",
    ]
    assert markdown(OPTIONS, 35)[1:] == [
        "Configuration option:",
        "permissions.mode",
        "Default value: default",
        "What it does: Says which calls are",
        "asked about",
        "",
        "Configuration option: timeout_ms",
        "Default value: 120000",
        "What it does: Ends a command",
    ]


@pytest.mark.parametrize("columns", range(4, 90))
def test_no_word_of_a_table_is_broken_at_any_width(columns: int):
    words = {word for line in markdown(OPTIONS, columns) for word in line.replace("─", "").split()}
    assert words <= {*OPTIONS.replace("|", " ").replace("`", "").split(), *(f"{w}:" for w in OPTIONS.split())}


def test_a_table_without_names_stays_one_as_long_as_there_is_room_for_columns():
    rows = "|||\n|---|---|\n| ✓ | /home/somebody/.local/share/caliban/sessions is written |"
    assert markdown(rows, 30)[-3:] == [
        "✓  /home/somebody/.local/share",
        "   /caliban/sessions is",
        "   written",
    ]
    many = f"{'|' * 5}\n{'|---' * 4}|\n| some words | and more words | some words | and more words |"
    assert markdown(many, 20)[-4:] == ["some words", "and more words", "some words", "and more words"]


def test_a_table_of_ideograms_is_broken_between_them_and_an_address_never():
    wide = "| 设置选项 | 默认值 |\n|---|---|\n| 权限模式说明很长的文字在这里 | 默认 |"
    assert markdown(wide, 24)[3:] == ["权限模式说明很长  默认", "的文字在这里"]
    address = "https://example.org/a/very/long/path/that/nobody/wants/to/see/broken"
    assert address in markdown(f"| Name | Where |\n|---|---|\n| docs | {address} |", 40)


def test_widths_are_those_of_what_a_person_sees():
    blocks = reply_blocks("日本語 " * 20 + "\n\n" + "👩‍👧 " * 30 + "\n\n" + "é " * 60)
    lines = [line for block in blocks for line in block_lines(block, 40)]
    assert {line_cells(line) > 40 for line in lines} == {False}
    assert sum(line_cells(line) > 30 for line in lines) >= 6


@pytest.mark.parametrize(
    "piece",
    ["[", "*", "`", ">", "- ", "![](", "<", "**a", "a_", "&#", "\\", "[a](", "~~a", "1. ", "||\n|-|-|\n"],
)
def test_hostile_markdown_is_drawn(piece: str):
    assert lines_of(*reply_blocks(piece * (8_000 // len(piece))))


@pytest.mark.parametrize("depth", [3, 20, 49, 51, 200])
def test_no_word_is_too_deep_to_be_drawn(depth: int):
    nested = "".join(f"{'  ' * level}- level\n" for level in range(depth))
    for text in ("> " * depth + "deepest", "- " * depth + "deepest", f"{nested}{'  ' * depth}deepest"):
        assert "deepest" in " ".join(markdown(text))


def test_no_cell_is_left_out_and_no_definition_swallowed():
    assert "three" in " ".join(markdown("| a | b |\n|---|---|\n| one | two | three |"))
    assert markdown("[x]: http://e.org\nafter") == ["", "[x]: http://e.org", "after"]
    assert markdown("see [this][x]") == ["", "see [this][x]"]


def test_plain_words_are_drawn_like_those_between_signs():
    for text in ("plain words.\nand more, on two lines", "café 日本語 (really)", "1.5 times 3 - 2"):
        assert [*markdown(f"**a**\n{text}")[2:]] == markdown(text)[1:]


def test_what_the_terminal_breaks_is_not_broken():
    prose = "word " * 100
    look = TranscriptLook(wraps_prose=False)
    assert len(lines_of(ReplyBlock(markdown=prose), look=look)) == 2


def test_pictures_are_drawn_where_the_terminal_can_and_named_elsewhere():
    shot = call("shot", images=(ImageBlock.of("image/png", PIXEL),))
    for protocol, begins in (("kitty", "\x1b_Ga=T,f=100,"), ("iterm2", "\x1b]1337;File=")):
        lines = block_lines(shot, 80, TranscriptLook(images=protocol))  # type: ignore[arg-type]
        sent = [encode_line(line, DARK) for line in lines]
        assert any(begins in line and PIXEL in line for line in sent)
    assert lines_of(shot)[1:] == ["  [image: image/png, 1×1, 0 KB]"]
    for data in ("AAAA", PIXEL[:40] + "\x1b]0;x\x07", "", "é" * 50):
        lines = block_lines(
            call("s", images=(ImageBlock.of("image/png", data),)), 80, TranscriptLook(images="kitty")
        )
        assert all("\x1b_G" not in encode_line(line, DARK) for line in lines)


def test_which_protocol_a_terminal_has():
    assert image_protocol("", {"TERM": "xterm-kitty"}) == "kitty"
    assert image_protocol("", {"TERM_PROGRAM": "iTerm.app"}) == "iterm2"
    assert image_protocol("", {"TERM": "xterm-kitty", "TMUX": "/tmp/x"}) == ""
    assert image_protocol("", {"TERM": "tmux-256color"}, "kitty") == ""
    assert image_protocol("", {"TERM": "xterm-256color"}, "kitty") == "kitty"
    assert image_protocol("none", {"TERM": "xterm-kitty"}) == ""
    assert image_protocol("iterm", {"TERM": "tmux-256color"}) == "iterm2"
    assert image_protocol("sixel", {}) == "sixel"
    assert image_protocol("", {}) == ""


def test_a_diff_has_numbers_and_marks_the_words_that_differ():
    edit = next(block for block in SAMPLES if block.type == "call" and "Edit" in block.summary)  # type: ignore[union-attr]
    lines: list[ScreenLine] = [*block_lines(edit, 80)]
    shown = [text_of(line) for line in lines]
    assert shown[0] == "● Edit core.py:5  +2 -2"
    assert "   5 - line 5" in shown
    assert "   5 + line five" in shown
    marked = {segment.text: segment.style for line in lines for segment in line if "_part" in segment.style}
    assert marked == {"5": "removed_part", "five": "added_part"}
    assert lines[0][3].link == "file:///w/core.py"
