"""What a server asks, as a face is shown it: forms of every kind, addresses, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_mcp.elicit import (
    FieldChoice,
    FormField,
    FormQuestion,
    UrlQuestion,
    answer_problem,
    question_of,
)
from caliban_mcp_client.handler import FormElicitation, UrlElicitation


def form(required: Any = (), **properties: Any) -> FormQuestion:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    question = question_of("desk", FormElicitation(message="m", schema=schema))
    assert isinstance(question, FormQuestion)
    return question


def address(url: str) -> UrlQuestion:
    question = question_of("desk", UrlElicitation(message="m", url=url))
    assert isinstance(question, UrlQuestion)
    return question


def test_every_kind_of_field_is_a_value() -> None:
    pick = [{"const": "a", "title": "First"}, {"const": "b"}]
    question = form(
        ["mail"],
        mail={"type": "string", "format": "email", "minLength": 3, "title": "Mail\u202e", "default": "x@y"},
        count={"type": "integer", "minimum": 1, "maximum": 5, "default": 9},
        share={"type": "number"},
        sure={"type": "boolean", "default": True},
        size={"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
        one={"type": "string", "oneOf": pick},
        many={"type": "array", "items": {"anyOf": pick}, "maxItems": 1},
        api_key={"type": "string", "description": "paste it"},
    )
    choices = (FieldChoice(value="a", label="First"), FieldChoice(value="b", label="b"))
    sizes = (FieldChoice(value="s", label="small"), FieldChoice(value="l", label="large"))
    assert question.problem == ""
    assert question.fields == (
        FormField(
            name="mail", title="Mail", kind="text", required=True, default="x@y", format="email", low=3
        ),
        FormField(name="count", title="count", kind="integer", low=1, high=5),  # 9 is no default of it
        FormField(name="share", title="share", kind="number"),
        FormField(name="sure", title="sure", kind="boolean", default=True),
        FormField(name="size", title="size", kind="choice", choices=sizes),
        FormField(name="one", title="one", kind="choice", choices=choices),
        FormField(name="many", title="many", kind="choices", choices=choices, high=1),
        FormField(name="api_key", title="api_key", kind="text", description="paste it", looks_secret=True),
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"n": 2, "t": "abc"}, None),
        ({}, "t is missing"),
        ({"t": "ab"}, "t must have a length of at least 3"),
        ({"t": "abc", "n": 2.5}, "n must be a whole number"),
        ({"t": "abc", "n": True}, "n must be a whole number"),
        ({"t": "abc", "n": 7}, "n must be at most 5"),
        ({"t": "abc", "b": "yes"}, "b must be true or false"),
        ({"t": "abc", "c": "z"}, "c must be one of its choices"),
        ({"t": "abc", "m": ["s", "z"]}, "m must be some of its choices"),
        ({"t": "abc", "m": ["s", "l"]}, "m must have a number of choices of at most 1"),
        ({"t": "abc", "d": "today"}, "d must be a date"),
        ({"t": "abc", "d": "2026-11-29", "w": "2026-11-29T07:00:00"}, None),
        ({"t": "abc", "u": "no scheme"}, "u must be a URI"),
        ({"t": "abc", "a": "nobody"}, "a must be an address of mail"),
        ({"t": "abc", "x": 1}, "the form has no field 'x'"),
    ],
)
def test_an_answer_fits_the_form_or_says_what_does_not(content: dict[str, Any], words: str | None) -> None:
    question = form(
        ["t"],
        t={"type": "string", "minLength": 3},
        n={"type": "integer", "maximum": 5},
        b={"type": "boolean"},
        c={"type": "string", "enum": ["s"]},
        m={"type": "array", "items": {"enum": ["s", "l"]}, "maxItems": 1},
        d={"type": "string", "format": "date"},
        w={"type": "string", "format": "date-time"},
        u={"type": "string", "format": "uri"},
        a={"type": "string", "format": "email"},
    )
    assert answer_problem(question, content) == words


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "string", "enum": [1]},
        {"type": "string", "enum": []},
        {"type": "string", "oneOf": ["a"]},
        {"type": ["string", "null"]},
        {},
        7,
    ],
)
def test_a_field_that_no_form_has_makes_the_form_one_to_decline(field: Any) -> None:
    question = form(odd=field)
    assert question.fields == () and question.problem == "its field 'odd' is of a kind that no form has"


def test_forms_without_fields_or_with_too_many_are_declined() -> None:
    for schema in ({}, {"properties": []}, {"properties": {f"f{n}": {"type": "boolean"} for n in range(65)}}):
        question = question_of("desk", FormElicitation(message="m", schema=schema))
        assert question.problem == "its form has no fields, or too many"


@pytest.mark.parametrize(
    ("url", "host", "problem"),
    [
        ("https://example.com/a?b=c", "example.com", ""),
        ("http://127.0.0.1:8000/x", "127.0.0.1", ""),
        ("https://bücher.example/", "xn--bcher-kva.example", ""),
        ("http://example.com/", "example.com", "it is no https address"),
        ("file:///etc/passwd", "", "it is no https address"),
        ("javascript:alert(1)", "", "it is no https address"),
        ("https://a:b@example.com/", "example.com", "it holds a name or a password"),
        ("https://exa\u200bmple.com/", "example.com", "it holds what nobody would see"),
        ("https://example.com/ --x", "example.com", "it holds what nobody would see"),
        ("https://[", "", "it is no address"),
        ("", "", "it is no https address"),
    ],
)
def test_an_address_is_shown_with_its_host_and_what_is_wrong_with_it(
    url: str, host: str, problem: str
) -> None:
    question = address(url)
    assert (question.host, question.problem) == (host, problem)
    assert "\u200b" not in question.url


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELD = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "array", "integer", "number", "boolean"])},
    optional=dict.fromkeys(("enum", "enumNames", "oneOf", "items", "default", "minimum", "format"), JSON),
)


@given(st.dictionaries(st.text(max_size=8), FIELD | JSON, max_size=3), JSON, JSON)
def test_whatever_a_server_sends_is_a_question_and_its_defaults_answer_it(
    properties: dict[str, Any], required: Any, message: Any
) -> None:
    schema = {"properties": properties, "required": required}
    question = question_of("desk", FormElicitation(message=str(message), schema=schema))
    assert isinstance(question, FormQuestion)
    defaults = {field.name: field.default for field in question.fields if field.default is not None}
    lacking = [field for field in question.fields if field.required and field.default is None]
    if not lacking:
        assert answer_problem(question, defaults) is None
