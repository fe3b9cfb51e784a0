"""The question as it is drawn: what is asked as a whole, scrolled where it is long, and the keys below."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from caliban_common.text import plural
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.question.asked import (
    AskedField,
    CallQuestion,
    ChoiceQuestion,
    FieldOption,
    FieldsQuestion,
)
from caliban_tui.question.form import OTHER, options_of, writes
from caliban_tui.question.opened import OpenQuestion
from caliban_tui.question.step import CALL_KEYS
from caliban_tui.question.textfield import TextField
from caliban_tui.question.visible import broken, visible
from caliban_tui.render.blocks import block_lines
from caliban_tui.screen import UNSCROLLED, Caret, ScreenSize, ScrollRoom
from caliban_tui.transcript.blocks import ReplyBlock
from caliban_tui.width import cells, cut, graphemes, wrap

LISTENS_LATER: Final = "listens once you stop typing"
MAX_EFFECTS: Final = 4
BODY_ROWS: Final = 3
"""So many rows of what is asked about are to be seen; what stands below it scrolls with it otherwise."""


class QuestionView(NamedTuple):
    """The question's lines, each cut to the width, and the caret where something is typed in it."""

    lines: tuple[ScreenLine, ...]
    caret: Caret | None = None
    scroll: ScrollRoom = UNSCROLLED


class _Parts(NamedTuple):
    """What a question is drawn of, from above: `notes` are about the body, `typed` stands in the foot.

    `low` says the same as the foot in one row, longer and shorter, for a screen without room for that.
    """

    head: tuple[ScreenLine, ...]
    body: tuple[ScreenLine, ...]
    foot: tuple[ScreenLine, ...]
    typed: TextField | None = None
    typed_row: int = 0
    notes: tuple[ScreenLine, ...] = ()
    low: tuple[str, ...] = ()


def question_view(question: OpenQuestion, size: ScreenSize, now_s: float) -> QuestionView:
    """The question in at most `size.rows` lines, of which its body takes what is left."""
    match question.asked:
        case CallQuestion():
            parts = _call(question, question.asked, size, now_s)
        case ChoiceQuestion():
            parts = _choice(question, question.asked, size, now_s)
        case FieldsQuestion():
            parts = _fields(question, question.asked, size, now_s)
    if parts.low and len(parts.head) + len(parts.foot) + BODY_ROWS > size.rows:
        parts = parts._replace(foot=(_low_foot(parts.low, size.columns),))
    room = max(size.rows - len(parts.head) - len(parts.foot), 1)
    body, notes = _LAST_BODY.rows(parts.body, size.columns - 2), parts.notes
    if room - len(notes) < min(len(body), BODY_ROWS):
        body, notes = (*body, *notes), ()
    room = max(room - len(notes), 1)
    scroll = UNSCROLLED
    if len(body) > room:
        page = max(room - 1, 1)
        scroll = ScrollRoom(page, len(body) - page)
        top = min(question.top, scroll.last)
        where = f"lines {top + 1}-{top + page} of {len(body)} · PgUp PgDn"
        shown = (*body[top : top + page], plain(f"  {where}", "dim"))
        if room == 1 and parts.low:
            shown = (*body[top : top + 1],)
            low = tuple(f"{words} · {top + 1}/{len(body)}" for words in parts.low)
            parts = parts._replace(foot=(_low_foot(low, size.columns),))
    else:
        shown = body
    lines = tuple(cut(line, size.columns) for line in (*parts.head, *shown, *notes, *parts.foot))
    caret = None
    if parts.typed is not None:
        row = len(parts.head) + len(shown) + len(notes) + parts.typed_row
        before = cells(_before(parts.typed, size.columns))
        caret = Caret(row, min(4 + before, size.columns - 1))
    return QuestionView(lines[: max(size.rows, 1)], caret, scroll)


def _low_foot(low: tuple[str, ...], columns: int) -> ScreenLine:
    """The longest of the rows that there is room for."""
    words = next((words for words in low if cells(words) <= columns - 2), low[-1])
    return plain(f"  {words}", "bold")


def _low(question: OpenQuestion, options: list[tuple[str, str]], now_s: float) -> tuple[str, ...]:
    """See `_Parts`: what is chosen, what the keys mean, or that they mean nothing yet."""
    if question.hint:
        return (_on_a_row(question.hint),)
    if not question.is_armed(now_s):
        return (LISTENS_LATER, "listens later")
    if question.chosen is not None:
        return (f"> {options[question.chosen][1]} · enter",)
    words = [(key, label.replace(",", ":").partition(":")[0]) for key, label in options]
    ways = (("   ", options), ("   ", words), ("  ", words))
    rows = (gap.join(f"{key} {label}" for key, label in some) for gap, some in ways)
    return (*rows, " ".join(key for key, _ in options))


class _BodyRows:
    """The rows of the body that was drawn last: a frame wants them, a long file takes half a second."""

    def __init__(self) -> None:
        self._body: tuple[ScreenLine, ...] = ()
        self._columns = 0
        self._rows: tuple[ScreenLine, ...] = ()

    def rows(self, body: tuple[ScreenLine, ...], columns: int) -> tuple[ScreenLine, ...]:
        """What of `columns` cells it takes."""
        if body is not self._body or columns != self._columns:
            self._body, self._columns = body, columns
            self._rows = tuple(piece for line in body for piece in _pieces(line, columns))
        return self._rows


_LAST_BODY: Final = _BodyRows()


@lru_cache(maxsize=1)
def _markdown(text: str, columns: int) -> tuple[ScreenLine, ...]:
    drawn = block_lines(ReplyBlock(markdown=text), columns)
    return drawn[1:] if drawn and not drawn[0] else drawn


def _pieces(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    """A line of the body, whole: broken where the screen ends."""
    if len(line) == 1:
        style = line[0].style
        return tuple(plain(f"  {piece}", style) for piece in broken(line[0].text, columns))
    text = "".join(segment.text for segment in line)
    if cells(text) <= columns:
        return ((StyledText("  "), *line),)
    return tuple(plain(f"  {piece}") for piece in broken(text, columns))


def _on_a_row(text: str) -> str:
    """`text` with nothing hidden in it; where it has lines, they cannot pass for ours."""
    return visible(text).replace("\n", "\\n")


def _title(question: OpenQuestion, title: str, agent: str, columns: int) -> tuple[ScreenLine, ...]:
    who = f" (asked by {_on_a_row(agent)})" if agent else ""
    more = f" · {plural(question.waiting, 'more question')}" if question.waiting else ""
    words = f"? {title}{who}{more}".replace("\n", "\\n")
    return tuple(plain(line, "warning") for line in wrap(words, columns))


def _last(question: OpenQuestion, keys: str, now_s: float, columns: int) -> tuple[ScreenLine, ...]:
    """What the keys mean, or why they mean nothing yet."""
    words = _on_a_row(question.hint) or (keys if question.is_armed(now_s) else LISTENS_LATER)
    style = "warning" if question.hint else "dim"
    return tuple(plain(f"  {line}", style) for line in wrap(words, columns - 2))


def _options(
    question: OpenQuestion, options: list[tuple[str, str]], size: ScreenSize
) -> tuple[ScreenLine, ...]:
    """One row each with its letter; in one row where the screen is low."""
    if size.rows < len(options) + 7:
        text = "   ".join(f"{key} {label}" for key, label in options)
        chosen = [] if question.chosen is None else [f"> {options[question.chosen][1]}"]
        return tuple(plain(f"  {line}", "bold") for line in wrap(text, size.columns - 2)) + tuple(
            plain(f"  {line}", "selected") for line in chosen
        )
    return tuple(
        plain(
            f"{'>' if place == question.chosen else ' '} {key} {label}",
            "selected" if place == question.chosen else "",
        )
        for place, (key, label) in enumerate(options)
    )


def _typing(text: TextField, columns: int) -> ScreenLine:
    """The line that is typed, with the end of what stands before the cursor where all is longer."""
    before = _before(text, columns)
    return (StyledText("  > ", "prompt"), StyledText(before + visible(text.text[text.cursor :])))


def _before(text: TextField, columns: int) -> str:
    """As much of what is typed before the cursor as there is room for."""
    shown = visible(text.text[: text.cursor])
    room = max(columns - 6, 1)
    if cells(shown) <= room:
        return shown
    kept: list[str] = []
    for grapheme in reversed(list(graphemes(shown))):
        room -= cells(grapheme)
        if room < 0:
            break
        kept.append(grapheme)
    return "".join(reversed(kept))


def _call(question: OpenQuestion, asked: CallQuestion, size: ScreenSize, now_s: float) -> _Parts:
    columns = size.columns
    head = _title(question, asked.title, asked.request.agent, columns)
    notes = tuple(_notes(asked, columns))
    foot: list[ScreenLine] = []
    match question.stage:
        case "words":
            foot = [plain("  no, and the model is told:", "bold"), _typing(question.text, columns)]
            foot += _last(question, "enter says no with these words · esc back", now_s, columns)
            return _Parts(head, asked.body, tuple(foot), question.text, 1, notes)
        case "rule" | "edit" | "comment":
            return _rule(question, asked, size, now_s)
        case _:
            pass
    labels = ("yes, once", _always("always", asked), "no", "never")
    options = list(zip(CALL_KEYS, labels, strict=True))
    foot += _options(question, options, size)
    foot += _last(question, "tab no, with a reason · e edit the rule · ↑↓ then enter", now_s, columns)
    return _Parts(head, asked.body, tuple(foot), notes=notes, low=_low(question, options, now_s))


def _notes(asked: CallQuestion, columns: int) -> Iterator[ScreenLine]:
    """What the call would do, and why it is asked about."""
    effects = [_on_a_row(effect) for effect in asked.effects[:MAX_EFFECTS]]
    if len(asked.effects) > MAX_EFFECTS:
        effects.append(f"and {len(asked.effects) - MAX_EFFECTS} more")
    for effect in effects:
        yield from (plain(f"  {line}", "warning") for line in wrap(effect, columns - 2))
    if asked.request.reason:
        reason = " ".join(visible(asked.request.reason).split())
        yield from (plain(f"  {line}", "dim") for line in wrap(reason, columns - 2)[:3])


def _always(word: str, asked: CallQuestion) -> str:
    if not asked.patterns:
        return f"{word} (no rule can say so)"
    more = f" and {len(asked.patterns) - 1} more" if len(asked.patterns) > 1 else ""
    return f"{word}: {_on_a_row(asked.patterns[0])}{more}"


def _rule(question: OpenQuestion, asked: CallQuestion, size: ScreenSize, now_s: float) -> _Parts:
    """The rule that would last, whole, and where it would be kept."""
    columns = size.columns
    verb = "Always allow" if question.lasting == "allow" else "Never allow"
    head = _title(question, f"{verb}, by {plural(len(question.patterns), 'rule')}:", "", columns)
    body: list[ScreenLine] = []
    for place, pattern in enumerate(question.patterns):
        if question.stage == "edit" and place == question.pattern:
            continue
        body.append(plain(visible(pattern), "code"))
    if question.comment and question.stage != "comment":
        body.append(plain(f"# {visible(question.comment)}", "dim"))
    foot: list[ScreenLine] = []
    if question.stage == "comment":
        foot = [plain("  what the rule is for:", "bold"), _typing(question.text, columns)]
        foot += _last(question, "enter keeps the comment · esc back", now_s, columns)
        return _Parts(head, tuple(body), tuple(foot), question.text, 1)
    if question.stage == "edit":
        foot = [_typing(question.text, columns)]
        foot += _last(question, "enter keeps the rule so · esc back · ↑↓ another", now_s, columns)
        return _Parts(head, tuple(body), tuple(foot), question.text, 0)
    for number, rule_place in enumerate(asked.places):
        chosen = number == question.chosen
        text = f"{'>' if chosen else ' '} {rule_place.label}"
        style = "selected" if chosen else ""
        file = f"    {_on_a_row(rule_place.file)}" if rule_place.file else "    kept in no file"
        foot.append(plain(text, style))
        if chosen or size.rows > 2 * len(asked.places) + 8:
            foot += [plain(line, "dim") for line in broken(file, columns)]
    foot += _last(
        question, "↑↓ where · enter saves and answers · e edit · c comment · esc back", now_s, columns
    )
    return _Parts(head, tuple(body), tuple(foot))


def _choice(question: OpenQuestion, asked: ChoiceQuestion, size: ScreenSize, now_s: float) -> _Parts:
    columns = size.columns
    head = _title(question, asked.title, asked.agent, columns)
    body = asked.body
    if asked.markdown:
        body = _markdown(asked.markdown, columns - 2)
    if question.stage == "words":
        option = asked.options[question.chosen or 0]
        foot = [plain(f"  {option.asks}", "bold"), _typing(question.text, columns)]
        foot += _last(question, "enter says it · esc back", now_s, columns)
        return _Parts(head, body, tuple(foot), question.text, 1)
    options = [(option.key, option.label) for option in asked.options]
    foot = [*_options(question, options, size), *_last(question, "↑↓ then enter", now_s, columns)]
    return _Parts(head, body, tuple(foot), low=_low(question, options, now_s))


def _fields(question: OpenQuestion, asked: FieldsQuestion, size: ScreenSize, now_s: float) -> _Parts:
    columns = size.columns
    field = asked.fields[question.number]
    of = f" ({question.number + 1} of {len(asked.fields)})" if len(asked.fields) > 1 else ""
    head = _title(question, f"{asked.title}{of}", asked.agent, columns)
    words = (asked.words if question.number == 0 else "", field.label, field.detail)
    body = tuple(
        plain(line, style)
        for text, style in zip(words, ("", "bold", "dim"), strict=True)
        for part in visible(text).split("\n")
        for line in wrap(part, max(columns - 2, 1))
        if text
    )
    foot = [plain(f"  {_on_a_row(field.warning)}", "warning")] if field.warning else []
    foot += [_option(question, place, option, field) for place, option in enumerate(options_of(field))]
    typed = None
    row = len(foot)
    if writes(question, field):
        typed = question.text
        foot.append(_typing(question.text, columns))
    foot += _last(question, _field_keys(question, field, len(asked.fields)), now_s, columns)
    return _Parts(head, body, tuple(foot), typed, row)


def _option(question: OpenQuestion, place: int, option: FieldOption, field: AskedField) -> ScreenLine:
    chosen = place == question.chosen
    box = ("[x] " if option.value in question.marked else "[ ] ") if field.kind == "choices" else ""
    box = "" if option is OTHER else box
    label = " ".join(visible(option.label).split())
    return plain(f"{'>' if chosen else ' '} {place + 1} {box}{label}", "selected" if chosen else "")


def _field_keys(question: OpenQuestion, field: AskedField, count: int) -> str:
    if writes(question, field):
        keys = "enter goes on" if count > 1 else "enter answers"
    elif field.kind == "choices":
        keys = "↑↓ space marks · enter goes on"
    else:
        keys = "↑↓ enter, or its number"
    skips = " · tab skips" if not field.required or field.default is not None else ""
    back = " · shift+tab back" if question.number else ""
    return f"{keys}{skips}{back} · esc twice: no answer"
