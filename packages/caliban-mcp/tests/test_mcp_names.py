"""What tools of servers are called, and which variables their entries may hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_mcp import ServerMisconfigured, expanded, full_name, name_problem, tool_names
from caliban_mcp.config import fetched_package
from caliban_mcp.hidden import has_hidden, plain_data, without_hidden
from caliban_mcp.names import MAX_PART_CHARS, name_part

TOOLS = st.lists(st.text(min_size=1, max_size=100), max_size=8, unique=True)


@given(TOOLS)
def test_names_fit_are_unlike_and_depend_on_no_order(tools: list[str]) -> None:
    names = tool_names("desk", tools)
    assert len(set(names.values())) == len(tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())
    assert names == tool_names("desk", tools[::-1])


def test_a_name_that_fits_is_kept_in_whatever_company() -> None:
    assert tool_names("a", ["b.c"]) == {"b.c": "mcp__a__b_c"}
    both = tool_names("a", ["b.c", "b_c"])
    assert both["b_c"] == "mcp__a__b_c" and re.fullmatch(r"mcp__a__b_c_[0-9a-f]{8}", both["b.c"])


def test_a_long_name_is_cut_and_ends_in_a_digest_of_its_own() -> None:
    one, other = tool_names("s" * 40, ["t" * 30, "t" * 31]).values()
    assert len(one) == len(other) == 64 and one != other and one[:55] == other[:55]


@pytest.mark.parametrize("tool", ["Bash", "mcp__b__deploy"])
def test_no_tool_takes_the_name_of_another(tool: str) -> None:
    """s501"""
    assert tool_names("a", [tool]) == {tool: f"mcp__a__{tool}"} and full_name("a", tool) == f"mcp__a__{tool}"


@pytest.mark.parametrize(
    "name", ["", "x y", "../x", "\u0455lack", "x" * 65, "a__b", "a_", "a\n", "\u0661", "a.b"], ids=ascii
)
def test_names_of_servers_that_could_be_mistaken_are_refused(name: str) -> None:
    """s502, s503"""
    assert name_problem(name) is not None


@pytest.mark.parametrize("name", ["a", "A-1_b", "x" * 64])
def test_plain_names_of_servers_are_taken(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${DIR:-${HOME}/.t}:/root:ro", "/d:/root:ro"),
        ("${NONE:-${HOME}/.t}:/root:ro", "/h/.t:/root:ro"),
        ("$DIR {x} } ${DIR}", "$DIR {x} } /d"),
        ("${EMPTY:-else}", "else"),
        ("${EMPTY}", ""),
        ("${NONE:-}", ""),
        ("${RAW}", "${DIR}"),
        ("${NONE:-a}b}", "ab}"),
    ],
)
def test_variables_are_filled_in_once_and_in_each_other(text: str, filled: str) -> None:
    """b106"""
    environ = {"DIR": "/d", "HOME": "/h", "EMPTY": "", "RAW": "${DIR}"}
    assert expanded(text, environ.get) == filled


@pytest.mark.parametrize(
    "text", ["${", "${A", "${}", "${1A}", "${A:-${B}", "${A-b}", "${NONE}", "${A:-" * 40 + "}" * 40]
)
def test_what_names_no_variable_is_an_error_in_words(text: str) -> None:
    with pytest.raises(ServerMisconfigured):
        expanded(text, {}.get)


@given(st.text(alphabet="${}:-AB", max_size=40))
def test_any_text_is_filled_in_or_refused(text: str) -> None:
    try:
        assert isinstance(expanded(text, {"A": "1"}.get), str)
    except ServerMisconfigured as error:
        assert error.message


def test_a_value_that_grows_without_bound_is_refused() -> None:
    with pytest.raises(ServerMisconfigured, match="more than"):
        expanded("${A}" * 2000, {"A": "x" * 1000}.get)


@pytest.mark.parametrize(
    ("command", "args", "package"),
    [
        ("npx", ("-y", "@x/y@latest"), "@x/y@latest"),
        ("/usr/bin/uvx", ("tool",), "tool"),
        ("C:\\n\\npx.cmd", ("p",), "p"),
        ("pnpm", ("dlx", "p"), "p"),
        ("uv", ("tool", "run", "p"), "p"),
        ("uv", ("run", "p"), None),
        ("node", ("server.js",), None),
        ("npm", ("start",), None),
    ],
)
def test_programs_that_fetch_what_they_run_are_known(
    command: str, args: tuple[str, ...], package: str | None
) -> None:
    """s525"""
    words = fetched_package(command, args)
    assert (words is None) is (package is None) and (package is None or f"fetches {package} " in str(words))


@pytest.mark.parametrize(
    "char", ["\x1b", "\x9b", "\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\u00ad", "\ufe0f"]
)
def test_what_no_reader_would_see_is_left_out_for_a_model(char: str) -> None:
    assert has_hidden(f"a{char}b") and without_hidden(f"a{char}b") == "ab"
    assert plain_data({f"k{char}": [f"v{char}", 1, None]}) == {"k": ["v", 1, None]}


def test_text_that_is_seen_stays_as_it_is() -> None:
    text = "Grüße, 日本語, नमस्ते\u200d, line\nand\ttab"
    assert not has_hidden(text) and without_hidden(text) == text


def test_the_server_of_a_plugin_has_a_name_of_its_own_in_the_names_of_its_tools() -> None:
    assert full_name("kit:db", "echo") == "mcp__plugin_kit_db__echo"
    assert tool_names("kit:my_db", ["echo"]) == {"echo": "mcp__plugin_kit_my_db__echo"}
    alike = ("a:b_c", "a_b:c", "a.b:c", "a:b.c", "a:b__c", "a:b_c_", f"a:{'x' * 64}", f"a:{'x' * 63}y")
    parts = {name_part(name) for name in alike}
    assert len(parts) == len(alike)
    for part in parts:
        assert len(part) <= MAX_PART_CHARS and name_problem(part) is None
