"""What a server asks a person, as values for a face, and the port through which a face asks.

A server's words are data: what stands here is checked, shortened and without what nobody would see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_common.text import clean, one_line
from caliban_mcp.hidden import without_hidden
from caliban_mcp_client.handler import Elicitation, FormElicitation, UrlElicitation

MAX_FIELDS: Final = 64
MAX_CHOICES: Final = 256
MAX_MESSAGE_CHARS: Final = 4000
MAX_LINE_CHARS: Final = 300
MAX_URL_CHARS: Final = 8192
_SECRET: Final = lazy_pattern(
    r"(?i)pass(word|phrase|code)|secret|token|api[_ -]?key|private[_ -]?key|credential|\bpin\b|\bcvv\b"
)

FieldKind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
"""What a field takes: a line, a number, a whole number, yes or no, one of some values, several of them."""

ElicitAction: TypeAlias = Literal["accept", "decline", "cancel"]
"""`decline`: a person says no. `cancel`: nobody decided."""


class FieldChoice(Struct, frozen=True, kw_only=True):
    """A value that a field may have, and the words for it."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One field of a form. `low` and `high` bound a number, the length of a text, or how many are chosen.

    `default` is `None` where there is none. `format` is one of email, uri, date and date-time, or empty. Of a
    field that `looks_secret` a person should be warned: servers must not ask for secrets in forms.
    """

    name: str
    title: str
    kind: FieldKind
    description: str = ""
    required: bool = False
    default: Any = None
    choices: tuple[FieldChoice, ...] = ()
    format: str = ""
    low: float | None = None
    high: float | None = None
    looks_secret: bool = False


class FormQuestion(Struct, frozen=True, kw_only=True):
    """A server asks for values. `problem` says why nobody can fill in the form; then it is to be declined."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    problem: str = ""


class UrlQuestion(Struct, frozen=True, kw_only=True):
    """A server asks a person to open an address in a browser.

    `url` is to be shown whole, and opened only after a yes; nothing fetches it before. `host` is the one that
    would be asked, in punycode. `problem` says why it is not to be opened.
    """

    server: str
    message: str
    url: str
    host: str = ""
    problem: str = ""


ServerQuestion: TypeAlias = FormQuestion | UrlQuestion


class ElicitAnswer(Struct, frozen=True, kw_only=True):
    """What a person says: `content` are the values of a form by the names of its fields."""

    action: ElicitAction
    content: Mapping[str, Any] | None = None


class Elicitor(Protocol):
    """Puts what a server asks to a person.

    Several questions may come at once, also while a call of the model runs; the call that a question belongs
    to waits for the answer. Being cancelled means that the question is over: take it away.
    """

    async def elicit(self, question: ServerQuestion) -> ElicitAnswer:
        """The answer. Whatever is raised is taken for `cancel`."""
        ...


def question_of(server: str, request: Elicitation) -> ServerQuestion:
    """What a face shows of what `server` asks."""
    message = clean(without_hidden(request.message))[:MAX_MESSAGE_CHARS]
    if isinstance(request, UrlElicitation):
        host, problem = _judged_url(request.url)
        shown = without_hidden(request.url)[:MAX_URL_CHARS]
        return UrlQuestion(server=server, message=message, url=shown, host=host, problem=problem)
    return _form(server, message, request)


def answer_problem(question: ServerQuestion, content: Mapping[str, Any]) -> str | None:
    """Why `content` is no answer to a form, naming the field; `None` where it is one."""
    if isinstance(question, UrlQuestion):
        return "an address is opened or not: there is nothing to fill in" if content else None
    known = {field.name: field for field in question.fields}
    strange = next((name for name in content if name not in known), None)
    if strange is not None:
        return f"the form has no field {one_line(strange, max_chars=80)!r}"
    for field in question.fields:
        value = content.get(field.name, field.default)
        if value is None:
            if field.required:
                return f"{field.name} is missing"
            continue
        problem = _value_problem(field, value)
        if problem is not None:
            return f"{field.name} {problem}"
    return None


def _judged_url(url: str) -> tuple[str, str]:
    """The host of an address, and why it is not to be opened."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        has_user = parts.username is not None or parts.password is not None
    except (ValueError, UnicodeError):
        return "", "it is no address"
    if without_hidden(url) != url or len(url) > MAX_URL_CHARS or any(char.isspace() for char in url):
        return host, "it holds what nobody would see"
    is_local = host in ("127.0.0.1", "localhost", "::1")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_local)):
        return host, "it is no https address"
    return host, "it holds a name or a password" if has_user else ""


def _form(server: str, message: str, request: FormElicitation) -> FormQuestion:
    properties = request.schema.get("properties")
    required = request.schema.get("required")
    if not isinstance(properties, Mapping) or len(properties) > MAX_FIELDS:
        return FormQuestion(server=server, message=message, problem="its form has no fields, or too many")
    wanted = set(required) if isinstance(required, list) and _are_texts(required) else set()
    fields = []
    for name, schema in properties.items():
        field = _field(name, schema, is_required=name in wanted) if isinstance(schema, Mapping) else None
        if field is None:
            shown = one_line(without_hidden(name), max_chars=80)
            problem = f"its field {shown!r} is of a kind that no form has"
            return FormQuestion(server=server, message=message, problem=problem)
        fields.append(field)
    return FormQuestion(server=server, message=message, fields=tuple(fields))


def _field(name: str, schema: Mapping[str, Any], *, is_required: bool) -> FormField | None:
    read = _kind(schema)
    if read is None:
        return None
    kind, choices = read
    low, high = _bounds(kind, schema)
    title = _words(schema.get("title")) or one_line(without_hidden(name), max_chars=80)
    description = _words(schema.get("description"))
    field = FormField(
        name=name,
        title=title,
        kind=kind,
        description=description,
        required=is_required,
        choices=choices,
        format=schema["format"] if schema.get("format") in ("email", "uri", "date", "date-time") else "",
        low=low,
        high=high,
        looks_secret=any(_SECRET.search(text) for text in (name, title, description)),
    )
    default = schema.get("default")
    if default is None or _value_problem(field, default) is not None:
        return field
    from msgspec.structs import replace

    return replace(field, default=default)


def _kind(schema: Mapping[str, Any]) -> tuple[FieldKind, tuple[FieldChoice, ...]] | None:
    """What a field takes, and among what it is chosen; `None` for what no form of the protocol has."""
    match schema.get("type"):
        case "boolean":
            return "boolean", ()
        case "integer":
            return "integer", ()
        case "number":
            return "number", ()
        case "string" if not any(name in schema for name in ("enum", "oneOf")):
            return "text", ()
        case "string":
            choices = _choices(schema)
            return None if choices is None else ("choice", choices)
        case "array" if isinstance(schema.get("items"), Mapping):
            choices = _choices(schema["items"])
            return None if choices is None else ("choices", choices)
        case _:
            return None


def _choices(schema: Mapping[str, Any]) -> tuple[FieldChoice, ...] | None:
    values = schema.get("enum")
    if values is not None:
        labels = schema.get("enumNames")
        if not isinstance(values, list) or not _are_texts(values):
            return None
        if not isinstance(labels, list) or len(labels) != len(values):
            labels = values
        pairs = list(zip(values, labels, strict=True))
    else:
        options = schema.get("oneOf") or schema.get("anyOf")
        if not isinstance(options, list) or not all(isinstance(option, Mapping) for option in options):
            return None
        pairs = [(option.get("const"), option.get("title") or option.get("const")) for option in options]
    if not 0 < len(pairs) <= MAX_CHOICES or not _are_texts([value for value, _ in pairs]):
        return None
    return tuple(FieldChoice(value=value, label=_words(label) or value) for value, label in pairs)


def _bounds(kind: FieldKind, schema: Mapping[str, Any]) -> tuple[float | None, float | None]:
    names = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}
    low, high = names.get(kind, ("minimum", "maximum"))
    return _number(schema.get(low)), _number(schema.get(high))


def _value_problem(field: FormField, value: Any) -> str | None:
    match field.kind:
        case "boolean":
            return None if isinstance(value, bool) else "must be true or false"
        case "integer" | "number":
            number = _number(value)
            if number is None or (field.kind == "integer" and number != int(number)):
                return "must be a whole number" if field.kind == "integer" else "must be a number"
            return _bound_problem(field, number, "must be")
        case "text":
            if not isinstance(value, str):
                return "must be a text"
            return _bound_problem(field, len(value), "must have a length of") or _format_problem(field, value)
        case "choice":
            is_one = any(value == choice.value for choice in field.choices)
            return None if is_one else "must be one of its choices"
        case "choices":
            values = {choice.value for choice in field.choices}
            if not isinstance(value, list | tuple) or not _are_texts(value) or not set(value) <= values:
                return "must be some of its choices"
            return _bound_problem(field, len(value), "must have a number of choices of")


def _bound_problem(field: FormField, number: float, what: str) -> str | None:
    if field.low is not None and number < field.low:
        return f"{what} at least {field.low:g}"
    if field.high is not None and number > field.high:
        return f"{what} at most {field.high:g}"
    return None


def _format_problem(field: FormField, value: str) -> str | None:
    from datetime import date, datetime

    try:
        match field.format:
            case "email" if "@" not in value.strip("@") or any(char.isspace() for char in value):
                return "must be an address of mail"
            case "uri" if not urlsplit(value).scheme:
                return "must be a URI"
            case "date":
                date.fromisoformat(value)
            case "date-time":
                datetime.fromisoformat(value)
    except ValueError:
        return f"must be a {field.format}"
    return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e300 else None


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _words(value: Any) -> str:
    return one_line(without_hidden(value), max_chars=MAX_LINE_CHARS) if isinstance(value, str) else ""
