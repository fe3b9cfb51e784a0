"""Tools that change the session alone: the list of tasks, plan mode, questions."""

from __future__ import annotations

import pytest

from caliban_tools_builtin.session.ports import Question


class Board:
    """Keeps what it is told."""

    def __init__(self):
        self.plan_mode = False
        self.todos = None

    def set_plan_mode(self, on):
        self.plan_mode = on

    def set_todos(self, todos):
        self.todos = todos


class Person:
    """Answers with what it was given; remembers what it was asked."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = ()

    async def ask(self, questions):
        self.asked = questions
        return self.answers


@pytest.fixture
def board():
    return Board()


@pytest.fixture
def tools(make, board):
    return make(board=board)


def todo(id="1", content="look", status="pending"):
    return {"id": id, "content": content, "status": status}


def test_the_list_is_replaced_and_summed_up(tools, board):
    items = [todo(), todo("2", "mend\n  it", "in_progress"), todo("3", status="completed")]
    output = tools("TodoWrite", todos=items)
    assert output.text == "→ TodoWrite: 3 total (1 pending, 1 in progress, 1 completed)"
    assert board.todos == (todo(), todo("2", "mend it", "in_progress"), todo("3", status="completed"))
    assert output.details == {"todos": list(board.todos)}
    assert tools("TodoWrite", todos=[]).text == "→ TodoWrite: list cleared"
    assert board.todos == ()


def test_numbers_of_tasks_without_an_id_are_none_that_others_have(tools, board):
    tools("TodoWrite", todos=[todo("2"), {"content": "a", "status": "pending"}, todo("1"), todo(None)])
    assert [kept["id"] for kept in board.todos] == ["2", "3", "1", "4"]


def test_tasks_without_an_id_are_numbered_and_what_else_stands_there_is_left_out(tools, board):
    tools("TodoWrite", todos=[{"content": "a", "status": "pending", "activeForm": "b"}])
    assert board.todos == (todo("1", "a"),)


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([todo(), todo()], "2 todos have the id '1'"),
        ([todo(str(n)) for n in range(101)], "101 todos are too many"),
        ([todo(content="x" * 501)], "content has 501 characters"),
        ([todo(content=" ")], "content must be"),
        ([todo("x" * 65)], "id must be"),
        ([todo("")], "id must be"),
        ([todo(status="done")], "status must be one of pending, in_progress, completed, cancelled"),
        (["look"], "must be an object"),
        ("look", "must be an array"),
        (None, "missing required argument"),
    ],
)
def test_a_list_that_does_not_fit_is_refused_and_the_old_one_stays(tools, board, items, why):
    board.todos = before = (todo(),)
    output = tools("TodoWrite", todos=items)
    assert output.is_error and why in output.text
    assert board.todos is before


def test_a_hundred_tasks_at_their_limits_are_taken(tools, board):
    items = [todo(f"{n:064}", "x" * 500) for n in range(100)]
    assert not tools("TodoWrite", todos=items).is_error
    assert board.todos == tuple(items)


def test_plan_mode_begins_once_and_ends_with_a_plan(tools, board):
    assert tools("ExitPlanMode", plan="do it").is_error
    assert tools("EnterPlanMode").text.startswith("→ Plan mode is on:")
    assert board.plan_mode
    assert tools("EnterPlanMode").text == "→ Plan mode is on already"
    assert tools("ExitPlanMode", plan=" ").is_error and board.plan_mode
    output = tools("ExitPlanMode", plan="1. do it")
    assert output.details == {"plan_mode": False, "plan": "1. do it"}
    assert not board.plan_mode


def test_a_person_is_asked_and_their_answers_come_back_in_order(make, board):
    person = Person(("blue", "a, b"))
    questions = [
        {"question": "Which colour?", "options": ["red", {"label": "blue", "description": "as before"}]},
        {"question": "Which files?", "options": ["a", "b"], "multi": True, "header": "Files"},
    ]
    output = make(board=board, asker=person)("AskUser", questions=questions)
    assert output.text == "→ Which colour?\nblue\n→ Which files?\na, b"
    assert person.asked == (
        Question(text="Which colour?", options=("red", "blue: as before")),
        Question(text="Which files?", options=("a", "b"), multi=True),
    )


def test_a_question_is_declined_where_nobody_is_there_or_nobody_wants_to(make, board):
    questions = [{"question": "Which?"}]
    nobody, unwilling = make(board=board), make(board=board, asker=Person(None))
    assert nobody("AskUser", questions=questions).text.startswith("Declined: nobody is here")
    assert unwilling("AskUser", questions=questions).text.startswith("Declined: the user")


@pytest.mark.parametrize(
    "questions",
    [[], [{"question": "?"}] * 5, [{}], [{"question": "?", "options": [3]}], [{"question": "x" * 2001}]],
)
def test_a_question_that_cannot_be_put_is_refused(tools, questions):
    assert tools("AskUser", questions=questions).text.startswith("Error: invalid input")


def test_without_a_board_the_tools_of_the_session_are_not_there(make):
    with pytest.raises(KeyError):
        make()("TodoWrite", todos=[])
