"""What a tool says of itself binds it, and opens nothing unless somebody vouches for it (ADR 0024)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.permission import PermissionMode
from caliban_common.tool import ArgumentRole, ToolSpec
from caliban_permissions import Engine, Rule, RuleSet

PLACE = Path(tempfile.gettempdir()) / "caliban-permissions-trust" / "ws"
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


def outside(name: str = "mcp__x__peek", **facts: Any) -> ToolSpec:
    """A tool that nobody vouches for."""
    return ToolSpec(name=name, description="", input_schema={}, **facts)


def verdict(scene: Any, tool: ToolSpec, args: Mapping[str, Any], *rules: Any, **more: Any) -> str:
    action: str = scene.engine(*rules, **more).explain(tool, args).verdict
    return action


class TestWhatAClaimDoesNotOpen:
    """Kinds and roles of tools that nobody vouches for."""

    @pytest.mark.parametrize("kind", ["read", "session", "edit", "execute", "network", "other"])
    def test_no_kind_runs_without_a_rule(self, kind: str, scene: Any) -> None:
        assert verdict(scene, outside(kind=kind), {}) == "ask"
        assert scene.engine(interactive=False).decide(outside(kind=kind), {}).action == "deny"

    def test_a_vouched_tool_of_the_same_kind_does(self, scene: Any) -> None:
        for kind in ("read", "session"):
            tool = outside("Own", kind=kind)
            assert verdict(scene, tool, {}, vouched=[tool]) == "allow"

    def test_a_person_decides_in_plan_mode_on_what_claims_to_read(self, scene: Any) -> None:
        reader, allow = outside(kind="read"), ("allow", "mcp__x__peek")
        assert verdict(scene, reader, {}, allow) == "allow"
        explained = scene.engine(allow, mode="plan").explain(reader, {})
        assert (explained.verdict, explained.human_only) == (
            "ask",
            ("only mcp__x__peek itself says that it does no more than read",),
        )
        assert verdict(scene, outside(kind="session"), {}, allow, mode="plan") == "deny"

    def test_the_edit_mode_is_for_tools_whose_edits_are_known(self, scene: Any) -> None:
        editor = outside("mcp__x__patch", kind="edit", main_argument="path", roles={"path": "writes"})
        assert verdict(scene, editor, {"path": "a.py"}, mode="acceptEdits") == "ask"
        own = outside("Patch", kind="edit", main_argument="path", roles={"path": "writes"})
        assert verdict(scene, own, {"path": "a.py"}, mode="acceptEdits", vouched=[own]) == "allow"

    def test_a_sandbox_is_for_the_shell_that_is_known(self, scene: Any) -> None:
        shell = outside("mcp__x__run", kind="execute", roles={"command": "command"})
        assert verdict(scene, shell, {"command": "make"}, sandboxed=True) == "ask"

    def test_a_claimed_command_does_not_widen_a_rule(self, scene: Any) -> None:
        facts: dict[str, Any] = {"kind": "execute", "main_argument": "code"}
        allow = ("allow", "Run:git *")
        for tool in (outside("Run", **facts), outside("Run", **facts, roles={"code": "command"})):
            assert verdict(scene, tool, {"code": "git status"}, allow) == "allow"
            assert verdict(scene, tool, {"code": "git log | git hash-object --stdin"}, allow) == "ask"

    def test_leaving_plan_mode_by_a_claim_is_refused(self, scene: Any) -> None:
        tool = outside("Leave", ends_plan=True)
        assert verdict(scene, tool, {}, ("allow", "Leave"), mode="plan") == "deny"


class TestWhatAClaimBinds:
    """Deny and ask rules of the families, by every argument that a tool claims."""

    @pytest.mark.parametrize(
        ("roles", "args", "rule"),
        [
            ({"source": "reads"}, {"source": ".env"}, "Read:**/.env"),
            ({"below": "searches"}, {"below": "secret"}, "Read:secret/**"),
            ({"to": "writes"}, {"to": "secret/a"}, "Edit:secret/**"),
            ({"to": "writes"}, {"to": ["a", "secret/a"]}, "Write:secret/**"),
            ({"line": "command"}, {"line": "sudo rm x"}, "Bash:~rm *"),
            ({"page": "url"}, {"page": "https://evil.example/x"}, "WebFetch:https://evil.example/*"),
        ],
    )
    def test_a_rule_of_the_family_means_the_argument(
        self, roles: Mapping[str, ArgumentRole], args: Mapping[str, Any], rule: str, scene: Any
    ) -> None:
        tool, allow = outside(roles=roles), ("allow", "mcp__x__peek")
        assert verdict(scene, tool, args, allow) == "allow"
        assert verdict(scene, tool, args, ("deny", rule), allow) == "deny"
        assert verdict(scene, tool, args, ("ask", rule), allow) == "ask"
        assert verdict(scene, outside(), args, ("deny", rule), allow) == "allow"

    def test_protected_files_and_catastrophes_are_asked_about(self, scene: Any) -> None:
        tool = outside(roles={"to": "writes", "line": "command"})
        for args in ({"to": ".git/config", "line": "true"}, {"line": "rm -rf /"}):
            assert verdict(scene, tool, args, ("allow", "mcp__x__peek")) == "ask"

    def test_what_no_path_url_or_command_is_is_refused(self, scene: Any) -> None:
        tool = outside(roles={"to": "writes", "page": "url", "line": "command"})
        good = {"to": "a", "page": "https://a.example/", "line": "true"}
        allow = ("allow", "mcp__x__peek")
        assert verdict(scene, tool, good, allow) == "allow"
        for bad in ({"to": "file:a"}, {"page": "https://a.example\\@b.example/"}, {"line": 3}):
            assert verdict(scene, tool, {**good, **bad}, allow) == "deny"

    def test_a_vouched_shell_of_another_name_is_bound_by_rules_for_the_shell(self, scene: Any) -> None:
        shell = outside("Terminal", kind="execute", roles={"line": "command", "log": "writes"})
        rules = (("deny", "Bash:rm *"), ("deny", "Edit:secret/**"), ("allow", "Terminal:git *"))
        engine = scene.engine(*rules, ("allow", "Bash:ls *"), vouched=[shell])
        for line, log, action in (
            ("git log | git hash-object --stdin", "x.log", "allow"),
            ("git log", "secret/x.log", "deny"),
            ("git log && sudo rm x", "x.log", "deny"),
            ("make x", "x.log", "ask"),
        ):
            assert engine.explain(shell, {"line": line, "log": log}).verdict == action
        assert engine.suggest(shell, {"line": "make all"}) == ("Terminal:make all *",)


class TestNames:
    """Tools that go by the name of another."""

    @pytest.mark.parametrize("name", ["Read", "Bash", "Edit", "TodoWrite"])
    def test_a_tool_with_the_name_of_a_vouched_one_is_refused(self, name: str, scene: Any) -> None:
        impostor = outside(name, kind="read")
        for mode in ("default", "plan", "acceptEdits", "dontAsk", "bypassPermissions", "disabled"):
            engine = scene.engine(("allow", name), mode=mode)
            explained = engine.explain(impostor, {})
            assert (explained.verdict, explained.reason) == (
                "deny",
                f"{name} is the name of another tool than this one",
            )
            assert not engine.offers(impostor)

    def test_an_equal_spec_is_the_same_tool(self, scene: Any) -> None:
        assert verdict(scene, scene.spec("Read"), {"path": "a"}) == "allow"

    def test_without_anybody_to_vouch_a_familiar_name_binds_as_the_guide_has_it(self, scene: Any) -> None:
        engine = scene.engine(("deny", "Bash:~rm *"), ("deny", "Read:**/.env"), ("allow", "*"), vouched=())
        assert engine.explain(outside("Bash"), {"command": "sudo rm x"}).verdict == "deny"
        assert engine.explain(outside("Bash"), {}).verdict == "deny"
        assert engine.explain(outside("Grep"), {"path": ".env"}).verdict == "deny"
        assert engine.explain(outside("Read"), {"path": ".env"}).verdict == "deny"


ARGUMENTS = st.sampled_from(["path", "command", "url", "name"])
VALUES = st.sampled_from(
    [
        "a.py",
        ".env",
        "../x",
        ".git/config",
        "git log; rm x",
        "rm -rf /",
        "https://a.example/x",
        ["a", ".env"],
        3,
    ]
)
RULES = st.lists(
    st.builds(
        Rule,
        pattern=st.sampled_from(
            [
                "X",
                "X:*",
                "X:**/.env",
                "X:git *",
                "*",
                "Read:**/.env",
                "Edit:**",
                "Bash:~rm *",
                "WebFetch:*://*/*",
            ]
        ),
        action=st.sampled_from(["allow", "ask", "deny"]),
    ),
    max_size=4,
).map(tuple)


@settings(max_examples=examples(300))
@given(
    RULES,
    st.dictionaries(ARGUMENTS, VALUES, max_size=3),
    st.dictionaries(
        ARGUMENTS, st.sampled_from(["reads", "searches", "writes", "command", "directory", "url"]), max_size=3
    ),
    st.sampled_from(["read", "edit", "execute", "network", "session", "other"]),
    st.sampled_from(["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan", "disabled"]),
    st.sampled_from([None, "path", "command", "url", "name"]),
)
def test_no_claim_makes_a_verdict_laxer(
    rules: tuple[Rule, ...],
    args: Mapping[str, Any],
    roles: Mapping[str, ArgumentRole],
    kind: Any,
    mode: PermissionMode,
    main: str | None,
) -> None:
    engine = Engine(RuleSet(user=rules), mode=mode, workspace=PLACE, interactive=True, home=PLACE.parent)
    claiming = engine.explain(outside("X", kind=kind, main_argument=main, roles=roles), args)
    silent = engine.explain(outside("X", kind=kind, main_argument=main), args)
    assert STRICTNESS[claiming.verdict] >= STRICTNESS[silent.verdict]
