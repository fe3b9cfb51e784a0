"""A setting whose feature is not there is named, and marked where somebody relies on it."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_settings import SCHEMA
from caliban_settings.key import ANY

SAMPLES = {"string": "x", "integer": 7, "array": ["x"], "object": {"a": 1}, "boolean": True}


def sample(form: Any) -> Any:
    """A value of `form` that asks for something."""
    if "enum" in form:
        return form["enum"][-1]
    if form == ANY:
        return True
    return {"command": "x"} if "required" in form else SAMPLES[form["type"]]


def tree(path: str, value: Any) -> dict[str, Any]:
    for name in reversed(path.split(".")):
        value = {("enabled" if name == "*" else name): value}
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize("key", [key for key in SCHEMA if key.later], ids=lambda key: key.path)
def test_every_key_that_waits_for_its_feature_is_named(place: Any, key: Any) -> None:
    value = [{"matcher": "x"}] if key.path == "hooks.*" else sample(key.form)
    path = place.write_json("managed", tree(key.path, value))
    (item,) = place.load().unbuilt
    assert item.words.startswith(f"{path}: `{item.key}` has no effect: {key.later} not part of")
    assert key.path.startswith(item.key.split(".")[0])
    assert item.is_safeguard is key.safeguard


@pytest.mark.parametrize(
    "text",
    [
        "[permissions]\naudit_log = false",
        "[sandbox]\nenabled = false\nfail_if_unavailable = true",
        "disable_all_hooks = true\n[[hooks.PreToolUse]]\nmatcher = 'x'",
        "allow_managed_hooks_only = false",
        "[mcp_servers.x]\ncommand = 'x'\ndisabled = true",
        "enable_telemetry = false",
        "output_style = 'default'",
        "[memory]\nauto_memory_enabled = false",
        "plugins = {}",
    ],
)
def test_what_is_switched_off_asks_for_nothing(place: Any, text: str) -> None:
    place.write("user", text)
    assert place.load().unbuilt == ()
