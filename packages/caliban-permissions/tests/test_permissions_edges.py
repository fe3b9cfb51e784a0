"""Bounds and rare forms: beyond a bound the answer is the strict one."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from caliban_permissions.commands.wildcards import Directories, expand
from caliban_permissions.shell import parse_line
from caliban_permissions.side_effects import side_effects


def argv(command: str) -> tuple[str, ...]:
    return tuple(shlex.split(command))


class TestBounds:
    """Nothing is skipped: what is too much to look at is not allowed."""

    def test_more_commands_than_are_looked_at(self, scene: Any) -> None:
        many = "git status; " * 300
        assert scene.verdict(many + "git status", ("allow", "Bash:git *")) == "ask"
        assert scene.verdict(many + "rm x", ("deny", "Bash:rm *"), ("allow", "Bash")) == "deny"
        assert scene.verdict(many + "rm x", ("deny", "Bash:~rm *"), ("allow", "Bash:git *")) == "deny"

    @pytest.mark.parametrize("program", ["cat", "head -n 1"])
    def test_more_files_than_are_looked_at_may_be_any_file(self, program: str, scene: Any) -> None:
        many = " ".join(f"f{number}" for number in range(100))
        deny, allow = ("deny", "Read:**/.env"), ("allow", "Bash")
        assert scene.verdict(f"{program} {many}", deny, allow) == "deny"
        assert scene.verdict(f"{program} f1 f2", deny, allow) == "allow"

    def test_more_written_files_than_are_looked_at_are_not_covered(self, scene: Any) -> None:
        many = " ".join(f"f{number}" for number in range(100))
        assert scene.verdict(f"touch {many}", ("allow", "Bash:touch *")) == "ask"
        assert scene.verdict(f"touch {many}", ("deny", "Write:**/.env"), ("allow", "Bash")) == "deny"
        redirects = " ".join(f">f{number}" for number in range(100))
        assert (
            scene.verdict(f"git log {redirects}", ("allow", "Bash:git *"), ("allow", "Write:./**")) == "ask"
        )

    def test_a_directory_too_large_to_look_through(self, scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        scene.add("a.py", "b.py", "c.py")
        directories = Directories()
        directories._left = 2
        assert expand("*.py", str(scene.workspace), directories) is None
        assert expand("x", str(scene.workspace), Directories()) == ("x",)

    def test_more_directories_than_are_listed(self, scene: Any) -> None:
        scene.add(*(f"d{number}/x" for number in range(80)))
        assert expand("d*/x*", str(scene.workspace), Directories()) is None
        assert scene.verdict("git add d*/*", ("allow", "Bash:git *")) == "ask"
        deny = ("deny", "Read:**/.env")
        assert scene.verdict("cat d*/*", deny, ("allow", "Bash")) == "deny"

    @pytest.mark.parametrize("pattern", ["[[:alpha:]]*", "[\\]]*", "[z-a]*"])
    def test_a_bracket_that_shells_read_differently_is_not_looked_up(self, pattern: str, scene: Any) -> None:
        scene.add("a")
        assert expand(pattern, str(scene.workspace), Directories()) is None

    @pytest.mark.parametrize(
        ("pattern", "names"),
        [
            ("*", ("a b", "b.txt", "sub")),
            (".*", (".hidden",)),
            ("*.txt", ("b.txt",)),
            ("?.txt", ("b.txt",)),
            ("[!a]*", ("b.txt", "sub")),
            ("[^a]*", ("b.txt", "sub")),
            ("sub/*", ("sub/c",)),
            ("./s*/c", ("./sub/c",)),
            ("*/nothing", ("*/nothing",)),
            ("\\**", ("**",)),
            ("[ab", ("[ab",)),
        ],
    )
    def test_wildcards_are_what_bash_makes_of_them(
        self, pattern: str, names: tuple[str, ...], scene: Any
    ) -> None:
        scene.add("a b", "b.txt", ".hidden", "sub/c")
        assert expand(pattern, str(scene.workspace), Directories()) == names

    def test_an_absolute_pattern_is_looked_up_from_the_root(self, scene: Any) -> None:
        scene.add("b.txt")
        assert expand(f"{scene.workspace}/*.txt", "/", Directories()) == (f"{scene.workspace}/b.txt",)

    def test_scripts_in_scripts_are_followed_to_a_bound(self, scene: Any) -> None:
        command = "rm x"
        for _ in range(3):
            command = "bash -c " + shlex.quote(command)
        assert scene.verdict(command, ("deny", "Bash:rm *"), ("allow", "Bash")) == "deny"
        deep = "echo $(" * 12 + "rm x" + ")" * 12
        assert scene.verdict(deep, ("deny", "Bash:rm *"), mode="dontAsk") == "deny"

    def test_more_words_after_a_wrapper_than_are_tried_may_be_anything(self, scene: Any) -> None:
        words = " ".join(f"w{number}" for number in range(100))
        assert scene.verdict(f"sudo {words} rm x", ("deny", "Bash:rm *"), mode="dontAsk") == "deny"


class TestRareForms:
    """Arguments in their less usual spelling."""

    @pytest.mark.parametrize(
        "command",
        [
            "awk -f x",
            "awk --file=x",
            "awk -i inplace '{print}' a",
            "awk -F: -f x",
            "awk -v a=b -o x '{print}'",
            "gawk -l filefuncs '{print}'",
            "sed -f x a",
            "sed -fx a",
            "sed --file=x a",
            "sed --fil x",
            "sed -ne p -i a",
            "sed --in-place=.bak s/a/b/ x",
            "sed --in s/a/b/ x",
            "sed -e p -e 'w x' a",
            "sed -s -n -l 5 'w x' a",
            "sed --expression='w x' a",
            "sed --expression 'w x' a",
            "sed -e",
            "sed -ew\\ x a",
            "sed -Q p a",
            "sed -- 'w x' a",
            "git config core.pager x",
            "git config --unset a",
            "git config --add a b",
            "git config set a b",
            "git -C",
            "command rm",
            "python3 -mx",
            "python3 -Wx a.py",
            "perl -Mx -e x",
            "node -r x a.js",
            "bash +x a.sh",
        ],
    )
    def test_more_than_an_everyday_use_is_seen(self, command: str) -> None:
        assert side_effects(argv(command))

    @pytest.mark.parametrize(
        "command",
        [
            "awk -F: '{print $1}' a",
            "awk -v a=b '{print a}'",
            "awk --field-separator=: '{print}'",
            "awk -- '{print}' a",
            "awk",
            "sed",
            "sed -n -E 1p a",
            "sed --quiet 1p a",
            "sed --expression=p a",
            "sed -l5 p a",
            "sed -l 5 p a",
            "sed -- p a",
            "git config --get a",
            "git config a",
            "git config -l",
            "git config get a",
            "git",
            "git --version",
            "git -P log",
        ],
    )
    def test_an_everyday_use_is_free(self, command: str) -> None:
        assert side_effects(argv(command)) == ()

    @pytest.mark.parametrize(
        ("pattern", "args", "verdict"),
        [
            ("x:a=1*", {"a": "1x"}, "deny"),
            ("x:a=1*", {"a": ["2", "1x"]}, "deny"),
            ("x:a.b=1", {"a": {"b": 1}}, "deny"),
            ("x:a.b=1", {"a.b": "1"}, "deny"),
            ("x:a=true", {"a": True}, "deny"),
            ("x:a=evil*", {"a": "EVIL x"}, "deny"),
            ("x:a=1*", {"a": "2"}, "ask"),
            ("x:a=1", {}, "ask"),
            ("x:a=1", {"a": None}, "ask"),
            ("x:a=1,b=2", {"a": "1"}, "ask"),
            ("x:glob", {"a": "glob"}, "ask"),
            ("x:~glob", {"a": "glob"}, "ask"),
        ],
    )
    def test_a_deny_of_fields_is_wide(
        self, pattern: str, args: dict[str, Any], verdict: str, scene: Any
    ) -> None:
        assert scene.explain("x", args, ("deny", pattern)).verdict == verdict

    @pytest.mark.parametrize(
        ("pattern", "args", "verdict"),
        [
            ("x:a=1*", {"a": "1x"}, "allow"),
            ("x:a=true", {"a": True}, "allow"),
            ("x:a=5", {"a": 5}, "allow"),
            ("x:a=1*", {"a": ["1x"]}, "ask"),
            ("x:a=1*", {"a": "1/../2"}, "ask"),
            ("x:a=1*", {"a": "1%2f..%2F2"}, "ask"),
            ("x:a=a/../b", {"a": "a/../b"}, "allow"),
            ("x:a.b=1", {"a": {"b": "1"}}, "allow"),
            ("x:a.b=1", {"a": "1"}, "ask"),
        ],
    )
    def test_an_allow_of_fields_is_narrow(
        self, pattern: str, args: dict[str, Any], verdict: str, scene: Any
    ) -> None:
        assert scene.explain("x", args, ("allow", pattern)).verdict == verdict

    def test_fields_of_a_shell_call(self, scene: Any) -> None:
        assert scene.verdict("git status", ("allow", "Bash:command=git *")) == "allow"
        assert scene.verdict("git status; x", ("allow", "Bash:command=git *")) == "ask"
        assert scene.verdict("git push", ("allow", "Bash:cwd=sub")) == "ask"
        assert scene.verdict("sudo git push", ("deny", "Bash:command=git push*"), ("allow", "Bash")) == "deny"

    def test_other_tools_with_a_text_argument(self, scene: Any) -> None:
        tool = scene.spec("x").__class__(name="Skill", description="", input_schema={}, main_argument="skill")
        engine = scene.engine(("deny", "Skill:evil *"), ("allow", "Skill:a*"))
        for args, verdict in (
            ({"skill": "ab"}, "allow"),
            ({"skill": "evil  x"}, "deny"),
            ({"skill": "b"}, "ask"),
            ({}, "ask"),
        ):
            assert engine.explain(tool, args).verdict == verdict

    def test_elicitation_is_a_tool_like_others(self, scene: Any) -> None:
        tool = scene.spec("x").__class__(
            name="Elicit", description="", input_schema={}, main_argument="server"
        )
        engine = scene.engine(("deny", "Elicit(evil)"), ("allow", "Elicit(good)"))
        assert [engine.explain(tool, {"server": name}).verdict for name in ("good", "evil", "x")] == [
            "allow",
            "deny",
            "ask",
        ]

    def test_a_rule_with_the_path_of_a_program_denies_its_name(self, scene: Any) -> None:
        assert scene.verdict("rm x", ("deny", "Bash:/bin/rm *"), ("allow", "Bash")) == "deny"

    def test_an_edit_tool_without_a_path_is_asked_about(self, scene: Any) -> None:
        tool = scene.spec("x").__class__(
            name="WriteMemoryTopic", description="", input_schema={}, kind="edit", main_argument="name"
        )
        for mode, verdict in (("acceptEdits", "ask"), ("dontAsk", "allow"), ("default", "ask")):
            assert scene.engine(mode=mode).explain(tool, {"name": "x"}).verdict == verdict

    @pytest.mark.parametrize(
        "command", ["a $'\\cA\\q\\e'", "a $'\\U110000'", "a ${#x}", "a ${x%.*}", "a ${x:0:2}", "a $((1 + 2))"]
    )
    def test_a_harmless_expansion_is_opaque_but_runs_nothing(self, command: str) -> None:
        line = parse_line(command)
        opacities = [opacity for simple in line.simple_commands for opacity in simple.opaque]
        assert opacities
        assert not any(opacity.runs for opacity in opacities)

    @pytest.mark.parametrize(
        "command", ["a ${x@P}", "a ${!x}", "a ${x[1]}", "a $((x))", "a ${x:y}", "a ${x:-$(b)}"]
    )
    def test_an_expansion_that_may_run_something_says_so(self, command: str) -> None:
        assert any(
            opacity.runs for simple in parse_line(command).simple_commands for opacity in simple.opaque
        )
