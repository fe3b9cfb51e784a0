"""Scopes, files and formats: which value counts, and who gave it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from caliban_settings import Scope, SettingsError, ValueOrigin

ORDER: tuple[Scope, ...] = ("managed", "user", "project", "local", "cli")


def write_all(place: Any, scopes: tuple[Scope, ...]) -> str | None:
    for scope in scopes:
        if scope != "cli":
            place.write(scope, f'model = "{scope}"\n')
    return '{"model": "cli"}' if "cli" in scopes else None


def test_without_any_file_there_is_nothing(place: Any) -> None:
    settings = place.load()
    assert (settings.merged, settings.warnings, settings.sources) == ({}, (), ())
    assert settings.get("model") is None
    assert settings.get("auto_compact_threshold", 0.75) == 0.75
    assert settings.origin("model") is None
    assert settings.rules_by_scope() == {}


@pytest.mark.parametrize(
    "scopes", [combination for size in range(1, 6) for combination in itertools.combinations(ORDER, size)]
)
def test_the_highest_scope_that_says_a_value_wins(place: Any, scopes: tuple[Scope, ...]) -> None:
    overlay = write_all(place, scopes)
    settings = place.load(overlay=overlay, trusted=True)
    winner = scopes[-1]
    assert settings.get("model") == winner
    path = None if winner == "cli" else place.file(winner)
    assert settings.origin("model") == ValueOrigin(scope=winner, path=path)
    assert settings.origins("model") == (ValueOrigin(scope=winner, path=path),)
    assert settings.sources == scopes
    assert settings.scopes() == {"model": winner}
    assert settings.raw == {scope: {"model": scope} for scope in scopes}
    assert settings.warnings == ()


@pytest.mark.parametrize("scopes", list(itertools.combinations(ORDER[1:], 2)))
def test_blocking_managed_settings_stand_above_all_others(place: Any, scopes: tuple[Scope, ...]) -> None:
    overlay = write_all(place, scopes)
    place.write("managed", 'parent_settings_behavior = "block"\nmodel = "managed"\n')
    settings = place.load(overlay=overlay, trusted=True)
    assert settings.get("model") == "managed"
    assert settings.origin("model").scope == "managed"
    assert [(item.key, item.scope, item.value) for item in settings.withheld] == [
        ("model", scope, scope) for scope in scopes
    ]
    assert all("locked by managed settings" in warning for warning in settings.warnings)


def test_lists_merge_from_low_to_high_without_doubles(place: Any) -> None:
    for scope, letters in (("managed", "ab"), ("user", "bc"), ("project", "ca"), ("local", "d")):
        items = ", ".join(f'"{letter}"' for letter in letters)
        place.write(scope, f"claude_md_excludes = [{items}]\n[permissions]\ndeny = [{items}]\n")
    settings = place.load(overlay='{"permissions": {"deny": ["a", "e"]}}')
    assert settings.get("claude_md_excludes") == ["a", "b", "c", "d"]
    assert settings.get("permissions.deny") == ["a", "b", "c", "d", "e"]
    assert [origin.scope for origin in settings.origins("permissions.deny")] == list(ORDER)


def test_rules_and_hooks_concatenate_in_order(place: Any) -> None:
    rule = '[[permissions.rules]]\npattern = "Bash:{0}"\naction = "ask"\n[[hooks.Stop]]\nmatcher = "{0}"\n'
    place.write("user", rule.format("one") + rule.format("two"))
    place.write("project", rule.format("one"))
    settings = place.load(trusted=True)
    assert [item["pattern"] for item in settings.get("permissions.rules")] == [
        "Bash:one",
        "Bash:two",
        "Bash:one",
    ]
    assert [item["matcher"] for item in settings.get("hooks.Stop")] == ["one", "two", "one"]
    assert settings.rules_by_scope() == {
        "user": ({"pattern": "Bash:one", "action": "ask"}, {"pattern": "Bash:two", "action": "ask"}),
        "project": ({"pattern": "Bash:one", "action": "ask"},),
    }


def test_tables_of_names_merge_entry_by_entry(place: Any) -> None:
    place.write(
        "user",
        'env = { A = "1", CI = "1" }\nmodel_overrides = { summarization = "s" }\n'
        '[mcp_servers.x]\ncommand = "npx"\nargs = ["-y"]\nenv = { ONE = "1" }\n'
        '[provider.p]\nkind = "openai"\nheaders = { h = "1" }\n',
    )
    place.write(
        "local",
        'env = { CI = "2", TZ = "2" }\nmodel_overrides = { other = "o" }\n[mcp_servers.x.env]\nPORT = "2"\n',
    )
    settings = place.load(trusted=True, overlay='{"provider": {"p": {"base_url": "http://127.0.0.1:1"}}}')
    assert settings.get("env") == {"A": "1", "CI": "2", "TZ": "2"}
    assert settings.get("model_overrides") == {"summarization": "s", "other": "o"}
    assert settings.get("mcp_servers.x") == {
        "command": "npx",
        "args": ["-y"],
        "env": {"ONE": "1", "PORT": "2"},
    }
    assert settings.get("provider.p") == {
        "kind": "openai",
        "headers": {"h": "1"},
        "base_url": "http://127.0.0.1:1",
    }
    assert settings.origin("env.CI").scope == "local"
    assert settings.origin("env.A").scope == "user"
    assert settings.origin("provider").scope == "cli"


def test_a_table_with_a_form_of_its_own_is_one_value(place: Any) -> None:
    place.write(
        "user", 'statusLine = { command = "a", padding = 2 }\nmodel = { provider = "p", name = "n" }\n'
    )
    place.write("local", 'status_line = { command = "b" }\nmodel = "m"\n')
    settings = place.load(trusted=True)
    assert settings.get("statusLine") == {"command": "b"}
    assert settings.get("model") == "m"


def test_unknown_keys_are_kept_and_named_with_the_nearest_known_one(place: Any) -> None:
    path = place.write("user", 'modle = "x"\nzzz = { a = 1 }\n\n[permissions]\ndney = ["Bash"]\n')
    settings = place.load()
    assert settings.merged == {"modle": "x", "zzz": {"a": 1}, "permissions": {"dney": ["Bash"]}}
    assert settings.get("zzz.a") == 1
    assert settings.warnings == (
        f"{path}:1: `modle` is unknown and has no effect: did you mean `model`?",
        f"{path}:2: `zzz` is unknown and has no effect",
        f"{path}:5: `permissions.dney` is unknown and has no effect: did you mean `deny`?",
    )


def test_asking_for_a_setting_that_does_not_exist_is_a_mistake_of_the_program(place: Any) -> None:
    with pytest.raises(KeyError):
        place.load().get("modle")


def test_the_schema_that_a_json_file_names_for_editors_is_no_setting(place: Any) -> None:
    place.write_json("user", {"$schema": "https://example.com/settings.json", "max_turns": 1})
    settings = place.load()
    assert settings.merged == {"max_turns": 1}
    assert len(settings.warnings) == 1


def test_null_is_a_value_and_absence_is_not(place: Any) -> None:
    place.write_json("user", {"auto_compact_threshold": None})
    assert place.load().get("auto_compact_threshold", 0.75) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('\n\nmax_turns = "5"', ":3: `max_turns` must be an integer, got a string"),
        ("max_turns = true", ":1: `max_turns` must be an integer, got a boolean"),
        ("max_turns = 1.0", ":1: `max_turns` must be an integer, got a number"),
        ("max_tokens = 0", ":1: `max_tokens` must be at least 1, got 0"),
        ("auto_compact_threshold = 1.5", ":1: `auto_compact_threshold` must be between 0 and 1, got 1.5"),
        ('model = ""', ":1: `model` must not be empty"),
        ('fallback_model = " "', ":1: `fallback_model` must not be empty"),
        ('[model]\nname = ""', ":2: `model.name` must not be empty"),
        ('[model]\nname = "m"\nprovider = "\\t"', ":3: `model.provider` must not be empty"),
        ('[model_overrides]\nsub_agent = ""', ":2: `model_overrides.sub_agent` must not be empty"),
        ('[provider.mine]\nkind = ""', ":2: `provider.mine.kind` must not be empty"),
        ('[provider.mine]\nbase_url = ""', ":2: `provider.mine.base_url` must not be empty"),
        ('effort = "huge"', ":1: `effort` must be one of low, medium, high, xhigh, max, auto, got 'huge'"),
        ("env = 5", ":1: `env` must be a table, got an integer"),
        ('[env]\nA = "x"\nB = 8080', ":3: `env.B` must be a string, got an integer"),
        ("model = 5", ":1: `model` must be a string or a table, got an integer"),
        ('[model]\nprovider = "p"', ":1: `model` has no `name`"),
        (
            '[statusLine]\ncommand = "x"\ntimeout_ms = 5',
            ":3: `statusLine.timeout_ms` must be between 50 and 5000, got 5",
        ),
        (
            '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.b]\ncommand = "x"\nargs = [1]',
            ":5: `mcp_servers.b.args[0]` must be a string, got an integer",
        ),
        (
            '[[permissions.rules]]\npattern = "a"\naction = "ask"\n'
            '[[permissions.rules]]\npattern = "b"\naction = "no"',
            ":4: `permissions.rules[1]` must have the action allow, ask or deny",
        ),
        ('permissions.enforce = "yes"', ":1: `permissions.enforce` must be a boolean, got a string"),
        ('[permissions]\nallow = "Bash"', ":2: `permissions.allow` must be an array, got a string"),
        (
            "[permissions]\ndeny = [5]",
            ":2: `permissions.deny[0]` must be a pattern, for it forbids something",
        ),
        ('api_key_helper = [{ args = ["x"] }]', ":1: `api_key_helper[0]` has no `command`"),
    ],
)
def test_a_known_key_of_the_wrong_form_names_its_file_and_line(place: Any, text: str, complaint: str) -> None:
    path = place.write("user", text)
    with pytest.raises(SettingsError) as caught:
        place.load()
    assert caught.value.message == f"{path}{complaint}"


def test_the_line_in_a_json_file_is_found_too(place: Any) -> None:
    path = place.write("user", '{\n  "env": {\n    "A": "x",\n    "B": 1\n  }\n}', suffix=".json")
    with pytest.raises(SettingsError) as caught:
        place.load()
    assert caught.value.message == f"{path}:4: `env.B` must be a string, got an integer"


def test_several_wrong_values_are_told_at_once_but_not_without_end(place: Any) -> None:
    path = place.write("user", "[env]\n" + "".join(f"A{number} = {number}\n" for number in range(50)))
    with pytest.raises(SettingsError) as caught:
        place.load()
    lines = caught.value.message.split("\n")
    assert lines[0] == f"{path}:2: `env.A0` must be a string, got an integer"
    assert lines[5:] == ["and 45 more"]


def test_the_overlay_is_json_or_a_file_of_either_format(place: Any) -> None:
    toml = place.root / "ci.toml"
    toml.write_text("max_turns = 7\n")
    json = place.root / "ci.json"
    json.write_text('{"max_turns": 8}')
    assert place.load(overlay=' {"max_turns": 6}').get("max_turns") == 6
    assert place.load(overlay=str(toml)).get("max_turns") == 7
    assert place.load(overlay=str(json)).get("max_turns") == 8
    assert place.load(overlay=str(json)).origin("max_turns") == ValueOrigin(scope="cli", path=json)
    assert place.load(overlay=str(json)).warnings == ()


@pytest.mark.parametrize(
    ("overlay", "complaint"),
    [
        ("nowhere.toml", "inline settings: there is no file nowhere.toml"),
        ("max_turns=5", "neither a JSON object nor a .toml or .json file"),
        ("", "neither a JSON object"),
        ('{"max_turns": }', "inline settings:1:15: not JSON"),
        ('{"max_turns": "5"}', "inline settings:1: `max_turns` must be an integer, got a string"),
        ('{"max_turns": 1, "max_turns": 2}', "inline settings: the key 'max_turns' is given twice"),
        ("a\0b.toml", "cannot look at"),
        ('{"a": "\ud800"}', "not UTF-8"),
    ],
)
def test_an_overlay_that_cannot_be_used_says_why(place: Any, overlay: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as caught:
        place.load(overlay=overlay)
    assert complaint in str(caught.value)


def test_only_the_scopes_asked_for_are_read(place: Any) -> None:
    write_all(place, ORDER)
    assert place.load(sources=("user", " project"), trusted=True).get("model") == "project"
    assert place.load(sources=("user", "project")).sources == ("user", "project")
    assert place.load(sources=()).merged == {}
    assert place.load(sources=("user",), overlay='{"model": "cli"}').get("model") == "cli"
    place.write("project", "broken")
    assert place.load(sources=("user",)).get("model") == "user"


@pytest.mark.parametrize("name", ["proj", "cli", "", "User"])
def test_an_unknown_scope_is_an_error(place: Any, name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        place.load(sources=("user", name))
    assert str(caught.value) == (
        f"unknown settings scope {name!r}\nhint: one of managed, user, project, local"
    )


def test_json_alone_is_read_with_a_warning(place: Any) -> None:
    path = place.write_json("user", {"model": "m"})
    settings = place.load()
    assert settings.get("model") == "m"
    assert settings.warnings == (
        f"{path} is JSON, which is read but not written: say the same in settings.toml",
    )


def test_toml_wins_over_json_but_for_its_denies(place: Any) -> None:
    toml = place.write("user", 'model = "toml"\n[permissions]\nallow = ["Bash"]\n')
    rules = [{"pattern": "Write", "action": "deny"}, {"pattern": "Edit", "action": "allow"}]
    json = place.write_json("user", {"model": "json", "permissions": {"deny": ["WebFetch"], "rules": rules}})
    settings = place.load()
    assert settings.get("model") == "toml"
    assert settings.rules_by_scope()["user"] == (
        {"pattern": "WebFetch", "action": "deny"},
        {"pattern": "Write", "action": "deny"},
        {"pattern": "Bash", "action": "allow"},
    )
    assert settings.warnings == (
        f"{json} is ignored beside {toml} but for its 2 deny rules, which hold: "
        "remove it, or move what it says",
    )
    place.write("user", "{", suffix=".json")
    with pytest.raises(SettingsError, match="not JSON"):
        place.load()


def test_permissions_toml_stands_for_the_permissions_of_its_scope(place: Any) -> None:
    settings = place.write("project", '[permissions]\nask = ["Edit"]\ndeny = ["WebFetch"]\nenforce = true\n')
    legacy = place.workspace / ".caliban" / "permissions.toml"
    legacy.write_text(
        '[[permissions.rules]]\npattern = "Write"\naction = "ask"\ncomment = "careful"\n'
        '[[rule]]\ntool = "Bash:rm *"\naction = "deny"\n'
    )
    loaded = place.load()
    assert loaded.rules_by_scope() == {
        "project": (
            {"pattern": "WebFetch", "action": "deny"},
            {"pattern": "Write", "action": "ask", "comment": "careful"},
            {"pattern": "Bash:rm *", "action": "deny"},
        )
    }
    assert loaded.get("permissions.enforce") is True
    assert loaded.warnings == (
        f"{legacy} replaces the `permissions` of {settings} but for its 1 deny rules, which hold",
    )
    settings.unlink()
    assert len(place.load().rules_by_scope()["project"]) == 2
    assert place.load().warnings == ()


def test_files_of_one_feature_fill_in_only_what_is_not_said(place: Any) -> None:
    config = place.root / "config"
    place.write("user", 'mcp_servers = { a = { command = "a" } }\n')
    (config / "mcp.toml").write_text('[mcp_servers.b]\ncommand = "b"\ntransport = "stdio"\n')
    (config / "hooks.toml").write_text(
        'model = "no"\ndisable_all_hooks = true\n[[hooks.Stop]]\nmatcher = "x"\n'
    )
    settings = place.load()
    assert settings.merged == {
        "mcp_servers": {"a": {"command": "a"}},
        "hooks": {"Stop": [{"matcher": "x"}]},
        "disable_all_hooks": True,
    }
    assert [warning.split()[0] for warning in settings.warnings] == [str(config / "hooks.toml")]
    place.file("user").unlink()
    assert place.load().get("mcp_servers") == {"b": {"command": "b", "type": "stdio"}}


def test_aliases_count_as_the_name_they_stand_for(place: Any) -> None:
    path = place.write_json(
        "user",
        {"claudeMdExcludes": ["a"], "mcp_servers": {"x": {"transport": "http", "type": "sse"}}},
    )
    settings = place.load()
    assert settings.merged == {"claude_md_excludes": ["a"], "mcp_servers": {"x": {"type": "sse"}}}
    assert settings.warnings[1:] == (
        f"{path}:1: `mcp_servers.x.transport` is the same as `type`, which counts",
    )


def test_a_malformed_allow_is_left_out_and_everything_else_stays(place: Any) -> None:
    path = place.write_json(
        "user",
        {
            "permissions": {"allow": ["Bash(mkdir*)", "Bash((", "", 5, "Read(**)"], "deny": ["Read(./.env)"]},
            "env": {"A": "1"},
        },
    )
    settings = place.load()
    assert settings.get("permissions") == {
        "allow": ["Bash(mkdir*)", "Bash((", "Read(**)"],
        "deny": ["Read(./.env)"],
    }
    assert settings.get("env") == {"A": "1"}
    assert settings.warnings[1:] == (
        f"{path}:1: `permissions.allow[2]` is no pattern and is left out",
        f"{path}:1: `permissions.allow[3]` is no pattern and is left out",
    )


def test_buckets_become_rules_strictest_first(place: Any) -> None:
    place.write("user", '[permissions]\nallow = ["a"]\nask = ["b"]\ndeny = ["c"]\n')
    assert place.load().rules_by_scope()["user"] == (
        {"pattern": "c", "action": "deny"},
        {"pattern": "b", "action": "ask"},
        {"pattern": "a", "action": "allow"},
    )


def test_ordered_rules_win_over_buckets_but_never_lift_a_deny(place: Any) -> None:
    path = place.write(
        "user",
        '[permissions]\nallow = ["a"]\nask = ["b"]\ndeny = ["c"]\n'
        '[[permissions.rules]]\npattern = "*"\naction = "allow"\n',
    )
    settings = place.load()
    assert settings.rules_by_scope()["user"] == (
        {"pattern": "c", "action": "deny"},
        {"pattern": "*", "action": "allow"},
        {"pattern": "b", "action": "ask"},
    )
    assert settings.warnings == (f"{path}:2: `permissions.allow` does not count beside `permissions.rules`",)


def test_a_doubtful_rule_is_read_the_stricter_way(place: Any) -> None:
    rules = [
        {"pattern": "a", "action": "allow", "expires_at": "2027-01-01"},
        {"pattern": "b", "action": "allow", "expires_at": "soon"},
        {"pattern": "c", "action": "deny", "expires_at": "soon", "reason": "r"},
        {"pattern": "e", "action": "ask", "comment": 5},
    ]
    place.write_json("user", {"permissions": {"rules": rules}})
    settings = place.load()
    assert settings.rules_by_scope()["user"] == (
        {"pattern": "a", "action": "allow", "expires_at": "2027-01-01T00:00:00+00:00"},
        {"pattern": "c", "action": "deny", "reason": "r"},
        {"pattern": "e", "action": "ask"},
    )
    assert [warning.partition("` ")[2] for warning in settings.warnings[1:]] == [
        "has an `expires_at` that is no date and time and is left out",
        "has an `expires_at` that is no date and time which does not count",
    ]


@pytest.mark.parametrize(
    "rule",
    [
        {"action": "allow"},
        {"action": "allow", "pattern": 5},
        {"action": "deny", "pattern": " "},
        {"pattern": "d", "action": "allow", "expire_at": "2027-01-01T00:00:00Z"},
        {"pattern": "e", "action": "ask", "note": "x"},
    ],
)
def test_ordered_rules_are_read_whole_or_not_at_all(rule: dict[str, Any], place: Any) -> None:
    place.write_json("user", {"permissions": {"rules": [{"pattern": "a", "action": "deny"}, rule]}})
    with pytest.raises(SettingsError) as raised:
        place.load()
    assert "`permissions.rules[1]`" in raised.value.message


def test_dates_of_toml_come_out_as_text(place: Any) -> None:
    place.write(
        "user",
        '[[permissions.rules]]\npattern = "a"\naction = "allow"\nexpires_at = 2027-01-01T02:00:00+02:00\n'
        "[router]\nday = 2027-01-01\ntime = 10:00:00\n",
    )
    settings = place.load()
    assert settings.rules_by_scope()["user"][0]["expires_at"] == "2027-01-01T00:00:00+00:00"
    assert settings.get("router") == {"day": "2027-01-01", "time": "10:00:00"}
