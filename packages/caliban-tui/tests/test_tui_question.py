"""The question as a value: laws about its keys, and how it looks."""

from __future__ import annotations

import random

import pytest
from shots_kit import expect_shot

from caliban_agent_core.ports import ApprovalRequest
from caliban_common.message import ToolUseBlock
from caliban_common.tool import ToolSpec
from caliban_tui.line import text_of
from caliban_tui.question.asked import (
    AnswerOption,
    AskedField,
    CallAnswer,
    CallBrief,
    ChoiceQuestion,
    ChosenAnswer,
    FieldOption,
    FieldsAnswer,
    FieldsQuestion,
    NoAnswer,
    PersonQuestion,
    RulePlace,
)
from caliban_tui.question.call import call_question, change_lines, plan_question
from caliban_tui.question.draw import question_view
from caliban_tui.question.opened import ARM_S, NotMine, OpenQuestion
from caliban_tui.question.step import step
from caliban_tui.screen import ScreenSize
from caliban_tui.width import line_cells

TOOL = ToolSpec(name="Bash", description="", input_schema={})
PLACES = (
    RulePlace(place="session", label="for this session"),
    RulePlace(place="local", label="in this project, for me", file="/w/.caliban/settings.local.toml"),
)
KEYS = [
    *"yYnNeaqx1 ",
    *("enter", "escape", "tab", "up", "down", "pageup", "pagedown", "home", "end", "backspace", "s-tab"),
    *("c-c", "c-d", "left", "right", "delete", "c-u", "c-w", "f1", "é", "👪"),
]


def request(
    command: str = "rm -r build", *, agent: str = "", patterns: tuple[str, ...] = ("Bash:rm -r build",)
):
    call = ToolUseBlock(id="t1", name="Bash", input={"command": command})
    return ApprovalRequest(
        call=call, tool=TOOL, reason="no rule allows it", agent=agent, suggestions=patterns
    )


def asked(command: str = "rm -r build", **more) -> PersonQuestion:
    brief = CallBrief(text=command, effects=("rm -r build: writes build",), places=PLACES)
    return call_question(request(command, **more), brief)


PLAN = plan_question(
    ApprovalRequest(
        call=ToolUseBlock(id="p", name="ExitPlanMode", input={"plan": "# Do\n\nit"}), tool=TOOL, reason=""
    )
)
FORM = FieldsQuestion(
    title="The server asks",
    fields=(
        AskedField(name="name", label="Your name?"),
        AskedField(name="age", label="How old?", kind="integer", required=False),
        AskedField(name="sure", label="Sure?", kind="boolean"),
        AskedField(
            name="tags",
            label="Which?",
            kind="choices",
            is_open=True,
            options=(FieldOption(value="a", label="Apple"), FieldOption(value="b", label="Bee")),
        ),
    ),
)
ALL = [asked(), asked(patterns=()), PLAN, FORM]


def opened(question: PersonQuestion, at_s: float = 0.0) -> OpenQuestion:
    return OpenQuestion(asked=question, quiet_from_s=at_s)


def pressed(question: PersonQuestion, *keys: str, armed: bool = True):
    """The question after keys in quick succession, and the first outcome that is an answer."""
    state, now_s = opened(question), ARM_S if armed else 0.0
    for key in keys:
        state, outcome = step(state, key, now_s)
        if outcome is not None and not isinstance(outcome, NotMine):
            return state, outcome
        now_s += 0.05
    return state, None


@pytest.mark.parametrize("question", ALL)
@pytest.mark.parametrize("seed", range(5))
def test_no_key_counts_before_a_pause_however_many_come(question: PersonQuestion, seed: int) -> None:
    keys = random.Random(seed)
    state, now_s = opened(question), 0.0
    for _ in range(300):
        now_s += keys.uniform(0, ARM_S * 0.99)
        state, outcome = step(state, keys.choice(KEYS), now_s)
        assert isinstance(outcome, NotMine)


@pytest.mark.parametrize("question", ALL)
@pytest.mark.parametrize("seed", range(20))
def test_any_keys_end_in_one_answer_at_most_and_can_be_drawn_on_the_way(
    question: PersonQuestion, seed: int
) -> None:
    keys = random.Random(seed)
    state, now_s = opened(question), 0.0
    for _ in range(200):
        now_s += keys.choice([0.01, 0.3, 0.7, 2.0])
        state, outcome = step(state, keys.choice(KEYS), now_s)
        size = ScreenSize(keys.choice([20, 40, 80]), keys.choice([3, 10, 24]))
        view = question_view(state, size, now_s)
        assert len(view.lines) <= size.rows
        assert all(line_cells(line) <= size.columns for line in view.lines)
        if outcome is not None and not isinstance(outcome, NotMine):
            return


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("y",), CallAnswer(action="allow")),
        (("n",), CallAnswer(action="deny")),
        (("down", "enter"), CallAnswer(action="allow")),
        (("up", "up", "enter"), CallAnswer(action="deny")),
        (("escape", "escape"), CallAnswer(action="deny")),
        (("tab", *"not now", "enter"), CallAnswer(action="deny", reason="not now")),
        (
            ("Y", "down", "enter"),
            CallAnswer(action="allow", patterns=("Bash:rm -r build",), place="session"),
        ),
        (
            ("N", "down", "down", "enter"),
            CallAnswer(action="deny", patterns=("Bash:rm -r build",), place="local"),
        ),
        (
            ("e", "c-w", "*", "enter", "down", "enter"),
            CallAnswer(action="allow", patterns=("Bash:rm -r *",), place="session"),
        ),
        (("tab", *"ny", "escape", "y"), CallAnswer(action="allow")),
    ],
)
def test_keys_answer_a_call(keys: tuple[str, ...], answer: CallAnswer) -> None:
    assert pressed(asked(), *keys)[1] == answer


@pytest.mark.parametrize(
    "keys",
    [
        ("enter",),
        ("escape",),
        ("tab", "enter"),
        ("Y", "enter"),
        ("Y", *"es", "enter"),
        ("e", "c-u", "enter", "enter"),
        ("escape", "c-c"),
        tuple("never")[1:],
    ],
)
def test_nothing_else_answers_a_call(keys: tuple[str, ...]) -> None:
    assert pressed(asked(), *keys)[1] is None


def test_two_escapes_that_are_apart_say_nothing() -> None:
    state, _ = step(opened(asked()), "escape", 1.0)
    state, outcome = step(state, "escape", 3.0)
    assert outcome is None
    assert isinstance(step(state, "escape", 3.5)[1], CallAnswer)


def test_a_call_that_no_rule_can_answer_has_no_always() -> None:
    state, outcome = pressed(asked(patterns=()), "Y")
    assert outcome is None and "no rule" in state.hint
    assert pressed(asked(patterns=()), "N", "down", "enter")[1] == CallAnswer(
        action="deny", patterns=("Bash",), place="session"
    )


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("y",), ChosenAnswer(value="yes")),
        (("a",), ChosenAnswer(value="edits")),
        (("n", *"later", "enter"), ChosenAnswer(value="plan", words="later")),
        (("tab", *"x", "enter"), ChosenAnswer(value="plan", words="x")),
        (("down", "enter"), ChosenAnswer(value="yes")),
        (("escape", "escape"), NoAnswer()),
        (("enter",), None),
        (("n", "enter"), None),
    ],
)
def test_keys_answer_a_plan(keys: tuple[str, ...], answer: object) -> None:
    assert pressed(PLAN, *keys)[1] == answer


def test_a_form_is_filled_in_field_by_field() -> None:
    keys = (
        *"Ada",
        "enter",
        *"12x",
        "enter",
        "backspace",
        "enter",
        "down",
        "enter",
        "1",
        "2",
        "1",
        "down",
        "down",
        "enter",
    )
    state, answer = pressed(FORM, *keys)
    assert state.number == 3 and answer is None, "the way to another text was chosen"
    keys = (*keys[:-3], "enter")
    assert pressed(FORM, *keys)[1] == FieldsAnswer(
        values={"name": "Ada", "age": 12, "sure": True, "tags": ["b"]}
    )


@pytest.mark.parametrize("keys", [("x", "backspace", "enter"), ("tab",), ("enter",)])
def test_a_field_that_is_needed_is_not_passed(keys: tuple[str, ...]) -> None:
    state, answer = pressed(FORM, *keys)
    assert (state.number, answer) == (0, None)


def test_a_form_whose_values_are_refused_says_why_and_stays() -> None:
    question = FieldsQuestion(
        title="",
        fields=(
            AskedField(name="port", label="Port?", kind="integer", check=lambda value: f"{value} is taken"),
        ),
    )
    state, answer = pressed(question, "8", "enter")
    assert (state.hint, answer) == ("8 is taken", None)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_it_looks_as_it_did(columns: int) -> None:
    command = "git push --force origin main && rm -rf build\x1b[2J \u202etxt.exe && p\u0430ypal\nnext --line"
    states = {
        "first": (opened(asked(command, agent="explore")), 0.0),
        "armed": (opened(asked(command, agent="explore")), 1.0),
        "chosen": (pressed(asked(command), "down", "down")[0], 1.0),
        "rule": (pressed(asked(command), "Y", "down", "down")[0], 1.0),
        "edit": (pressed(asked(command), "e", "x")[0], 1.0),
        "reason": (pressed(asked(command), "tab", *"no, not there")[0], 1.0),
        "long": (opened(asked("\n".join(f"line {n}" for n in range(90)))), 1.0),
        "plan": (opened(PLAN), 1.0),
        "form": (opened(FORM), 1.0),
        "choices": (pressed(FORM, *"A", "enter", "tab", "1", "1")[0], 1.0),
    }
    parts = []
    for name, (state, now_s) in states.items():
        view = question_view(state, ScreenSize(columns, 20), now_s)
        parts.append(f"== {name} caret={view.caret}\n" + "\n".join(map(text_of, view.lines)))
    expect_shot(__file__, f"question-{columns}.txt", "\n".join(parts) + "\n")


def looked_through(question: PersonQuestion, size: ScreenSize) -> list[list[str]]:
    """What is on the screen, page by page, from the top down."""
    state, _ = step(opened(question), "home", ARM_S)
    pages: list[list[str]] = []
    while True:
        view = question_view(state, size, 1.0)
        pages.append([text_of(line).strip() for line in view.lines])
        before = state.top
        state, _ = step(state, "pagedown", 1.0, view.scroll)
        if state.top == before:
            return pages


@pytest.mark.parametrize("rows", range(8, 30, 3))
def test_every_part_of_a_long_command_can_be_scrolled_to_and_back(rows: int) -> None:
    lines = [f"step {n}" for n in range(60)]
    size = ScreenSize(80, rows)
    assert set(lines) <= {line for page in looked_through(asked("\n".join(lines)), size) for line in page}
    state = opened(asked("\n".join(lines)))
    for key in ("end", "pageup", "pagedown", "home"):
        view = question_view(state, size, 1.0)
        state, _ = step(state, key, ARM_S, view.scroll)
        expected = {"end": view.scroll.last, "pageup": view.scroll.last - view.scroll.page, "home": 0}
        assert state.top == expected.get(key, view.scroll.last)


@pytest.mark.parametrize("rows", range(8, 24))
def test_on_a_low_screen_the_keys_stay_and_all_that_a_call_does_can_be_scrolled_to(rows: int) -> None:
    effects = tuple(f"part {number}: writes file {number}" for number in range(4))
    question = call_question(request("first\nsecond"), CallBrief(text="first\nsecond", effects=effects))
    pages = looked_through(question, ScreenSize(80, rows))
    for page in pages:
        assert len(page) <= rows
        assert page[0] == "? May Bash run?"
        assert "e edit the rule" in page[-1]
    assert {"first", "second", *effects} <= {line for page in pages for line in page}


def test_an_option_without_words_may_have_any_letter() -> None:
    question = ChoiceQuestion(title="Trust?", options=(AnswerOption(key="o", value="once", label="once"),))
    assert pressed(question, "o")[1] == ChosenAnswer(value="once")
    assert pressed(question, "y")[1] is None


def test_a_change_is_shown_whole_with_its_places():
    before = "".join(f"{number}\n" for number in range(1, 4001))
    brief = CallBrief(text="", path="a", before=before, after=before.replace("10\n", "ten\n", 1) + "z" * 3000)
    shown = ["".join(piece.text for piece in line) for line in change_lines(brief)]
    assert shown == [
        "@@ -7,7 +7,7 @@", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13",
        "@@ -3998,3 +3998,4 @@", " 3998", " 3999", " 4000", "+" + "z" * 3000,
    ]  # fmt: skip
    made = CallBrief(text="", path="a", before=None, after="one\n")
    assert ["".join(piece.text for piece in line) for line in change_lines(made)] == ["@@ -0,0 +1 @@", "+one"]
