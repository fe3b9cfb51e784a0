from __future__ import annotations

import doctest
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal

import anyio
import pytest
from hang_guard import HANG_S
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from caliban_agent_core import function
from caliban_agent_core.errors import ToolDefinitionError
from caliban_agent_core.function import tool, untitled
from caliban_agent_core.walled import walled
from caliban_common.errors import ArgumentError
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec

pytestmark = pytest.mark.anyio

CONTEXT = ToolContext(session_id="s", turn=3, tool_use_id="t1")
Mood = Enum("Mood", {"GOOD": "good", "BAD": "bad"})


class Point(BaseModel):
    """A place."""

    x: int
    title: str = "here"


@dataclass
class Pair:
    left: int
    right: int = 0


@tool(kind="read", main_argument="path", conflict_key=lambda args: str(args["path"]))
async def look(
    path: Annotated[str, Field(description="Where to look", min_length=1)],
    limit: Annotated[int, Field(ge=1, le=9)] = 3,
    *,
    context: ToolContext,
    mood: Literal["calm", "keen"] | None = None,
) -> str:
    """Look at
    a path.

    What stands here is for people.
    """
    return f"{path} {limit} {mood} {context.turn}"


async def test_the_signature_is_the_spec() -> None:
    assert look.spec == ToolSpec(
        name="look",
        description="Look at a path.",
        input_schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where to look", "minLength": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "mood": {
                    "anyOf": [{"enum": ["calm", "keen"], "type": "string"}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        },
        kind="read",
        main_argument="path",
    )


async def test_the_loop_calls_it_with_validated_arguments_and_the_context() -> None:
    assert await look.invoke({"path": "a", "limit": "4"}, CONTEXT) == ToolOutput.of("a 4 None 3")


async def test_code_calls_it_as_the_function_it_is() -> None:
    assert await look("a", context=CONTEXT) == "a 3 None 3"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "path: Field required"),
        ({"path": ""}, "path: String should have at least 1 character"),
        ({"path": "a", "limit": 10}, "limit: Input should be less than or equal to 9"),
        ({"path": "a", "context": {}}, "context: Extra inputs are not permitted"),
        ({"path": "a", "argument_1": 1}, "argument_1: Extra inputs are not permitted"),
        (
            {"path": 1, "limit": "x"},
            "path: Input should be a valid string; "
            "limit: Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
async def test_what_does_not_fit_never_reaches_the_function(args: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        await look.invoke(args, CONTEXT)
    assert caught.value.message == said


async def test_many_errors_are_told_in_short() -> None:
    with pytest.raises(ArgumentError) as caught:
        await look.invoke({"path": "a", **{f"extra{n}": "secret" for n in range(9)}}, CONTEXT)
    assert caught.value.message.endswith("extra4: Extra inputs are not permitted; and 4 more")
    assert "secret" not in caught.value.message


async def test_the_conflict_key_sees_validated_arguments_and_invalid_ones_conflict_with_nothing() -> None:
    assert [look.conflict_key(args) for args in ({"path": "a"}, {"path": ""}, {})] == ["a", None, None]

    @tool
    def free() -> None:
        """Do nothing."""

    assert free.conflict_key({}) is None


@tool
def plain(n: int) -> int:
    """Say which thread this is."""
    return n if threading.current_thread() is threading.main_thread() else -n


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    assert await plain.invoke({"n": 5}, CONTEXT) == ToolOutput.of("-5")
    assert plain(5) == 5


async def test_a_plain_function_that_gives_an_awaitable_is_awaited() -> None:
    @tool
    def late(n: int) -> Any:
        """Answer later."""
        return look("a", n, context=CONTEXT)

    assert await late.invoke({"n": 2}, CONTEXT) == ToolOutput.of("a 2 None 3")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "(no output)"),
        ({"a": [1, 2.5, True, None], "é": "x"}, '{"a":[1,2.5,true,null],"é":"x"}'),
        (Point(x=1), '{"x":1,"title":"here"}'),
        (Pair(1, 2), '{"left":1,"right":2}'),
        ((date(2026, 1, 2), {"one"}), '["2026-01-02",["one"]]'),
        (Mood["GOOD"], '"good"'),
    ],
)
async def test_whatever_it_returns_becomes_text(value: object, text: str) -> None:
    @tool
    async def give() -> object:
        """Give something."""
        return value

    assert await give.invoke({}, CONTEXT) == ToolOutput.of(text)


async def test_an_output_is_passed_on_as_it_is() -> None:
    output = ToolOutput.of("no", is_error=True, details={"n": 1})

    @tool
    async def give() -> ToolOutput:
        """Give an output."""
        return output

    assert await give.invoke({}, CONTEXT) is output


@pytest.mark.parametrize("value", [object(), lambda: None])
async def test_what_has_no_json_form_and_what_the_function_raises_pass_through(value: object) -> None:
    @tool
    async def give(fail: bool = False) -> object:
        """Give something odd."""
        if fail:
            raise OSError("disk on fire")
        return value

    with pytest.raises(ValueError, match="serialize"):
        await give.invoke({}, CONTEXT)
    with pytest.raises(OSError, match="disk on fire"):
        await give.invoke({"fail": True}, CONTEXT)


async def test_rich_types_are_read_and_their_schemas_hold_no_titles() -> None:
    @tool
    async def rich(at: Point, pairs: list[Pair], when: date, mood: Mood = Mood["GOOD"]) -> str:
        """Take rich types."""
        return f"{at.x} {pairs[0].right} {when.year} {mood.value}"

    args = {"at": {"x": 1}, "pairs": [{"left": 1}], "when": "2026-01-02", "mood": "bad"}
    assert await rich.invoke(args, CONTEXT) == ToolOutput.of("1 0 2026 bad")
    point = {
        "type": "object",
        "description": "A place.",
        "properties": {"x": {"type": "integer"}, "title": {"type": "string", "default": "here"}},
        "required": ["x"],
    }
    schema = rich.spec.input_schema
    assert schema["$defs"]["Point"] == point
    assert schema["properties"]["pairs"] == {"type": "array", "items": {"$ref": "#/$defs/Pair"}}
    with pytest.raises(ArgumentError) as caught:
        await rich.invoke({**args, "at": {}}, CONTEXT)
    assert caught.value.message == "at.x: Field required"


async def test_parameters_may_be_called_what_a_model_class_already_uses() -> None:
    @tool
    async def odd(schema: int, copy: int, model_config: int, _private: int, title: int, json: int = 6) -> int:
        """Take odd names."""
        return schema + copy + model_config + _private + title + json

    names = ["schema", "copy", "model_config", "_private", "title", "json"]
    assert list(odd.spec.input_schema["properties"]) == names
    assert await odd.invoke(dict.fromkeys(names, 1), CONTEXT) == ToolOutput.of("6")


async def test_a_method_of_an_object_can_be_a_tool() -> None:
    class Store:
        def __init__(self) -> None:
            self.kept: list[str] = []

        async def keep(self, word: str) -> int:
            """Keep a word."""
            self.kept.append(word)
            return len(self.kept)

    store = Store()
    keep = tool(store.keep)
    await keep.invoke({"word": "a"}, CONTEXT)
    assert await keep.invoke({"word": "b"}, CONTEXT) == ToolOutput.of("2")
    assert store.kept == ["a", "b"]


async def test_the_name_can_be_chosen() -> None:
    @tool(name="look-up_2")
    async def _look_up() -> None:
        """Look up."""

    assert _look_up.spec.name == "look-up_2"


async def test_cancelling_ends_an_async_function() -> None:
    started = anyio.Event()

    @tool
    async def wait() -> None:
        """Wait for ever."""
        started.set()
        await anyio.sleep_forever()

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            group.start_soon(wait.invoke, {}, CONTEXT)
            await started.wait()
            group.cancel_scope.cancel()


async def test_a_plain_generator_does_its_work_off_the_loop_too() -> None:
    @tool
    def count() -> Iterator[bool]:
        """Count."""
        for _ in range(2):
            yield threading.current_thread() is threading.main_thread()

    assert (await count.invoke({}, CONTEXT)).text == "[false,false]"


def no_docstring(a: int) -> int:
    return a


def no_annotation(a) -> None:  # type: ignore[no-untyped-def]
    """Take something."""


def positional(a: int, /) -> None:
    """Take something."""


def variadic(*a: int) -> None:
    """Take something."""


def any_keywords(**a: int) -> None:
    """Take something."""


def not_json(a: threading.Lock) -> None:
    """Take something."""


def unknown(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take something."""


class Desk:
    """A desk."""

    def stamp(self, text: str) -> str:
        """Stamp a text."""
        return f"{text} {self.seal}"

    async def __call__(self, text: str) -> str:
        """Read a text."""
        return f"read {text}"

    seal = "ok"


def unannotated(context, a: int) -> None:  # type: ignore[no-untyped-def]
    """Take something."""


async def in_pieces(a: int) -> AsyncIterator[int]:
    """Take something."""
    yield a


def twice(a: ToolContext, b: ToolContext) -> None:
    """Take something."""


def pay(account: str, euros: int, *, note: str = None) -> str:  # type: ignore[assignment]  # noqa: RUF013
    """Pay."""
    return f"{account} {euros} {note}"


@pytest.mark.parametrize(
    ("made", "name", "summary", "takes", "args", "said"),
    [
        (Desk().stamp, "stamp", "Stamp a text.", ["text"], {"text": "a"}, "a ok"),
        (Desk(), "Desk", "Read a text.", ["text"], {"text": "a"}, "read a"),
        (partial(pay, account="mine"), "pay", "Pay.", ["euros", "note"], {"euros": 3}, "mine 3 None"),
        (partial(partial(pay, "mine"), note="n"), "pay", "Pay.", ["euros"], {"euros": 3}, "mine 3 n"),
        (
            pay,
            "pay",
            "Pay.",
            ["account", "euros", "note"],
            {"account": "a", "euros": 3, "note": None},
            "a 3 None",
        ),
    ],
)
async def test_whatever_can_be_called_by_name_is_a_tool_without_what_is_settled(
    made: Any, name: str, summary: str, takes: list[str], args: dict[str, Any], said: str
) -> None:
    got = tool(made)
    assert (got.spec.name, got.spec.description, list(got.spec.input_schema["properties"])) == (
        name,
        summary,
        takes,
    )
    assert (await got.invoke(args, CONTEXT)).text == said
    with pytest.raises(ArgumentError):
        await got.invoke({**args, "seal": "x", "more": "x"}, CONTEXT)


async def test_a_kind_that_no_rule_knows_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match=r"of the kind 'delete'\nhint: one of read, edit"):
        tool(kind="delete")(plain.function)  # type: ignore[call-overload]


async def test_of_a_group_of_errors_the_model_reads_what_went_wrong_inside() -> None:
    async def work() -> ToolOutput:
        raise ExceptionGroup("outer", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])

    output, _ = await walled("look", work)
    assert output.text == "Error: execution failed: ValueError: a; KeyError: 'b'"


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (no_docstring, "no docstring"),
        (no_annotation, "'a' of no_annotation has no annotation"),
        (positional, "cannot be given by name"),
        (variadic, r"\*a: int of variadic|\*a: 'int' of variadic"),
        (any_keywords, "cannot be given by name"),
        (not_json, "not_json has a parameter without a JSON form"),
        (unknown, "annotations of unknown cannot be read: name 'Nowhere' is not defined"),
        (lambda: None, "'<lambda>' is no name for a tool"),
        (Desk.stamp, r"'self' of stamp has no annotation\nhint: .*tool\(thing.method\)"),
        (unannotated, r"'context' of unannotated has no annotation\nhint: .*ToolContext"),
        (in_pieces, "in_pieces is an async generator, and a tool has one result"),
        (twice, "twice takes the ToolContext twice"),
        (plain, "plain is a tool already"),
        ("plain", r"a tool is made of a function, not of 'plain'\nhint: .*name="),
    ],
)
async def test_a_function_that_no_model_could_be_offered_is_refused_at_once(wrong: Any, word: str) -> None:
    with pytest.raises(ToolDefinitionError, match=word):
        tool(wrong)


async def test_names_that_do_not_exist_or_do_not_fit_are_refused_at_once() -> None:
    with pytest.raises(ToolDefinitionError, match="has no parameter 'pth'"):
        tool(main_argument="pth")(plain.function)
    with pytest.raises(ToolDefinitionError, match="is no name for a tool"):
        tool(name="a.b")(plain.function)


@given(
    st.dictionaries(st.sampled_from(["path", "limit", "mood", "x"]), st.none() | st.integers() | st.text())
)
def test_whatever_a_model_sends_is_answered(args: dict[str, object]) -> None:
    output, outcome = anyio.run(walled, "look", lambda: look.invoke(args, CONTEXT))
    assert output.is_error is output.text.startswith("Error: invalid input: look: ")
    assert outcome == ("invalid" if output.is_error else "ran")
    assert not output.is_error or "\n" not in output.text


def test_only_titles_of_schemas_are_taken_out() -> None:
    schema = {
        "title": "Arguments",
        "properties": {"title": {"title": "Title", "type": "string", "default": "title"}},
        "$defs": {"title": {"title": "T", "anyOf": [{"title": "U", "const": {"title": "kept"}}]}},
        "additionalProperties": False,
        "items": {"title": "I"},
    }
    assert untitled(schema) == {
        "properties": {"title": {"type": "string", "default": "title"}},
        "$defs": {"title": {"anyOf": [{"const": {"title": "kept"}}]}},
        "additionalProperties": False,
        "items": {},
    }


def test_the_examples_in_the_docstring_hold() -> None:
    assert doctest.testmod(function).failed == 0


def test_importing_the_decorator_does_not_load_the_validation_library() -> None:
    code = "import sys, caliban_agent_core.function; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


TYPED = '''
from caliban_agent_core.function import tool
from caliban_common.tool import Tool

@tool
async def one(a: int) -> str:
    """One."""
    return str(a)

@tool(kind="edit")
def two(a: int) -> str:
    """Two."""
    return str(a)

tools: tuple[Tool, ...] = (one, two)
text: str = two(1)
reveal_type(one)
two("x")
'''


@pytest.mark.slow
def test_the_decorator_keeps_the_types_of_the_function() -> None:
    options = ["--strict", "--no-pretty", "--no-error-summary", "--cache-dir", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "-c", TYPED], capture_output=True, text=True, timeout=HANG_S
    )
    kind = "caliban_agent_core.function.FunctionTool[[a: int], typing.Coroutine[Any, Any, str]]"
    assert done.stdout.splitlines() == [
        f'<string>:17: note: Revealed type is "{kind}"',
        '<string>:18: error: Argument 1 to "__call__" of "FunctionTool" has incompatible type "str"; '
        'expected "int"  [arg-type]',
    ], done.stderr
