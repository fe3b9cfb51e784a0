from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_args

import pytest
from msgspec import Struct

import caliban_common
from caliban_common import event, message
from caliban_common.event import AgentEvent, TurnStart
from caliban_common.message import Block, Message, Source, TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.secret import masked_repr
from caliban_common.stop import Stop, StopKind
from caliban_common.tagged import Tagged
from caliban_common.tool import ToolOutput
from caliban_common.usage import MAX_TOKENS, Usage, told_count


def test_everything_exported_is_there_and_sorted() -> None:
    names = caliban_common.__all__
    assert names == sorted(names)
    assert len(names) <= 60
    assert all(hasattr(caliban_common, name) for name in names)


@pytest.mark.parametrize(("union", "module"), [(Block | Source, message), (AgentEvent, event)])
def test_unions_are_closed_tagged_and_whole(union: object, module: object) -> None:
    members = get_args(union)
    tagged = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Tagged) and kind.__module__ == module.__name__  # type: ignore[attr-defined]
    ]
    assert set(members) == set(tagged)
    tags = [kind.__struct_config__.tag for kind in members]
    assert len(set(tags)) == len(tags)


def test_a_member_of_a_union_says_its_type() -> None:
    assert (TextBlock(text="a").type, TurnStart(turn=0, model="m").type) == ("text", "turn_start")


@pytest.mark.parametrize("kind", [*get_args(Block), *get_args(AgentEvent), Message, Stop])
def test_values_are_frozen_and_keyword_only(kind: type[Struct]) -> None:
    assert kind.__struct_config__.frozen
    assert kind.__dictoffset__ == 0
    assert kind.__match_args__ == ()  # type: ignore[attr-defined]


def test_a_secret_is_not_printed() -> None:
    class Login(Struct):
        name: str
        key: str

        def __repr__(self) -> str:
            return masked_repr(self, "key")

    assert repr(Login("a", "secret")) == "Login(name='a')"


def test_a_message_gives_its_text_calls_and_results() -> None:
    call = ToolUseBlock(id="1", name="Read", input={})
    result = ToolResultBlock(tool_use_id="1", content=())
    both = Message(role="user", content=(TextBlock(text="a"), call, TextBlock(text="b"), result))
    assert (both.text, both.tool_uses, both.tool_results) == ("ab", (call,), (result,))
    assert (user("a").text, user("a").tool_uses, user("a").tool_results) == ("a", (), ())


def test_an_output_of_text_is_one_block() -> None:
    output = ToolOutput.of("a", is_error=True, details={"n": 1})
    assert output == ToolOutput(content=(TextBlock(text="a"),), is_error=True, details={"n": 1})
    assert output.text == "a"


def test_only_the_end_of_the_last_turn_is_what_was_asked_for() -> None:
    assert [kind for kind in get_args(StopKind) if Stop(kind=kind).ok] == ["end_of_turn"]


@pytest.mark.parametrize(
    ("told", "count"),
    [
        (0, 0),
        (27, 27),
        (27.0, 27),
        (MAX_TOKENS, MAX_TOKENS),
        *(
            (bad, None)
            for bad in (-1, 1.5, True, "27", None, [1], MAX_TOKENS + 1, 10**400, float("nan"), float("inf"))
        ),
    ],
)
def test_a_count_is_a_whole_number_that_a_call_can_have(told: object, count: int | None) -> None:
    assert told_count(told) == count


def test_counts_told_later_replace_earlier_ones_but_a_zero_takes_nothing_back() -> None:
    first = Usage(input_tokens=9, output_tokens=1, cache_read_tokens=4, thinking_tokens=1)
    assert first.then(Usage(input_tokens=9, output_tokens=5, cache_write_tokens=2)) == Usage(
        input_tokens=9, output_tokens=5, cache_read_tokens=4, cache_write_tokens=2, thinking_tokens=1
    )


def test_importing_the_values_loads_no_codec_and_nothing_from_outside() -> None:
    code = (
        "import sys; before = set(sys.modules); import caliban_common; "
        "new = set(sys.modules) - before; "
        "ours = ('caliban', 'json', 'pydantic', 'dataclasses'); "
        "print(*sorted(name for name in new if name.startswith(ours)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = ["errors", "event", "hook", "message", "permission", "remedy", "stop", "tagged", "tool"]
    ours = [f"caliban_common.{name}" for name in (*modules, "usage")]
    assert done.stdout.split() == ["caliban_common", *ours]
