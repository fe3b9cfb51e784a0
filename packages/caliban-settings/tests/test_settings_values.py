"""Single settings in texts of TOML: one is changed, everything else stays, whatever the text is."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_settings import SCHEMA, SettingsError, json_schema
from caliban_settings.check import problem
from caliban_settings.edit.address import address_of, find_key
from caliban_settings.edit.values import read_value, value_in, with_value, without_value
from caliban_settings.errors import NoSuchSetting, SettingsNotWritten
from caliban_settings.form import form_words

PIECES = st.sampled_from(
    [
        "",
        "# words\n",
        "max_turns = 3  # three\n",
        "[permissions]\nallow = [ # why\n  'Read', # mine\n]\n",
        "[env]\nA = 'b'\n# end\n",
        "[env] # all\n",
        "[mcp_servers.x]\ncommand = 'y'\n[mcp_servers.x.env]\nB = '2'\n",
        "[[hooks.Stop]]\nmatcher = ''\n[[hooks.Stop.handlers]]\ntype = 'command'\ncommand = 'true'\n",
        'output_style = """\nmax_turns = 9\n"""\n',
        "statusLine = { command = 'x' } # line\n",
        "model.name = 'm'\nmodel.provider = 'p'\n",
        "\n\n",
    ]
)


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


TEXTS = st.lists(PIECES, max_size=6, unique=True).map("".join).filter(is_toml)
CHANGES = st.sampled_from(
    [
        ("max_turns", 7),
        ("model", "m2"),
        ("env.A", "new"),
        ("env.'with.dot'", "x"),
        ("permissions.allow", ["Grep", "Glob"]),
        ("permissions.deny", ["Bash"]),
        ("mcp_servers.x.env.C", "3"),
        ("mcp_servers.y.command", "z"),
        ("hooks.PreToolUse", [{"handlers": [{"type": "command", "command": "x"}]}]),
        ("statusLine", {"command": "y", "padding": 2}),
        ("auto_compact_threshold", 0.5),
        ("micro_compact_enabled", False),
    ]
)


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@given(TEXTS, CHANGES, st.booleans(), st.booleans())
def test_a_value_is_put_in_and_nothing_else_is_touched(text, chosen, crlf, bom):
    name, value = chosen
    text = ("\ufeff" if bom else "") + (text.replace("\n", "\r\n") if crlf else text)
    address = find_key(name)
    try:
        changed = with_value(text, address, value)
    except SettingsNotWritten:
        return  # said, and nothing is changed
    assert value_in(changed, address) == value
    before, after = (tomllib.loads(one.removeprefix("\ufeff")) for one in (text, changed))
    assert without(before, address.path) == without(after, address.path)
    lost = [words for words in comments(text) if words not in comments(changed)]
    assert lost == [] or address.path[0] in ("permissions", "model", "statusLine")
    assert changed.startswith("\ufeff") == bom
    if crlf and text.count("\n") > 1:
        assert changed.count("\n") == changed.count("\r\n")
    assert value_in(without_value(changed, address), address) is None


def without(data: Any, path: tuple[str, ...]) -> Any:
    if not isinstance(data, dict) or not path:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    below = without(data.get(path[0], {}), path[1:]) if len(path) > 1 else {}
    return {**rest, path[0]: below} if below else rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "a.",
        ".a",
        "a b",
        "a=1",
        "a\nb",
        "'a",
        "[a]",
        "a.*",
        "max_turns.x",
        "\0",
        "é",
        "x" * 9999,
    ],
)
def test_what_is_no_name_is_refused(text):
    with pytest.raises(NoSuchSetting):
        find_key(text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "5", "5"),
        ("model", '{"provider": "p", "name": "n"}', {"provider": "p", "name": "n"}),
        ("model", "true", "true"),
        ("max_turns", " 5 ", 5),
        ("auto_compact_threshold", "1", 1),
        ("disable_all_hooks", "true", True),
        ("permissions.deny", '["a", "b"]', ["a", "b"]),
        ("permissions.deny", "['a']", ["a"]),
        ("env.A", "2026-01-01", "2026-01-01"),
        ("statusLine.padding", "3", 3),
        ("output_style", '"quoted"', "quoted"),
    ],
)
def test_words_are_read_as_the_setting_takes_them(name, text, value):
    assert read_value(text, find_key(name)) == value


@pytest.mark.parametrize("text", ["x", "[", "{", "1\nmodel = 'x'", "1e999", "-1", "1.5", "'5'", ""])
def test_what_the_setting_does_not_take_is_refused(text):
    with pytest.raises(SettingsNotWritten, match="max_turns"):
        read_value(text, find_key("max_turns"))


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("key", SCHEMA, ids=lambda key: key.path)
def test_every_key_has_an_address_and_words_for_its_form(key):
    names = tuple("NAME" if part == "*" else part for part in key.path.split("."))
    assert address_of(names).key is key
    assert form_words(key.form)
    for alias in key.aliases:
        given = [alias if part == key.path.rstrip(".*").rpartition(".")[2] else part for part in names]
        assert alias in given and address_of(given).path == names


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 200_000)
    | st.floats(-1, 2)
    | st.sampled_from(["", "low", "x"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["command", "name", "pattern", "action", "padding"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)
VALIDATOR = jsonschema_rs.validator_for(json_schema())


@given(st.sampled_from(SCHEMA), VALUES)
def test_the_schema_says_the_same_as_the_check(key, value):
    document: Any = value
    for part in reversed(key.path.split(".")):
        document = {"name" if part == "*" else part: document}
    fits = problem(key.form, value) is None
    if isinstance(value, float) and value.is_integer() and "integer" in str(key.form):
        return  # to JSON Schema 1.0 is an integer
    assert VALIDATOR.is_valid(document) == fits


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("max_turns = 3\n[permissions]\ndeny = ['Bash']\n[env]\nA = 'x'\n[unknown]\na = 1\n", True),
        ("[mcp_servers.x]\ntransport = 'http'\nurl = 'https://a.example'\n", True),
        ("status_line = { command = 'x' }\nclaudeMdExcludes = ['a']\n", True),
        ("[[permissions.rules]]\npattern = 'Bash'\naction = 'deny'\n", True),
        ("[[permissions.rules]]\npattern = 'Bash'\naction = 'maybe'\n", False),
        ("max_turns = 'x'\n", False),
        ("[mcp_servers.x]\ntransport = 'smoke'\n", False),
        ("status_line = { command = 'x', padding = 99 }\n", False),
    ],
)
def test_the_schema_judges_real_files(text, is_valid):
    assert VALIDATOR.is_valid(tomllib.loads(text)) == is_valid


def test_a_broken_text_is_not_changed():
    with pytest.raises(SettingsError):
        with_value("max_turns = ", find_key("max_turns"), 3)
