"""`@tool`: a typed Python function becomes a tool.

>>> @tool
... async def add(a: int, b: int = 1) -> int:
...     '''Add two numbers.'''
...     return a + b
>>> add.spec.input_schema["required"]
['a']
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    ParamSpec,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)

from anyio import to_thread

from caliban_agent_core.docstring import read_docstring
from caliban_agent_core.errors import ToolDefinitionError
from caliban_common.cleaning import NO_OUTPUT
from caliban_common.errors import ArgumentError
from caliban_common.text import clean, one_line
from caliban_common.tool import ArgumentRole, Tool, ToolContext, ToolKind, ToolOutput, ToolSpec

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

P = ParamSpec("P")
R = TypeVar("R")
ConflictKey = Callable[[Mapping[str, Any]], str | None]
NAME = r"[A-Za-z0-9_-]{1,64}"
SHOWN_ERRORS = 5


class FunctionTool(Generic[P, R]):
    """A function as a tool; calling it calls the function. Made by `tool`."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        spec: ToolSpec,
        parameters: Parameters,
        conflict_key: ConflictKey | None,
    ) -> None:
        self.function = function
        self.spec = spec
        self._parameters = parameters
        self._conflict_key = conflict_key

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without validation."""
        return self.function(*args, **kwargs)

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """What the `conflict_key` of `tool` says of the validated arguments; `None` for invalid ones."""
        if self._conflict_key is None:
            return None
        try:
            return self._conflict_key(self._parameters.read(args))
        except ArgumentError:
            return None  # such a call will not reach the function

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Validate `args` and call the function, a plain one in a worker thread.

        Raises `ArgumentError` for what does not fit the schema. What the function raises passes through. A
        worker thread cannot be stopped: cancelling waits for it.
        """
        values = self._parameters.read(args)
        if self._parameters.context_name is not None:
            values[self._parameters.context_name] = context
        call: Callable[[], Any] = partial(self.function, **values)
        if inspect.iscoroutinefunction(self.function):
            return _output(await call())
        # In a tuple, because trio takes a coroutine for a mistake where a thread returns one.
        (result,) = await to_thread.run_sync(lambda: (_worked_out(call()),))
        return _output(await result if inspect.isawaitable(result) else result)


class Parameters:
    """The parameters of one function: their JSON Schema, and the check of what a model sends.

    `context_name` is the parameter that takes the `ToolContext`, if there is one.
    """

    def __init__(self, function: Callable[..., object], described: Mapping[str, str] | None = None) -> None:
        """`described` says what the parameters are for, as far as their annotations do not.

        Raises `ToolDefinitionError` for a signature that no JSON object can fill.
        """
        from pydantic import ConfigDict, Field, create_model
        from pydantic.errors import PydanticUserError

        self.context_name: str | None = None
        described = described or {}
        fields: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        for name, annotation, default in _parameters(function):
            if annotation is ToolContext or ToolContext in get_args(annotation):
                if self.context_name is not None:
                    raise ToolDefinitionError(f"{_name(function)} takes the ToolContext twice")
                self.context_name = name
                continue
            # Fields have names of our own: a parameter may be called what a model class already uses.
            self._names[name] = f"argument_{len(fields)}"
            says = any(getattr(part, "description", None) for part in getattr(annotation, "__metadata__", ()))
            if name in described and not says:
                annotation = Annotated[annotation, Field(description=described[name])]
            fields[self._names[name]] = (annotation, Field(default, alias=name))
        try:
            self._model: type[BaseModel] = create_model(
                "Arguments", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False), **fields
            )
            self.schema: Mapping[str, Any] = untitled(self._model.model_json_schema())
        except PydanticUserError as error:
            message = f"{_name(function)} has a parameter without a JSON form: {error.message}"
            raise ToolDefinitionError(message) from error

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a model may use."""
        return tuple(self._names)

    def read(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The validated values by name, defaults included. Raises `ArgumentError`, in one line."""
        from pydantic import ValidationError

        try:
            model = self._model.model_validate(dict(args))
        except ValidationError as error:
            raise ArgumentError(_told(error)) from error
        return {name: getattr(model, field) for name, field in self._names.items()}


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    kind: ToolKind = "other",
    main_argument: str | None = None,
    roles: Mapping[str, ArgumentRole] | None = None,
    deferred: bool = False,
    conflict_key: ConflictKey | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(  # noqa: PLR0913 - keyword-only: what a function cannot say of itself
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    kind: ToolKind = "other",
    main_argument: str | None = None,
    roles: Mapping[str, ArgumentRole] | None = None,
    deferred: bool = False,
    conflict_key: ConflictKey | None = None,
) -> Any:
    """Make a tool of a typed function, `async` or plain.

    The first paragraph of its docstring describes it to the model, its sections on arguments (in the style of
    Google, NumPy or Sphinx) describe these. Its annotations are the schema (pydantic's `Field` in `Annotated`
    adds bounds, and descriptions that go before those of the docstring), a parameter of type `ToolContext` is
    filled by the loop. It returns a string, a `ToolOutput`, or anything that has a JSON form. `kind`,
    `main_argument`, `roles` and `deferred` are those of `ToolSpec`; `conflict_key` is given the validated
    arguments.
    Raises `ToolDefinitionError` for a function that no model could be offered.
    """
    if kind not in get_args(ToolKind):
        raise ToolDefinitionError(
            f"a tool cannot be of the kind {kind!r}", hint=f"one of {', '.join(get_args(ToolKind))}"
        )
    facts = {"kind": kind, "main_argument": main_argument, "roles": roles or {}, "deferred": deferred}
    if function is None:
        return partial(_tool, name=name, facts=facts, conflict_key=conflict_key)
    return _tool(function, name=name, facts=facts, conflict_key=conflict_key)


def untitled(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without the titles that pydantic makes of names: a model pays for them and learns nothing."""
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs", "patternProperties"):
            value = {name: untitled(inner) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "contains", "propertyNames"):
            value = untitled(value) if isinstance(value, Mapping) else value
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            value = [untitled(inner) if isinstance(inner, Mapping) else inner for inner in value]
        out[key] = value
    return out


def _tool(
    function: Callable[P, R],
    *,
    name: str | None,
    facts: Mapping[str, Any],
    conflict_key: ConflictKey | None,
) -> FunctionTool[P, R]:
    _expect_function(function)
    name = name or _name(function)
    if re.fullmatch(NAME, name) is None:
        hint = "use 1 to 64 letters, digits, _ and -; say tool(name=...) where the function's name has others"
        raise ToolDefinitionError(f"{name!r} is no name for a tool", hint=hint)
    docs = read_docstring(_doc(function))
    if not docs.summary:
        raise ToolDefinitionError(f"{name} has no docstring", hint="tell the model there what the tool does")
    parameters = Parameters(function, docs.arguments)
    for argument in (facts["main_argument"], *facts["roles"]):
        if argument is not None and argument not in parameters.names:
            raise ToolDefinitionError(f"{name} has no parameter {argument!r}", hint="name one that it has")
    spec = ToolSpec(
        name=name,
        description=docs.summary,
        input_schema=parameters.schema,
        **facts,
    )
    return FunctionTool(function, spec=spec, parameters=parameters, conflict_key=conflict_key)


def _parameters(function: Callable[..., object]) -> list[tuple[str, Any, Any]]:
    """Name, annotation and default (`...` without one) of each parameter."""
    try:
        signature = inspect.signature(function)
        hints = get_type_hints(_annotated(function), include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise ToolDefinitionError(f"the annotations of {_name(function)} cannot be read: {error}") from error
    parameters = []
    bound = _bound(function)
    for name, parameter in signature.parameters.items():
        if name in bound:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            message = f"the parameter {parameter} of {_name(function)} cannot be given by name"
            raise ToolDefinitionError(message, hint="a model names every argument: take each by its name")
        if name not in hints:
            message = f"the parameter {name!r} of {_name(function)} has no annotation"
            raise ToolDefinitionError(message, hint=_ANNOTATE.get(name, "the model is told its type: say it"))
        hint = hints[name] | None if parameter.default is None else hints[name]
        parameters.append((name, hint, ... if parameter.default is parameter.empty else parameter.default))
    return parameters


_ANNOTATE: Mapping[str, str] = MappingProxyType(
    {
        "self": "make the tool of a method that has its object: tool(thing.method)",
        "cls": "make the tool of a method that has its class: tool(Thing.method)",
        "context": "the one that the loop fills is a ToolContext",
    }
)


def _expect_function(function: object) -> None:
    """Raises `ToolDefinitionError` for what cannot be a tool's function."""
    if isinstance(function, FunctionTool):
        raise ToolDefinitionError(f"{function.spec.name} is a tool already", hint="say @tool once")
    if not callable(function):
        what = one_line(repr(function), max_chars=60)
        raise ToolDefinitionError(
            f"a tool is made of a function, not of {what}", hint="its name is given by @tool(name=...)"
        )
    if inspect.isasyncgenfunction(_annotated(function)):
        message = f"{_name(function)} is an async generator, and a tool has one result"
        raise ToolDefinitionError(message, hint="return it; what happens on the way goes to context.emit")


def _inner(function: Callable[..., object]) -> Callable[..., object]:
    """The function behind `functools.partial`."""
    while isinstance(function, partial):
        function = function.func
    return function


def _bound(function: Callable[..., object]) -> frozenset[str]:
    """The arguments that `functools.partial` has settled: no model may give others."""
    names: set[str] = set()
    while isinstance(function, partial):
        names.update(function.keywords)
        function = function.func
    return frozenset(names)


def _annotated(function: Callable[..., object]) -> Callable[..., object]:
    """What holds the annotations: of an object that can be called, its method."""
    function = _inner(function)
    return function if inspect.isroutine(function) else type(function).__call__


def _doc(function: Callable[..., object]) -> str:
    return inspect.getdoc(_annotated(function)) or inspect.getdoc(_inner(function)) or ""


def _name(function: Callable[..., object]) -> str:
    function = _inner(function)
    return getattr(function, "__name__", type(function).__name__)


def _told(error: ValidationError) -> str:
    """Where and what, without the values: the model knows what it sent."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in problems]
    more = [f"and {len(lines) - SHOWN_ERRORS} more"] if len(lines) > SHOWN_ERRORS else []
    return one_line("; ".join([*lines[:SHOWN_ERRORS], *more]), max_chars=1000)


def _worked_out(value: object) -> object:
    """What a plain function gave, all of whose work is done: a generator has only begun."""
    return list(value) if inspect.isgenerator(value) else value


def _output(value: object) -> ToolOutput:
    match value:
        case ToolOutput():
            return value
        case str():
            return ToolOutput.of(value)
        case None:
            return ToolOutput.of(NO_OUTPUT)
        case _:
            from pydantic_core import to_json

            return ToolOutput.of(clean(to_json(value).decode("utf-8")))


if TYPE_CHECKING:

    def _is_tool(tool: FunctionTool[..., object]) -> Tool:
        return tool
