"""`caliban.toml` as the guide shows it, and every way to get it wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from caliban_common.errors import FileFailed
from caliban_model_router import (
    PURPOSES,
    ProviderTable,
    Requirements,
    Route,
    RouterConfig,
    RouterConfigError,
    direct,
    find_config,
    read_config,
    router_config,
    with_overrides,
)
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.route import Hedge

WHOLE = """
[router]
default_purpose = "main_loop"
[router.breaker]
failure_threshold = 3
cooldown_secs = 12.5
[router.hedge]
hedge_after_ms = 1500

[[router.route]]
id = "main"
purpose = "main_loop"
provider = "anthropic"
model = "claude-opus-4-7"
requires = { vision = true, tool_use = true }
fallback = ["spare"]
hedge = { max = 2 }
breaker = { window_secs = 90 }
effort = "medium"
[router.route.effort_map]
low = "budget=1024"
high = "budget=32768"

[[router.route]]
id = "spare"
purpose = "main_loop"
provider = "house"
model = "gpt-5.5"
hedge = false
breaker = false
requires = { tool_use = "parallel_calls", thinking = false }

[[router.route]]
purpose = "fast_classifier"
provider = "ollama"
model = "llama3.2:3b"
fallback = []

[provider.house]
kind = "openai"
api_key_env = "STAGING"
base_url = "https://oai.example.com/v1"
headers = { x-team = "a" }

[provider.house.options]
region = "eu"
api_version = 2
share = 0.5
swift = true
version = 2026-10-21

[images]
max = 3
"""

NAMES = ("anthropic", "openai", "ollama")


def test_a_whole_file_is_read_with_its_defaults():
    limits = BreakerLimits(failure_threshold=3, cooldown_s=12.5)
    assert router_config(tomllib.loads(WHOLE), known=NAMES) == RouterConfig(
        default_purpose="main_loop",
        routes=(
            Route(
                id="main",
                purpose="main_loop",
                provider="anthropic",
                model="claude-opus-4-7",
                requires=Requirements(vision=True, tool_use="basic"),
                fallback=("spare",),
                hedge=Hedge(after_ms=1500, max_hedges=2),
                breaker=BreakerLimits(failure_threshold=3, window_s=90, cooldown_s=12.5),
                rest_s=0.0,
                effort="medium",
                effort_map={"low": "budget=1024", "high": "budget=32768"},
            ),
            Route(
                id="spare",
                purpose="main_loop",
                provider="house",
                model="gpt-5.5",
                requires=Requirements(tool_use="parallel_calls"),
                rest_s=0.0,
            ),
            Route(
                id="ollama:llama3.2:3b:fast_classifier",
                purpose="fast_classifier",
                provider="ollama",
                model="llama3.2:3b",
                fallback=(),
                hedge=Hedge(after_ms=1500),
                breaker=limits,
                rest_s=0.0,
            ),
        ),
        providers=(
            ProviderTable(
                name="house",
                kind="openai",
                api_key_env="STAGING",
                base_url="https://oai.example.com/v1",
                headers={"x-team": "a"},
                options={
                    "region": "eu",
                    "api_version": "2",
                    "share": "0.5",
                    "swift": "true",
                    "version": "2026-10-21",
                },
            ),
        ),
    )


ROUTE = {"purpose": "main_loop", "provider": "anthropic", "model": "m"}


def test_a_file_without_breaker_and_hedge_has_none_and_a_failed_route_rests():
    (only,) = router_config({"router": {"route": [ROUTE]}}).routes
    assert (only.breaker, only.hedge, only.rest_s, only.id) == (None, None, 30.0, "anthropic:m:main_loop")
    on = ROUTE | {"breaker": True, "hedge": True}
    (only,) = router_config({"router": {"route": [on]}}).routes
    assert (only.breaker, only.hedge, only.rest_s) == (BreakerLimits(), Hedge(), 0.0)
    off = ROUTE | {"hedge": {"max_hedges": 0}}
    assert router_config({"router": {"route": [off]}}).routes[0].hedge is None


WRONG = {
    "[router] route: there is no route": {"router": {}},
    "[router]: is a table, not a list": {"router": []},
    "[router] default_purpose: is one of main_loop": {"router": {"default_purpose": "x", "route": [ROUTE]}},
    "[router] default_purpose: no route has the purpose 'other'": {
        "router": {"default_purpose": "other", "route": [ROUTE]}
    },
    "[router] speed: is not a key of this table": {"router": {"speed": 1, "route": [ROUTE]}},
    "[router.breaker] cooldown_secs: is a number of seconds of at least 1, not 0": {
        "router": {"breaker": {"cooldown_secs": 0}, "route": [ROUTE]}
    },
    "[router.breaker] failure_threshold: is a whole number of at least 1, not True": {
        "router": {"breaker": {"failure_threshold": True}, "route": [ROUTE]}
    },
    "[router.hedge] after: is not a key": {"router": {"hedge": {"after": 1}, "route": [ROUTE]}},
    "[router.route 1]: is a table, not a text": {"router": {"route": ["x"]}},
    "[router.route 1] purpose: is missing": {"router": {"route": [{"provider": "anthropic", "model": "m"}]}},
    "[router.route 1] purpose: is one of": {"router": {"route": [ROUTE | {"purpose": "chat"}]}},
    "[router.route 1] model: is empty": {"router": {"route": [ROUTE | {"model": " "}]}},
    "[router.route 1] fallbck: is not a key": {"router": {"route": [ROUTE | {"fallbck": []}]}},
    "[router.route 1] fallback: is a list of texts": {"router": {"route": [ROUTE | {"fallback": "x"}]}},
    "[router.route 1] fallback: no route is called 'x'": {"router": {"route": [ROUTE | {"fallback": ["x"]}]}},
    "[router.route 1] provider: no provider is called 'nobody'": {
        "router": {"route": [ROUTE | {"provider": "nobody"}]}
    },
    "[router.route 1] id: two routes are called": {"router": {"route": [ROUTE, ROUTE]}},
    "[router.route 1.requires] tool_use: is true, false": {
        "router": {"route": [ROUTE | {"requires": {"tool_use": "many"}}]}
    },
    "[router.route 1.requires] hearing: is not a key": {
        "router": {"route": [ROUTE | {"requires": {"hearing": True}}]}
    },
    "[router.route 1] effort: is one of low": {"router": {"route": [ROUTE | {"effort": "extreme"}]}},
    "[router.route 1.effort_map] low: a budget is a number of tokens": {
        "router": {"route": [ROUTE | {"effort_map": {"low": "budget=much"}}]}
    },
    "[router.route 1.effort_map] huge: is not a key": {
        "router": {"route": [ROUTE | {"effort_map": {"huge": "high"}}]}
    },
    "[router.route 1.breaker] x: is not a key": {"router": {"route": [ROUTE | {"breaker": {"x": 1}}]}},
    "[provider.a] base_url: is a text": {"router": {"route": [ROUTE]}, "provider": {"a": {"base_url": 1}}},
    "[provider.a.options] region: is a text, a number, a boolean or a list of texts": {
        "router": {"route": [ROUTE]},
        "provider": {"a": {"options": {"region": [1]}}},
    },
    "[provider.a] region: is not a key of this table": {
        "router": {"route": [ROUTE]},
        "provider": {"a": {"region": "eu"}},
    },
    "[provider.a.options]: is a table": {"router": {"route": [ROUTE]}, "provider": {"a": {"options": "x"}}},
    "[provider.a.headers]: is a table": {"router": {"route": [ROUTE]}, "provider": {"a": {"headers": "x"}}},
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_key_is_named_with_its_table(message):
    with pytest.raises(RouterConfigError) as caught:
        router_config(WRONG[message], known=NAMES)
    assert caught.value.message.startswith(message)


def test_a_file_is_read_or_says_where_it_is_wrong(tmp_path: Path):
    path = tmp_path / "caliban.toml"
    path.write_text(WHOLE, encoding="utf-8-sig")
    assert read_config(path) == router_config(tomllib.loads(WHOLE))
    path.write_text("[images]\nmax = 3\n")
    named: list[tuple[str, ...]] = []
    assert read_config(path, left_out=named.append) is None
    assert named == [("images",)]
    for broken in (b"[router", b"x = '\xff'"):
        path.write_bytes(broken)
        with pytest.raises(RouterConfigError, match=r"caliban\.toml: not "):
            read_config(path)
    with pytest.raises(FileFailed):
        read_config(tmp_path / "missing.toml")


def test_the_nearest_file_up_to_the_root_of_the_repository_is_found(tmp_path: Path):
    home = tmp_path / "home"
    repo, deep = home / "repo", home / "repo" / "src" / "deep"
    deep.mkdir(parents=True)
    (home / "caliban.toml").touch()
    assert find_config(deep, home) == home / "caliban.toml"
    (repo / ".git").mkdir()
    assert find_config(deep, home) is None
    (repo / "caliban.toml").touch()
    assert find_config(deep, home) == repo / "caliban.toml"
    (repo / "src" / "caliban.toml").mkdir()
    assert find_config(deep, home) == repo / "caliban.toml"
    (deep / "caliban.toml").touch()
    assert find_config(deep, home) == deep / "caliban.toml"


def test_outside_of_home_and_repository_only_the_folder_itself_counts(tmp_path: Path):
    inner = tmp_path / "shared" / "mine"
    inner.mkdir(parents=True)
    (tmp_path / "shared" / "caliban.toml").touch()
    assert find_config(inner, tmp_path / "elsewhere") is None
    (inner / "caliban.toml").touch()
    assert find_config(inner, tmp_path / "elsewhere") == inner / "caliban.toml"


def test_flags_alone_make_a_primary_and_a_fallback():
    config = direct("anthropic", "opus", fallback=("openai", "gpt"))
    assert [(r.id, r.label, r.rest_s) for r in config.routes] == [
        ("primary", "anthropic/opus", 30.0),
        ("fallback", "openai/gpt", 30.0),
    ]
    assert [route.id for route in direct("anthropic", "opus").routes] == ["primary"]
    assert config.provider_names == ("anthropic", "openai")


def test_every_purpose_has_routes():
    config = direct("anthropic", "opus")
    assert {config.routes_for(purpose) for purpose in PURPOSES} == {config.routes}


def test_overrides_change_the_model_of_a_purpose_or_of_a_route():
    config = with_overrides(
        direct("anthropic", "opus", fallback=("openai", "gpt")),
        {"fast-classifier": "haiku", "main_loop": "sonnet", "fallback": "gpt-mini"},
    )
    assert [(route.purpose, route.label) for route in config.routes_for("main_loop")] == [
        ("main_loop", "anthropic/sonnet"),
        ("main_loop", "openai/gpt-mini"),
    ]
    assert [(route.id, route.label) for route in config.routes_for("fast_classifier")] == [
        ("anthropic:haiku:fast_classifier", "anthropic/haiku"),
        ("primary:fast_classifier", "anthropic/opus"),
        ("fallback:fast_classifier", "openai/gpt"),
    ]
    assert len(config.routes_for("summarization")) == 2
    split = {"openai/mini": ("openai", "mini")}
    other = with_overrides(
        config,
        {"main_loop": "openai/mini", "sub_agent": "openai/mini"},
        lambda model, provider: split.get(model, (None, model)),
    )
    assert [route.label for route in other.routes_for("main_loop")] == ["openai/mini", "openai/gpt-mini"]
    assert [route.label for route in other.routes_for("sub_agent")] == ["openai/mini", "openai/gpt-mini"]
    with pytest.raises(RouterConfigError, match=r"\[model_overrides\] main_loop: names no model"):
        with_overrides(config, {"main_loop": " "})
    with pytest.raises(RouterConfigError, match=r"\[model_overrides\] chat: is neither a purpose nor"):
        with_overrides(config, {"chat": "x"})
