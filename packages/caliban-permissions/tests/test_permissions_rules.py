"""Rules from plain data, their expiry, and the layers they stand in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from caliban_permissions import Rule, RuleError, RuleSet, parse_rules

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def test_rules_are_read_in_the_order_written() -> None:
    data = {
        "permissions": {
            "default_mode": "default",
            "rules": [
                {"pattern": "Bash:git *", "action": "allow", "comment": "fine"},
                {"pattern": "Bash", "action": "deny", "reason": "no", "expires_at": date(2030, 1, 1)},
            ],
        }
    }
    assert parse_rules(data, source="user") == (
        Rule(pattern="Bash:git *", action="allow", comment="fine", source="user"),
        Rule(pattern="Bash", action="deny", reason="no", expires_at=date(2030, 1, 1), source="user"),
    )


def test_buckets_have_one_order_whatever_the_order_of_their_keys() -> None:
    one = parse_rules({"allow": ["Bash"], "ask": ["Bash:b *"], "deny": ["Bash:c *"]})
    other = parse_rules({"deny": ["Bash:c *"], "allow": ["Bash"], "ask": ["Bash:b *"]})
    assert one == other
    assert [rule.action for rule in one] == ["deny", "ask", "allow"]


def test_the_legacy_array_is_read() -> None:
    assert parse_rules({"rule": [{"tool": "Bash:rm *", "action": "deny"}]}) == (
        Rule(pattern="Bash:rm *", action="deny"),
    )


@pytest.mark.parametrize(
    "data",
    [
        {"rules": [{"action": "allow"}]},
        {"rules": [{"pattern": "Bash", "action": "allow"}, {"pattern": "", "action": "allow"}]},
        {"rules": [{"pattern": "Bash", "action": "permit"}]},
        {"rules": [{"pattern": "Bash", "action": "allow", "patern": "x"}]},
        {"rules": [{"pattern": 5, "action": "allow"}]},
        {"rules": ["Bash"]},
        {"rules": "Bash"},
        {"rules": {"pattern": "Bash"}},
        {"allow": "Bash"},
        {"allow": [1]},
        {"permissions": []},
        {"rules": [{"pattern": "Bash", "action": "deny", "reason": 1}]},
        {"rules": [{"pattern": "Bash", "action": "deny", "expires_at": 1}]},
        5,
    ],
)
def test_a_block_is_read_whole_or_not_at_all(data: Any) -> None:
    with pytest.raises(RuleError) as raised:
        parse_rules(data, source="project")
    assert "project" in raised.value.message


@pytest.mark.parametrize(
    ("action", "expires", "counts"),
    [
        ("allow", None, True),
        ("allow", "2026-11-27T00:00:01Z", True),
        ("allow", "2026-11-27T00:00:00Z", False),
        ("allow", "2026-11-27T01:00:00+02:00", False),
        ("allow", "2026-11-28", True),
        ("allow", date(2026, 11, 27), False),
        ("allow", datetime(2027, 1, 1), True),
        ("allow", "soon", False),
        ("deny", "soon", True),
        ("deny", date(2020, 1, 1), True),
        ("ask", date(2020, 1, 1), True),
    ],
)
def test_an_expired_allow_grants_nothing_and_an_expired_deny_holds(
    action: Any, expires: Any, counts: bool
) -> None:
    assert Rule(pattern="Bash", action=action, expires_at=expires).in_force(NOW) is counts


def test_expiry_is_judged_at_the_time_of_the_call(scene: Any) -> None:
    rule = Rule(pattern="Bash:git *", action="allow", expires_at=NOW + timedelta(hours=1))
    assert scene.verdict("git status", rule) == "allow"


def test_unreadable_patterns_are_listed_with_their_scope() -> None:
    good, bad = Rule(pattern="Bash", action="deny"), Rule(pattern="Bash:[x", action="deny")
    assert [(scope, rule.pattern) for scope, rule, _ in RuleSet(user=(good, bad)).problems()] == [
        ("user", "Bash:[x")
    ]


def test_an_unreadable_deny_rule_makes_its_tool_an_ask(scene: Any) -> None:
    allow = ("allow", "Bash:git *")
    assert scene.verdict("git status", ("deny", "Bash:{git,hg} push*"), allow) == "ask"
    assert scene.verdict("git status", ("deny", "Bash:{git,hg} push*"), allow, mode="dontAsk") == "deny"
    assert scene.explain("Read", {"path": "a"}, ("deny", "Bash:{git,hg} push*")).verdict == "allow"
    assert scene.verdict("make", ("deny", "Bash:{git,hg} push*"), mode="dontAsk") == "deny"
    assert scene.explain("Edit", {"path": "a"}, ("deny", "Edit:{a,b}"), mode="acceptEdits").verdict == "ask"


class TestLayers:
    """The order of scopes, and the floors that hold whatever comes first."""

    def test_runtime_then_cli_then_project_then_user(self, scene: Any) -> None:
        layers: dict[str, Any] = {"runtime": [("allow", "Bash:a *")], "cli": [("ask", "Bash:a *")]}
        assert scene.verdict("a x", **layers) == "allow"
        assert scene.verdict("a x", cli=[("allow", "Bash:a *")], project=[("ask", "Bash:a *")]) == "allow"
        assert scene.verdict("a x", ("allow", "Bash:a *"), project=[("ask", "Bash:a *")]) == "ask"

    def test_a_project_grants_nothing_until_it_is_trusted(self, scene: Any) -> None:
        project = [("allow", "Bash:a *")]
        assert scene.verdict("a x", project=project) == "ask"
        assert scene.verdict("a x", project=project, project_trusted=True) == "allow"

    def test_a_project_may_always_tighten(self, scene: Any) -> None:
        assert scene.verdict("a x", ("allow", "Bash:a *"), project=[("deny", "Bash:a *")]) == "deny"

    @pytest.mark.parametrize("action", ["deny", "ask"])
    def test_the_users_word_is_a_floor_under_a_trusted_project(self, scene: Any, action: str) -> None:
        project = [("allow", "Bash")]
        explained = scene.explain(
            "Bash", {"command": "a x"}, (action, "Bash:a *"), project=project, project_trusted=True
        )
        assert explained.verdict == action
        assert (explained.parts[0].scope, explained.parts[0].floor) == ("user", True)

    @pytest.mark.parametrize("scope", ["runtime", "cli", "project"])
    @pytest.mark.parametrize("action", ["deny", "ask"])
    def test_the_policy_is_a_floor_under_everything(self, scene: Any, scope: str, action: str) -> None:
        layers: dict[str, Any] = {scope: [("allow", "Bash")], "project_trusted": True}
        assert scene.verdict("a x", managed=[(action, "Bash:~a *")], **layers) == action

    def test_an_ask_of_the_policy_counts_beside_another_ask(self, scene: Any) -> None:
        for layer in ("project", "cli"):
            layers: dict[str, Any] = {layer: [("ask", "*")]}
            policy = [("ask", "*")]
            assert scene.verdict("a x", mode="dontAsk", **layers) == "allow"
            assert scene.verdict("a x", mode="dontAsk", managed=policy, **layers) == "ask"
            explained = scene.explain("mcp__a__b", {}, mode="dontAsk", managed=policy, **layers)
            assert explained.verdict == "ask"

    def test_what_may_be_meant_by_the_policy_is_not_waved_on(self, scene: Any) -> None:
        policy = [("ask", "Bash:~terraform *")]
        assert scene.verdict("x=terraform; $x apply", mode="dontAsk", managed=policy) == "deny"
        assert scene.verdict("x=terraform; $x apply", ("allow", "Bash"), managed=policy) == "ask"

    def test_the_order_of_a_layer_counts_in_the_policy_as_well(self, scene: Any) -> None:
        policy = [("allow", "Bash:git *"), ("deny", "Bash:~rm *")]
        assert scene.verdict('git commit -m "rm x"', managed=policy) == "allow"
        assert scene.verdict("git add . && rm x", managed=policy) == "deny"

    def test_within_a_layer_the_first_match_wins(self, scene: Any) -> None:
        assert scene.verdict("rm -rf build", ("allow", "Bash:*"), ("deny", "Bash:~rm *")) == "allow"
        assert scene.verdict("rm -rf build", ("deny", "Bash:~rm *"), ("allow", "Bash:*")) == "deny"
