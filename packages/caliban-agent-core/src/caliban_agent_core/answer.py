"""The value in a model's answer: JSON values in a reply, and the check against a Python type.

Models reason before they answer, show drafts, and put the answer between fences: what stands in reasoning
tags is no answer, what is fenced goes before what is not, what comes last before what came first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from caliban_agent_core.errors import AnswerMismatch
from caliban_common.text import one_line

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_TRIES = 20_000
"""How many brackets of a reply are tried as the beginning of a value: no answer has as many before it."""

MAX_REPAIRS = 2
"""How often an answer that does not fit is asked for again."""

MAX_DEPTH = 200
"""How deep a value may be nested: one that is deeper could not be written everywhere it has to go."""

TAGS = "think|thinking|reasoning|reason|thought|scratchpad|analysis"
MARKS = rf"(?i)```[^\n`]*\n\s*|<(?P<tag>{TAGS})>|[{{\[]"
MARKS_OPEN = r"(?i)<think(?:ing)?>"
CLOSING = r"(?i)(?:\A|\n)\s*</think(?:ing)?>|</think(?:ing)?>\s*\n"


def _refuse(constant: str) -> None:
    """NaN and the infinities, which Python takes for JSON: nothing that has them can be written as JSON."""
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    """The number; one that is beyond all floats would be told as none at all."""
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number beyond all floats")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def json_values(reply: str) -> Iterator[Any]:
    """The JSON values in `reply`, the likeliest answer first: all of it, fenced ones, others.

    What is nested deeper than `MAX_DEPTH` is left out as a whole: a part of it is no answer.
    """
    try:
        value = _DECODER.decode(reply)
    except RecursionError:
        return
    except ValueError:
        pass
    else:
        if _is_shallow(value):
            yield value
        return
    fenced, others = _scan(reply)
    yield from reversed(fenced)
    yield from reversed(others)


def _scan(reply: str) -> tuple[list[Any], list[Any]]:
    """The values that stand in `reply`, outermost ones only: those between fences, and the others."""
    fenced: list[Any] = []
    others: list[Any] = []
    place = _after_unopened(reply)
    for _ in range(MAX_TRIES):
        mark = re.compile(MARKS).search(reply, place)
        if mark is None:
            break
        if mark["tag"] is not None:
            place = _after_tag(reply, mark["tag"], mark.end())
            continue
        is_fence = mark[0].startswith("`")
        start = mark.end() if is_fence else mark.start()
        try:
            value, place = _DECODER.raw_decode(reply, start)
        except RecursionError:
            break
        except ValueError:
            place = mark.end()
            continue
        if _is_shallow(value):
            (fenced if is_fence else others).append(value)
    return fenced, others


def _is_shallow(value: Any) -> bool:
    """Whether it is nested at most `MAX_DEPTH` levels deep."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return True
    return not any(isinstance(each, (dict, list)) for each in level)


def _after_unopened(reply: str) -> int:
    """Where reasoning ends that nothing opens: servers put the opening tag into the prompt."""
    closing = re.search(CLOSING, reply)
    if closing is None or re.compile(MARKS_OPEN).search(reply, 0, closing.start()) is not None:
        return 0
    return closing.end()


def _after_tag(reply: str, tag: str, place: int) -> int:
    """Where reasoning ends; all that follows is reasoning where nothing closes it."""
    closing = re.compile(f"</{tag}>", re.IGNORECASE).search(reply, place)
    return len(reply) if closing is None else closing.end()


class OutputType:
    """What the answer of a run has to be: anything that pydantic can validate.

    Raises `TypeError` for what it cannot, or what has no JSON Schema.
    """

    def __init__(self, type_: Any) -> None:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(type_)
            self.schema: Mapping[str, Any] = self._adapter.json_schema()
        except PydanticUserError as error:
            shown = one_line(getattr(type_, "__qualname__", repr(type_)), max_chars=80)
            raise TypeError(
                f"output_type takes what pydantic can validate and describe, not {shown}: "
                f"{one_line(error.message, max_chars=300)}"
            ) from error

    @property
    def native(self) -> Mapping[str, Any] | None:
        """The schema for a provider that can hold a reply to it: vendors take objects only."""
        return self.schema if self.schema.get("type") == "object" else None

    def instruction(self) -> str:
        """What the model is told about it."""
        text = json.dumps(self.schema, ensure_ascii=False)
        return (
            f"Give your final answer as one JSON value that fits this JSON Schema, and nothing else:\n{text}"
        )

    def check(self, reply: str) -> Any:
        """The value in `reply` that fits. Raises `AnswerMismatch`."""
        from pydantic import ValidationError

        problem = "the answer holds no JSON value"
        for number, value in enumerate(json_values(reply)):
            try:
                return self._validated(value)
            except ValidationError as error:
                if number == 0:
                    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
                    place = ".".join(map(str, first["loc"]))
                    problem = one_line(f"{place}: {first['msg']}" if place else first["msg"], max_chars=500)
        raise AnswerMismatch(problem)

    def _validated(self, value: Any) -> Any:
        """As JSON and not as Python: a date is a string there, a tuple an array."""
        return self._adapter.validate_json(json.dumps(value))


def repair_prompt(problem: str) -> str:
    """What the model is told when its answer does not fit."""
    return f"That answer cannot be used: {problem}. Answer again with only the corrected JSON value."
