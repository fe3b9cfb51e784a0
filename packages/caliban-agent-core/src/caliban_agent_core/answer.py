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
    from pydantic import TypeAdapter, ValidationError

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


def _spoken(reply: str) -> str:
    """`reply` without the reasoning that it begins with."""
    place = _after_unopened(reply)
    while (tag := re.compile(rf"(?i)\s*<({TAGS})>").match(reply, place)) is not None:
        place = _after_tag(reply, tag[1], tag.end())
    return reply[place:].strip()


class OutputType:
    """What the answer of a run has to be: anything that pydantic can validate.

    Where a text fits it needs no quotes: an answer that is no JSON is read as a string. Raises `TypeError`
    for what pydantic cannot validate, or what has no JSON Schema.
    """

    def __init__(self, type_: Any) -> None:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(type_)
            self.schema: Mapping[str, Any] = self._adapter.json_schema()
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
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

        problem = ""
        for value in json_values(reply):
            try:
                return self._validated(value)
            except ValidationError as error:
                problem = problem or _told(error)
        if self._takes_text and not (problem and self._is_union):
            try:
                return self._validated(_spoken(reply))
            except ValidationError as error:
                problem = problem or _told(error)
        raise AnswerMismatch(problem or "the answer holds no JSON value")

    @property
    def _takes_text(self) -> bool:
        return _takes_text(self.schema, self.schema.get("$defs") or {})

    @property
    def _is_union(self) -> bool:
        """Whether an answer that is JSON was probably meant for another of several types than the text."""
        return "anyOf" in self.schema or "oneOf" in self.schema

    def _validated(self, value: Any) -> Any:
        """As JSON and not as Python: a date is a string there, a tuple an array."""
        return self._adapter.validate_json(json.dumps(value))


def _told(error: ValidationError) -> str:
    """Where it does not fit, and how."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return one_line(f"{place}: {first['msg']}" if place else first["msg"], max_chars=500)


def _takes_text(schema: Mapping[str, Any], known: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether a string can be of `schema`; `known` are those that it refers to."""
    if depth > MAX_DEPTH:
        return False
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    inner = [known[name]] if name in known else []
    inner += [each for word in ("anyOf", "oneOf", "allOf") for each in schema.get(word) or ()]
    values = (schema.get("const"), *(schema.get("enum") or ()))
    return (
        schema.get("type") == "string"
        or any(isinstance(value, str) for value in values)
        or any(_takes_text(each, known, depth + 1) for each in inner)
    )


def repair_prompt(problem: str) -> str:
    """What the model is told when its answer does not fit."""
    return f"That answer cannot be used: {problem}. Answer again with only the corrected JSON value."
