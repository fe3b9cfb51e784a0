"""Laws of the merge, and of the table it reads."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_settings import SCHEMA, SCOPES, Key, ValueOrigin, json_schema
from caliban_settings.check import problem
from caliban_settings.key import Guard, Merge
from caliban_settings.leaves import Leaves, SettingValue
from caliban_settings.merge import combine, merge, nested

WORDS = {
    "pattern",
    "type",
    "anyOf",
    "enum",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "minimum",
    "maximum",
}
TEXTS = st.lists(st.sampled_from("abcd"), max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "highest": st.integers(0, 9),
    "join": TEXTS,
    "append": TEXTS,
    "strictest": st.booleans(),
}


def key_of(rule: Any) -> Key:
    return Key(path=f"x.{rule}", form={}, doc="", merge=rule)


@st.composite
def layers(draw: st.DrawFn) -> Leaves:
    leaves: dict[tuple[str, ...], SettingValue] = {}
    origin = ValueOrigin(scope=draw(st.sampled_from(SCOPES)), path=None)
    for rule, values in VALUES.items():
        for name in draw(st.sets(st.sampled_from("pq"))):
            leaf = SettingValue(key=key_of(rule), value=draw(values), origins=(origin,))
            leaves["x", rule, name] = leaf
    if draw(st.booleans()):
        leaves["unknown",] = SettingValue(key=None, value=draw(st.integers()), origins=(origin,))
    return leaves


@settings(max_examples=examples(40))
@given(layers(), layers(), layers())
def test_merging_is_associative_origins_included(low: Leaves, middle: Leaves, high: Leaves) -> None:
    assert combine(combine(low, middle), high) == combine(low, combine(middle, high))


@settings(max_examples=examples(40))
@given(layers())
def test_nothing_is_the_neutral_layer(layer: Leaves) -> None:
    assert merge([{}, layer, {}]) == combine({}, layer) == layer


@settings(max_examples=examples(40))
@given(layers(), layers())
def test_true_stays_true_and_no_item_is_lost(low: Leaves, high: Leaves) -> None:
    both = combine(low, high)
    for layer in (low, high):
        for path, leaf in layer.items():
            match path[1] if len(path) > 1 else "":
                case "strictest":
                    assert both[path].value >= leaf.value
                case "join" | "append":
                    assert set(leaf.value) <= set(both[path].value)


@settings(max_examples=examples(40))
@given(layers())
def test_nesting_loses_no_leaf(layer: Leaves) -> None:
    tree = nested(layer)
    for path, leaf in layer.items():
        value: Any = tree
        for name in path:
            value = value[name]
        assert value == leaf.value


def forms(form: Any) -> Any:
    yield form
    for inner in (*form.get("anyOf", ()), *form.get("properties", {}).values()):
        yield from forms(inner)
    if "items" in form:
        yield from forms(form["items"])


def test_the_table_uses_only_words_that_the_check_reads() -> None:
    for key in SCHEMA:
        for form in forms(key.form):
            assert set(form) <= WORDS, key.path


def test_every_key_is_named_once_described_and_has_a_default_of_its_own_form() -> None:
    paths = [key.path for key in SCHEMA]
    assert len(set(paths)) == len(paths)
    for key in SCHEMA:
        assert key.doc.endswith("."), key.path
        assert key.default is None or problem(key.form, key.default) is None, key.path
        assert key.merge in get_args(Merge)
        assert key.guard in get_args(Guard)
        if key.merge in ("join", "append"):
            assert key.form["type"] == "array", key.path


def test_every_key_of_the_guide_is_in_the_table() -> None:
    guide = (
        "agent model fallback_model model_overrides effort permissions.allow permissions.ask "
        "permissions.deny "
        "permissions.rules permissions.enforce permissions.default_mode permissions.audit_log hooks "
        "disable_all_hooks allow_managed_hooks_only allowed_http_hook_urls http_hook_allowed_env_vars "
        "mcp_servers.*.type mcp_servers.*.command mcp_servers.*.args mcp_servers.*.env mcp_servers.*.cwd "
        "mcp_servers.*.url mcp_servers.*.headers mcp_servers.*.oauth mcp_servers.*.disabled "
        "mcp_servers.*.permissions router memory.auto_memory_enabled memory.auto_memory_directory "
        "memory.cap_tokens_auto memory.cap_tokens_claude_md memory.cap_tokens_combined plugins output_style "
        "editor_mode view_mode statusLine tui api_key_helper enable_telemetry auto_compact_threshold "
        "micro_compact_enabled tool_result_cap_chars min_cache_block_tokens parent_settings_behavior "
        "additional_directories claude_md_excludes env"
    )
    paths = [key.path for key in SCHEMA]
    for name in guide.split():
        assert any(path == name or path.startswith(name + ".") for path in paths), name


def test_the_json_schema_says_the_same_as_the_table() -> None:
    schema = json_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    properties = schema["properties"]
    assert properties["max_turns"] == {
        "type": "integer",
        "minimum": 0,
        "description": "Turns of one run; 0 ends it at once.",
        "default": 50,
    }
    assert properties["env"] == {
        "type": "object",
        "additionalProperties": {
            "type": "string",
            "description": "A variable for every program that is started.",
        },
    }
    server = properties["mcp_servers"]["additionalProperties"]["properties"]
    assert server["transport"] == server["type"]
    assert server["permissions"]["properties"].keys() == {"allow", "ask", "deny"}


def test_importing_and_loading_nothing_loads_nothing_heavy() -> None:
    heavy = ["tomllib", "pydantic", "anyio", "asyncio", "httpx", "difflib", "platformdirs", "logging"]
    code = (
        "import sys; from pathlib import Path; from caliban_settings import load_settings\n"
        "none = Path('/nonexistent')\n"
        "load_settings(workspace=none, config_dir=none, managed_dir=none)\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    assert done.stdout == "[]\n"
