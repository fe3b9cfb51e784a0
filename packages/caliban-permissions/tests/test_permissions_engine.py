"""The engine as a face meets it: modes, faces without a person, reasons, explanations, suggestions."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.permission import Decision, RuleMatch
from caliban_permissions import RemedyWords, Rule

MODES = ("default", "acceptEdits", "auto", "dontAsk", "bypassPermissions")


class TestModes:
    """What a mode makes of an ask, and what it leaves alone."""

    @pytest.mark.parametrize("mode", [*MODES, "plan"])
    def test_a_deny_is_a_deny_in_every_mode(self, mode: str, scene: Any) -> None:
        assert (
            scene.verdict("sudo rm -rf build", ("deny", "Bash:rm *"), ("allow", "Bash"), mode=mode) == "deny"
        )
        explained = scene.explain("Read", {"path": "a/.env"}, ("deny", "Read:**/.env"), mode=mode)
        assert explained.verdict == "deny"

    @pytest.mark.parametrize("mode", MODES)
    def test_an_allow_is_an_allow_in_every_mode_but_plan(self, mode: str, scene: Any) -> None:
        assert scene.verdict("git status", ("allow", "Bash:git *"), mode=mode) == "allow"

    @pytest.mark.parametrize(
        ("mode", "verdict"),
        [
            ("default", "ask"),
            ("acceptEdits", "ask"),
            ("auto", "ask"),
            ("dontAsk", "allow"),
            ("bypassPermissions", "allow"),
        ],
    )
    def test_an_ask_depends_on_the_mode(self, mode: str, verdict: str, scene: Any) -> None:
        assert scene.verdict("make", mode=mode) == verdict
        assert scene.explain("mcp__a__b", {}, mode=mode).verdict == verdict

    @pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
    def test_accept_edits_covers_edits_in_the_workspace(self, tool: str, scene: Any) -> None:
        engine = scene.engine(mode="acceptEdits")
        assert engine.explain(scene.spec(tool), {"path": "a.py"}).verdict == "allow"
        assert engine.explain(scene.spec(tool), {"path": "../a.py"}).verdict == "ask"
        assert engine.explain(scene.spec(tool), {}).verdict == "ask"
        assert engine.explain(scene.spec("Bash"), {"command": "touch a"}).verdict == "ask"

    def test_accept_edits_acts_in_every_face(self, scene: Any) -> None:
        for interactive in (True, False):
            decision = scene.decide("Write", {"path": "a.py"}, mode="acceptEdits", interactive=interactive)
            match = RuleMatch(pattern="Write", action="ask", source="default")
            assert decision.paths is not None and list(decision.paths) == ["a.py"]
            paths = decision.paths
            assert decision == Decision(action="allow", rule="Write", match=match, by="mode", paths=paths)

    def test_a_redirect_is_not_an_edit_that_accept_edits_covers(self, scene: Any) -> None:
        assert scene.verdict("git log > a.txt", ("allow", "Bash:git *"), mode="acceptEdits") == "ask"

    @pytest.mark.parametrize("name", ["Read", "Grep", "TodoWrite", "EnterPlanMode"])
    def test_plan_mode_leaves_reading_to_the_rules(self, name: str, scene: Any) -> None:
        assert scene.explain(name, {"path": "a"}, mode="plan").verdict == "allow"
        assert scene.explain(name, {"path": "a"}, ("deny", name), mode="plan").verdict == "deny"

    @pytest.mark.parametrize("name", ["Bash", "Write", "WebFetch", "mcp__a__b", "AgentTool"])
    @pytest.mark.parametrize("interactive", [True, False])
    def test_plan_mode_denies_everything_else_and_says_how_to_leave(
        self, name: str, interactive: bool, scene: Any
    ) -> None:
        decision = scene.decide(
            name, {"command": "ls"}, ("allow", "*"), mode="plan", interactive=interactive, auto_allow=True
        )
        assert decision.action == "deny"
        assert "ExitPlanMode" in decision.reason

    @pytest.mark.parametrize(
        ("own", "interactive", "verdict"),
        [(True, False, "allow"), (True, True, "ask"), (False, False, "ask"), (False, True, "ask")],
    )
    def test_plan_mode_of_the_models_own_is_left_where_nobody_can_be_asked(
        self, own: bool, interactive: bool, verdict: str, scene: Any
    ) -> None:
        engine = scene.engine(interactive=interactive).in_mode("plan", own=own)
        leave, write = scene.spec("ExitPlanMode"), scene.spec("Write")
        assert engine.explain(leave, {"plan": "x"}).verdict == verdict
        assert engine.decide(write, {"path": "a"}).action == "deny"
        denied = scene.engine(("deny", "ExitPlanMode"), interactive=interactive).in_mode("plan", own=own)
        assert denied.decide(leave, {"plan": "x"}).action == "deny"
        back = engine.in_mode("acceptEdits")
        assert (back.mode, back.decide(write, {"path": "a"}).action) == ("acceptEdits", "allow")

    def test_without_a_person_a_plan_is_for_the_next_run(self, scene: Any) -> None:
        reason = scene.decide("ExitPlanMode", {"plan": "x"}, mode="plan", interactive=False).reason
        assert reason.endswith("once it is approved, it is carried out with another mode than plan.")

    def test_no_rule_lets_the_model_leave_plan_mode(self, scene: Any) -> None:
        explained = scene.explain("ExitPlanMode", {"plan": "x"}, ("allow", "ExitPlanMode"), mode="plan")
        assert (explained.verdict, explained.human_only) == (
            "ask",
            ("leaving plan mode needs the user's approval of the plan",),
        )

    def test_bypass_keeps_a_last_question_and_the_policy(self, scene: Any) -> None:
        bypass = {"mode": "bypassPermissions"}
        assert scene.verdict("rm -rf /", **bypass) == "ask"
        assert scene.verdict("sudo rm -rf ~", **bypass) == "ask"
        assert scene.verdict("rm -rf build", **bypass) == "allow"
        assert scene.verdict("x=rm; $x -rf /", **bypass) == "allow"
        assert scene.verdict("deploy", **bypass, managed=[("ask", "Bash:deploy*")]) == "ask"
        assert scene.verdict("deploy", ("ask", "Bash:deploy*"), **bypass) == "allow"

    def test_disabled_leaves_the_policy_only(self, scene: Any) -> None:
        off = {"mode": "disabled"}
        assert scene.verdict("rm -rf build", ("deny", "Bash:rm *"), **off) == "allow"
        assert scene.explain("Write", {"path": ".git/config"}, **off).verdict == "allow"
        assert scene.verdict("rm -rf build", **off, managed=[("deny", "Bash:rm *")]) == "deny"
        assert scene.verdict("rm -rf build", **off, managed=[("ask", "Bash:rm *")]) == "ask"
        assert scene.decide("Bash", {"command": "a\x00"}, **off).action == "deny"

    def test_the_sandbox_answers_for_commands_that_nobody_ruled_on(self, scene: Any) -> None:
        inside = {"sandboxed": True}
        assert scene.verdict("for f in *; do cat $f; done > out", **inside) == "allow"
        assert scene.verdict("x=rm; $x", ("deny", "Bash:rm *"), **inside) == "ask"
        assert scene.verdict("git push", ("ask", "Bash:git push*"), **inside) == "ask"
        assert scene.verdict("touch .git/hooks/x", **inside) == "ask"
        assert scene.explain("Write", {"path": "a"}, **inside).verdict == "ask"


class TestWithoutAPerson:
    """A face where nobody can be asked."""

    @pytest.mark.parametrize(
        ("tool", "args", "wanted"),
        [
            ("Write", {"path": "a.py"}, ("acceptEdits", "--allow 'Write:")),
            ("Bash", {"command": "git push"}, ("--allow 'Bash:git push'", "--auto-allow", "dangerous")),
            ("Bash", {"command": 'make "$X"'}, ("$X", "--auto-allow")),
            ("mcp__a__b", {}, ("--allow 'mcp__a__b'", "--auto-allow")),
            ("WebFetch", {"url": "https://a.example/x"}, ("--allow 'WebFetch:https://a.example/x'",)),
            ("Bash", {"command": "rm -rf /"}, ("only a person can approve it",)),
        ],
    )
    def test_an_ask_is_a_deny_that_names_a_remedy(
        self, tool: str, args: dict[str, Any], wanted: tuple[str, ...], scene: Any
    ) -> None:
        decision = scene.decide(tool, args, interactive=False)
        assert decision.action == "deny"
        for text in wanted:
            assert text in decision.reason

    def test_without_words_of_a_face_a_remedy_is_in_those_of_the_engine(self, scene: Any) -> None:
        words = RemedyWords()
        push = scene.decide("Bash", {"command": "git push && make"}, interactive=False, words=words)
        write = scene.decide("Write", {"path": "a.py"}, interactive=False, words=words)
        assert push.reason.partition("here. ")[2] == (
            "To allow it, run with the allow rule 'Bash:git push && make', "
            "or with `auto_allow` (dangerous: every ask becomes an allow)."
        )
        assert write.reason.endswith("or all edits in the workspace with the mode acceptEdits.")

    def test_an_ask_never_comes_out(self, scene: Any) -> None:
        for mode in (*MODES, "plan", "disabled"):
            for command in ("ls", "rm -rf /", "$x", ""):
                decision = scene.decide(
                    "Bash",
                    {"command": command},
                    ("ask", "Bash:ls"),
                    mode=mode,
                    interactive=False,
                    managed=[("ask", "Bash:l*")],
                )
                assert decision.action != "ask"

    def test_auto_allow_allows_but_for_what_needs_a_person(self, scene: Any) -> None:
        auto = {"interactive": False, "auto_allow": True}
        assert scene.decide("Bash", {"command": "make"}, **auto).action == "allow"
        assert scene.decide("Bash", {"command": "x=r; $x"}, ("deny", "Bash:~rm *"), **auto).action == "deny"
        assert scene.decide("Write", {"path": ".git/config"}, **auto).action == "deny"
        assert scene.decide("Bash", {"command": "rm -rf /"}, **auto).action == "deny"


class TestReasons:
    """What the model and the person are told."""

    def test_the_rule_and_its_reason_are_named(self, scene: Any) -> None:
        rule = {"pattern": "Bash:~rm *", "action": "deny", "reason": "use git revert"}
        decision = scene.decide("Bash", {"command": "ls; sudo rm -rf x"}, rule)
        assert decision == Decision(
            action="deny",
            reason="running `sudo rm -rf x` is denied by the rule Bash:~rm * (user): use git revert",
            rule="Bash:~rm *",
            match=RuleMatch(pattern="Bash:~rm *", action="deny", source="user"),
            by="rule",
        )

    def test_the_construct_that_kept_a_rule_from_covering_is_named(self, scene: Any) -> None:
        reason = scene.explain("Bash", {"command": 'curl -H "X: $T" u'}, ("allow", "Bash(curl *)")).reason
        assert "Bash(curl *)" in reason
        assert "$T" in reason

    def test_the_option_that_delegates_is_named(self, scene: Any) -> None:
        reason = scene.explain("Bash", {"command": "find . -exec a \\;"}, ("allow", "Bash:find *")).reason
        assert "-exec runs a program" in reason

    def test_the_leaf_that_nobody_allowed_is_named(self, scene: Any) -> None:
        reason = scene.explain("Bash", {"command": "git log | touch x"}, ("allow", "Bash:git *")).reason
        assert reason == "running `touch x` is covered by no allow rule"

    def test_the_file_behind_a_link_is_named(self, scene: Any) -> None:
        scene.link("{ws}/readme.md", "{home}/x")
        reason = scene.explain("Edit", {"path": "readme.md"}).reason
        assert scene.fill("{home}/x is outside the workspace") in reason

    def test_an_allow_names_its_rule(self, scene: Any) -> None:
        decision = scene.decide("Bash", {"command": "git status"}, ("allow", "Bash:git *"))
        match = RuleMatch(pattern="Bash:git *", action="allow", source="user")
        assert decision == Decision(action="allow", rule="Bash:git *", match=match, by="rule")

    @pytest.mark.parametrize(
        "args",
        [
            {},
            {"command": 5},
            {"command": None},
            {"command": "ls", "cwd": 5},
            {"command": "ls", "cwd": "a\x00"},
            {"command": "ls", "cwd": "\ud800"},
        ],
    )
    def test_a_call_without_a_command_is_refused(self, args: dict[str, Any], scene: Any) -> None:
        assert scene.decide("Bash", args, ("allow", "Bash")).action == "deny"

    @pytest.mark.parametrize(
        ("tool", "args"),
        [
            ("Bash", {"command": "git log \x00"}),
            ("Bash", {"command": "git log \ud800"}),
            ("Bash", {"command": "git " + "x" * 131_072}),
            ("Bash", {"command": "git " + "\u00e9" * 70_000}),
            ("Read", {"path": "a\x00"}),
            ("Write", {"path": "a", "content": "\ud800"}),
            ("mcp__a__b", {"x": ["\udfff"]}),
        ],
    )
    def test_what_no_program_can_be_given_is_refused(
        self, tool: str, args: dict[str, Any], scene: Any
    ) -> None:
        decision = scene.decide(tool, args, ("allow", "*"), mode="bypassPermissions")
        assert decision.action == "deny"
        assert "refused" in decision.reason or "not a path" in decision.reason

    def test_a_deeply_nested_input_is_refused_without_a_traceback(self, scene: Any) -> None:
        deep: Any = "x"
        for _ in range(100_000):
            deep = [deep]
        assert scene.decide("mcp__a__b", {"x": deep}, ("allow", "*")).action == "deny"
        while isinstance(deep, list):
            deep = deep[0]


class TestCommands:
    """Where a command runs, what it writes, and rules that span commands."""

    def test_a_working_directory_outside_is_not_covered(self, scene: Any) -> None:
        (scene.workspace / "sub").mkdir()
        git = ("allow", "Bash:git *")
        for cwd, verdict in (("sub", "allow"), (str(scene.home), "ask"), ("..", "ask"), ("/", "ask")):
            assert scene.explain("Bash", {"command": "git status", "cwd": cwd}, git).verdict == verdict

    def test_the_directory_of_the_engine_is_where_commands_run(self, scene: Any) -> None:
        scene.add("sub/")
        deny = ("deny", "Write:{ws}/sub/x")
        assert scene.verdict("a > x", deny, ("allow", "Bash"), cwd=scene.workspace / "sub") == "deny"
        assert scene.verdict("a > x", deny, ("allow", "Bash")) == "allow"

    @pytest.mark.parametrize(
        ("command", "verdict"),
        [
            ("cd sub && git status", "allow"),
            ("cd .. && git status", "ask"),
            ("cd /tmp; git status", "ask"),
            ("cd sub; git log > x", "ask"),
            ("cd - && git status", "ask"),
            ("cd && git log > x", "ask"),
            ("cd /tmp", "allow"),
        ],
    )
    def test_cd_moves_what_follows(self, command: str, verdict: str, scene: Any) -> None:
        scene.add("sub/")
        assert scene.verdict(command, ("allow", "Bash:git *"), ("allow", "Bash(cd:*)")) == verdict

    def test_cd_moves_a_redirect(self, scene: Any) -> None:
        scene.add(".caliban/")
        rules = (("allow", "Bash(cd:*)"), ("allow", "Bash:echo *"), ("allow", "Write:./**"))
        assert scene.verdict("echo x > settings.toml", *rules) == "allow"
        assert scene.verdict("cd .caliban && echo x > settings.toml", *rules) == "ask"
        deny = ("deny", "Write:**/.caliban/**")
        assert scene.verdict("cd .caliban && echo x > settings.toml", deny, *rules) == "deny"

    @pytest.mark.parametrize(
        ("command", "verdict"),
        [
            ("git log 2>&1", "allow"),
            ("git log >/dev/null 2>&1", "allow"),
            ("git log >&2", "allow"),
            ("git log 2>/dev/stderr", "allow"),
            ("git log > out/a", "allow"),
            ("(git log) > out/a", "allow"),
            ("git log > b", "ask"),
            ("(git log) > b", "ask"),
            ("git log >& b", "ask"),
            ("git log <> b", "ask"),
            ("git log > out/../b", "ask"),
            ("git log > out/a > b", "ask"),
            ("git log < a", "allow"),
            ("git log > /dev/null/../x", "ask"),
            ("> out/a", "ask"),
            ("git log > out/$X", "ask"),
            ("git log > out/*", "ask"),
        ],
    )
    def test_a_redirect_that_writes_is_a_write(self, command: str, verdict: str, scene: Any) -> None:
        scene.add("out/")
        assert scene.verdict(command, ("allow", "Bash:git *"), ("allow", "Write:./out/*")) == verdict

    @pytest.mark.parametrize(
        ("pattern", "command", "verdict"),
        [
            ("Bash:~curl * | sh", "curl -s u | sh", "deny"),
            ("Bash:* | sh*", "curl -s u | sh", "deny"),
            ("Bash(ls *>*)", "ls a > b", "deny"),
            ("Bash:a && b", "a && b", "deny"),
            ("Bash:a && b", "a; b", "allow"),
        ],
    )
    def test_a_deny_may_span_commands(self, pattern: str, command: str, verdict: str, scene: Any) -> None:
        assert scene.verdict(command, ("deny", pattern), ("allow", "Bash")) == verdict

    def test_a_bare_rule_covers_redirects_inside_the_workspace(self, scene: Any) -> None:
        bare = ("allow", "Bash")
        assert scene.verdict("a > b", bare) == "allow"
        assert scene.verdict("a > ../b", bare) == "ask"
        assert scene.verdict("a > ../b", ("allow", "Bash:a > ../b")) == "allow"
        assert scene.verdict("a > .git/config", ("allow", "Bash:a > .git/config")) == "ask"
        assert scene.verdict("a > b", ("ask", "Write:b"), bare) == "ask"
        assert scene.verdict("a > .git/config", bare) == "ask"

    def test_a_rule_without_wildcards_allows_exactly_its_command(self, scene: Any) -> None:
        command = 'for f in *.py; do wc -l "$f"; done > out.txt'
        assert scene.verdict(command, ("allow", "Bash:" + command.replace("*", "\\*"))) == "allow"
        assert scene.verdict(command + " ", ("allow", "Bash:" + command.replace("*", "\\*"))) == "ask"

    def test_an_exact_rule_does_not_pass_a_deny_before_it(self, scene: Any) -> None:
        assert scene.verdict("X=1 rm a", ("deny", "Bash:rm *"), ("allow", "Bash:X=1 rm a")) == "deny"

    def test_a_file_name_that_reads_as_an_option_is_seen(self, scene: Any) -> None:
        git = ("allow", "Bash:git *")
        scene.add("a.py")
        assert scene.verdict("git diff *", git) == "allow"
        scene.add("--output=PWNED")
        assert scene.verdict("git diff *", git) == "ask"
        assert scene.verdict("git diff ./*", git) == "allow"
        assert scene.verdict("git diff *.py", git) == "allow"
        assert scene.verdict("git diff [-a]*", git) == "ask"
        assert scene.verdict("git diff '*'", git) == "allow"

    def test_wildcards_are_judged_by_what_they_become(self, scene: Any) -> None:
        uniq = ("allow", "Bash:uniq *")
        scene.add("a")
        assert scene.verdict("uniq *", uniq) == "allow"
        scene.add("b")
        assert scene.verdict("uniq *", uniq) == "ask"

    @pytest.mark.parametrize(
        "command",
        [
            "rm -rf /",
            "rm -rf /*",
            "rm -fr ~",
            "rm -rf $HOME",
            'rm -rf "${HOME}/"',
            "sudo rm -r --no-preserve-root /",
            "rm -rf .",
            "rm -rf ..",
            "rm -rf *",
            'rm -rf "$X"/*',
            "bash -c 'rm -rf /'",
            "find / -delete",
            "find . -delete",
            "chmod -R 777 /",
            "dd if=x of=/dev/sda",
            "mkfs.ext4 /dev/sdb",
            "echo x > /dev/sda",
            "rm -rf /usr/../etc",
            "chown -R x {home}",
        ],
    )
    def test_destruction_keeps_a_last_question(self, command: str, scene: Any) -> None:
        text = scene.fill(command) if "{home}" in command else command
        for mode in ("default", "bypassPermissions"):
            assert scene.verdict(text, ("allow", "Bash"), mode=mode) == "ask"
            assert (
                scene.decide(
                    "Bash", {"command": text}, ("allow", "Bash"), mode=mode, interactive=False
                ).action
                == "deny"
            )

    @pytest.mark.parametrize(
        "command",
        [
            "rm -rf build",
            "rm -rf ./build/*",
            "rm a",
            "find . -name '*.pyc' -delete",
            "chmod -R u+w build",
            'rm -rf "$X"',
            "rm /tmp/x",
        ],
    )
    def test_an_ordinary_delete_does_not(self, command: str, scene: Any) -> None:
        assert scene.verdict(command, ("allow", "Bash")) == "allow"

    @pytest.mark.parametrize(
        "command",
        [
            "cp a app/.env",
            "mv a app/.env",
            "mv app/.env a",
            "tee app/.env",
            "sed -i s/a/b/ app/.env",
            "perl -pi -e x app/.env",
            "sort -o app/.env a",
            "curl -o app/.env u",
            "git checkout app/.env",
            "echo a > app/.env",
            "truncate -s0 app/.env",
            "cp -t app x/.env",
            "sudo tee app/.env" and "tee -a app/.env",
            "ln -sf x app/.env",
            "uniq a app/.env",
        ],
    )
    def test_a_deny_of_a_file_binds_what_commands_write(self, command: str, scene: Any) -> None:
        for tool in ("Write", "Edit"):
            assert scene.verdict(command, ("deny", f"{tool}:**/.env"), ("allow", "Bash")) == "deny"

    def test_a_deny_to_write_a_file_leaves_reading_it(self, scene: Any) -> None:
        assert scene.verdict("cat app/.env", ("deny", "Write:**/.env"), ("allow", "Bash")) == "allow"

    def test_a_file_that_reads_as_an_option_is_not_made_in_passing(self, scene: Any) -> None:
        rules = (("allow", "Bash:git *"), ("allow", "Bash:touch *"), ("allow", "Write:./**"))
        assert scene.verdict("git log > --output=x; git diff *", *rules) == "ask"
        assert scene.verdict("touch -- --output=x; git diff *", *rules) == "ask"

    def test_global_options_do_not_hide_a_sub_command(self, scene: Any) -> None:
        for command in (
            "git -C . push",
            "git --no-pager push",
            "git -c a=b push -f",
            "git --git-dir=.git push",
        ):
            assert scene.verdict(command, ("deny", "Bash:git push*"), ("allow", "Bash")) == "deny"

    def test_a_policy_for_the_tool_covers_every_tool_of_a_server(self, scene: Any) -> None:
        engine = scene.engine(("deny", "mcp__a"), ("allow", "mcp__a__b"))
        assert engine.explain(scene.spec("mcp__a__b"), {}).verdict == "deny"
        assert not engine.offers(scene.spec("mcp__a__b"))
        assert engine.offers(scene.spec("mcp__b__a"))
        assert scene.engine(("deny", "Bash:rm *")).offers(scene.spec("Bash"))
        assert not scene.engine(("allow", "Bash"), managed=[("deny", "Bash")]).offers(scene.spec("Bash"))
        assert scene.engine(("allow", "Bash:git *"), ("deny", "Bash")).offers(scene.spec("Bash"))

    def test_another_shell_is_covered_by_plain_text_only(self, scene: Any) -> None:
        tool = scene.spec("Bash").__class__(
            name="Nushell", description="", input_schema={}, kind="execute", main_argument="command"
        )
        engine = scene.engine(("allow", "Nushell:git *"))
        assert engine.explain(tool, {"command": "git status"}).verdict == "allow"
        assert engine.explain(tool, {"command": "git status; rm x"}).verdict == "ask"
        assert engine.explain(tool, {"command": "git $(rm x)"}).verdict == "ask"


class TestExplanations:
    """Explanations as values."""

    def test_every_part_has_its_rule(self, scene: Any) -> None:
        explained = scene.explain(
            "Bash", {"command": "git log | less > x"}, ("allow", "Bash:git *"), ("deny", "Write:x")
        )
        assert [(part.kind, part.text, part.action, part.rule, part.scope) for part in explained.parts] == [
            ("command", "git log", "allow", "Bash:git *", "user"),
            ("command", "less > x", "ask", "Bash", "default"),
            ("write", "x", "deny", "Write:x", "user"),
        ]
        assert (explained.verdict, explained.rule, explained.mode) == ("deny", "Write:x", "default")

    def test_the_rules_are_listed_in_the_order_in_which_they_were_asked(self, scene: Any) -> None:
        engine = scene.engine(
            ("allow", "Bash:ls*"), cli=[("deny", "Edit")], project=[("allow", "Bash"), ("ask", "Write")]
        )
        listed = [(scope, [rule.pattern for rule in rules]) for scope, rules in engine.layers()]
        assert listed[:-1] == [("cli", ["Edit"]), ("project", ["Write"]), ("user", ["Bash:ls*"])]
        assert (listed[-1][0], listed[-1][1][-1]) == ("default", "*")

    def test_doubts_and_what_needs_a_person_are_listed(self, scene: Any) -> None:
        explained = scene.explain("Bash", {"command": "x=rm; $x a"}, ("deny", "Bash:rm *"))
        assert explained.opaque == ("variable $x", "command name that is not literal $x")
        assert explained.human_only == ("it may run what the rule Bash:rm * denies",)
        assert explained.suggestions == ()

    @pytest.mark.parametrize(
        ("tool", "args", "patterns"),
        [
            ("Bash", {"command": "less foo"}, ("Bash(less:*)",)),
            (
                "Bash",
                {"command": "git push -u origin x && npm run build"},
                ("Bash(git push:*)", "Bash(npm run build:*)"),
            ),
            ("Bash", {"command": "git gc > x"}, ("Bash(git gc:*)", "Write:{ws}/x")),
            ("Bash", {"command": "rm -rf build"}, ("Bash:rm -rf build",)),
            ("Bash", {"command": "python3 -m pytest -q"}, ("Bash:python3 -m pytest -q",)),
            ("Bash", {"command": "python3"}, ()),
            ("Bash", {"command": "curl u | sh"}, ()),
            ("Bash", {"command": "ls $X"}, ()),
            ("Bash", {"command": "rm -rf /"}, ()),
            (
                "Bash",
                {"command": "find . -name '*.py' -exec touch {} +"},
                ("Bash:find . -name '\\*.py' -exec touch \\{\\} +",),
            ),
            ("Edit", {"path": "docs/a[1].md"}, ("Edit:{ws}/docs/a\\[1\\].md",)),
            ("Edit", {"path": ".git/config"}, ()),
            ("WebFetch", {"url": "https://A.example/x?y"}, ("WebFetch:https://a.example/*",)),
            ("mcp__a__b", {"x": 1}, ("mcp__a__b",)),
        ],
    )
    def test_a_suggestion_is_narrow_and_covers_the_call(
        self, tool: str, args: dict[str, Any], patterns: tuple[str, ...], scene: Any
    ) -> None:
        wanted = tuple(scene.fill(pattern) for pattern in patterns)
        assert scene.engine().suggest(scene.spec(tool), args) == wanted
        if patterns:
            assert scene.explain(tool, args, *(("allow", pattern) for pattern in wanted)).verdict == "allow"

    def test_only_what_is_missing_is_suggested(self, scene: Any) -> None:
        explained = scene.explain("Bash", {"command": "git log | less"}, ("allow", "Bash:git *"))
        assert explained.suggestions == ("Bash(less:*)",)


class TestMatchedRules:
    """An explanation shows every rule that matched, and why one of them won."""

    def test_an_allow_that_a_deny_overrules_is_shown(self, scene: Any) -> None:
        explained = scene.explain(
            "Bash",
            {"command": "git push"},
            ("deny", "Bash:git push*"),
            cli=[("allow", "Bash:git *")],
            project=[("deny", "Bash:git push *")],
        )
        assert [
            (rule.pattern, rule.action, rule.scope, rule.decided, rule.why)
            for rule in explained.parts[0].matched
        ] == [
            ("Bash:git *", "allow", "cli", True, "it is the first that matches"),
            ("Bash:git push *", "deny", "project", False, "allow Bash:git * (cli) comes first"),
            ("Bash:git push*", "deny", "user", False, "allow Bash:git * (cli) comes first"),
        ]

    def test_a_floor_says_that_it_is_one(self, scene: Any) -> None:
        explained = scene.explain(
            "Read", {"path": "a"}, cli=[("allow", "Read:a")], managed=[("deny", "Read:a")]
        )
        assert [(rule.action, rule.decided, rule.why) for rule in explained.parts[0].matched] == [
            ("allow", False, "deny Read:a (managed) holds against it"),
            (
                "deny",
                True,
                "a rule of the managed settings that forbids or asks holds whatever stands before it",
            ),
        ]

    def test_a_rule_that_has_expired_is_shown_as_such(self, scene: Any) -> None:
        old = Rule(pattern="Bash:git *", action="allow", expires_at="2020-01-01")
        explained = scene.explain("Bash", {"command": "git push"}, old)
        assert [(rule.decided, rule.why) for rule in explained.parts[0].matched] == [
            (False, "it has expired"),
            (True, "it is the first that matches"),
        ]

    def test_a_part_that_only_reads_shows_the_ask_that_it_did_without(self, scene: Any) -> None:
        explained = scene.explain("Bash", {"command": "ls"})
        assert (explained.parts[0].matched, explained.parts[0].notes) == (
            (),
            ("it only reads inside the workspace",),
        )
