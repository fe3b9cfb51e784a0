"""Path rules: all names for a deny, the canonical one for an allow, and the protected files."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caliban_permissions import Engine, Rule, RuleSet
from caliban_permissions.judge import judge_call
from caliban_permissions.paths import PathContext, folded, resolve, split
from caliban_permissions.protected import protection
from caliban_permissions.rules.chain import RuleChain

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX paths and links")
WINDOWS = PathContext(workspace="C:\\ws", cwd="C:\\ws", home="C:\\Users\\u", windows=True)
POSIX = PathContext(workspace="/ws", cwd="/ws", home="/home/u")


class TestOnWindows:
    """The names that Windows gives a file, judged without being on Windows."""

    @pytest.mark.parametrize(
        ("path", "action"),
        [
            ("C:\\ws\\app\\.env", "deny"),
            ("c:/WS/app/.ENV", "deny"),
            ("C:\\ws\\app\\.env::$DATA", "deny"),
            ("C:\\ws\\app\\.env:stream", "deny"),
            ("C:\\ws\\app\\ENV~1", "deny"),
            ("C:\\ws\\app\\.env. ", "deny"),
            ("app\\.env", "deny"),
            ("CON", "deny"),
            ("app\\NUL.txt", "deny"),
            ("\\\\server\\share\\x", "deny"),
            ("\\\\?\\C:\\ws\\a", "deny"),
            ("C:\\ws\\app\\a.txt", "allow"),
        ],
    )
    def test_every_spelling_meets_the_deny(self, path: str, action: str, scene: Any) -> None:
        rules = RuleSet(
            user=(Rule(pattern="Read:**/.env", action="deny"), Rule(pattern="Read", action="allow"))
        )
        now = datetime(2026, 1, 1, tzinfo=UTC)
        outcome = judge_call(scene.spec("Read"), {"path": path}, RuleChain(rules, WINDOWS), WINDOWS, now)
        assert outcome.action == action

    def test_an_allow_is_anchored_at_the_drive(self, scene: Any) -> None:
        rules = RuleSet(user=(Rule(pattern="Edit:C:\\ws\\src/**", action="allow"),))
        now = datetime(2026, 1, 1, tzinfo=UTC)
        book = RuleChain(rules, WINDOWS)
        inside = judge_call(scene.spec("Edit"), {"path": "C:\\ws\\src\\a.py"}, book, WINDOWS, now)
        outside = judge_call(scene.spec("Edit"), {"path": "D:\\ws\\src\\a.py"}, book, WINDOWS, now)
        assert (inside.action, outside.action) == ("allow", "ask")


@posix
class TestNames:
    """What `resolve` finds."""

    @pytest.mark.parametrize(
        ("text", "refused"),
        [
            ("", True),
            ("a\x00b", True),
            ("\ud800", True),
            ("file:///a", True),
            ("http://a/b", True),
            ("@/etc/passwd", True),
            ("@~/x", True),
            ("a/" * 3_000, True),
            ("@types/a", False),
            ("a:b", False),
            ("C:\\x", False),
        ],
    )
    def test_what_is_no_path_is_refused(self, text: str, refused: bool) -> None:
        assert (resolve(text, POSIX).refused is not None) is refused

    @pytest.mark.parametrize(
        "text",
        [
            "$HOME/x",
            "${HOME}/x",
            "a\u200bb",
            "a\u202eb",
            "\uff0e\uff0e/x",
            "a\u017fb",
            "\u212a",
            "~root/x",
            "a\nb",
            "/proc/1/root/x",
            "/proc/1/cwd",
        ],
    )
    def test_what_may_mean_another_file_is_uncertain(self, text: str) -> None:
        assert resolve(text, POSIX).uncertain is not None

    @pytest.mark.parametrize("text", ["a b", "\u00e9", "e\u0301", "\u8aac", "$", "a$", "~/x", "a~1", "..."])
    def test_an_unusual_name_is_a_name(self, text: str) -> None:
        assert resolve(text, POSIX).uncertain is None

    def test_a_tilde_has_two_readings(self) -> None:
        assert resolve("~/a", POSIX).canonicals == ("/home/u/a", "/ws/~/a")

    def test_links_are_names_one_by_one(self, scene: Any) -> None:
        scene.add("c")
        scene.link("{ws}/b", "c")
        scene.link("{ws}/a", "b")
        place = PathContext.of(scene.workspace, None, scene.home)
        names = resolve("a", place)
        assert names.canonical == str(scene.workspace / "c")
        assert {name[-1] for name in names.names} == {"a", "b", "c"}

    def test_a_loop_of_links_ends(self, scene: Any) -> None:
        scene.link("{ws}/a", "b")
        scene.link("{ws}/b", "a")
        assert resolve("a", PathContext.of(scene.workspace, None, scene.home)).names

    def test_a_workspace_given_by_a_link_is_known_by_both_names(self, scene: Any) -> None:
        scene.add("secret/x")
        given = scene.root / "alias"
        given.symlink_to(scene.workspace)
        place = PathContext.of(given, None, scene.home)
        book = RuleChain(RuleSet(user=scene.rules(("deny", "Read:{tmp}/alias/secret/**"))), place)
        now = datetime(2026, 1, 1, tzinfo=UTC)
        for path in ("secret/x", str(scene.workspace / "secret/x"), str(given / "secret/x")):
            assert judge_call(scene.spec("Read"), {"path": path}, book, place, now).action == "deny"

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(max_size=60))
    def test_resolving_never_raises(self, text: str) -> None:
        names = resolve(text, POSIX)
        assert names.refused or names.names

    def test_folding_forgives_case_width_blanks_and_invisible_characters(self) -> None:
        assert folded((".GIT", "Ａ", ".env. ", ".g\u200cit")) == (".git", "a", ".env", ".git")

    def test_splitting_knows_drives(self) -> None:
        assert split("c:\\a\\b") == ("C:", "a", "b")
        assert split("/a//./b/") == ("a", "b")


@posix
class TestRules:
    """Deny is wide, allow is narrow."""

    @pytest.mark.parametrize(
        ("pattern", "path", "denied"),
        [
            ("Read:**/.env", "/elsewhere/.env", True),
            ("Read:**/.env", "app/.ENV", True),
            ("Read:.env", "a/b/.env", True),
            ("Read:.env", "/elsewhere/.env", False),
            ("Read:secret", "secret/a/b", True),
            ("Read:./secret/", "secret/a", True),
            ("Read:./secret", "a/secret", False),
            ("Read:~/.ssh/**", "~/.ssh/id", True),
            ("Read:~/.ssh/**", "{home}/.ssh/id", True),
            ("Read(//{home}/x)", "{home}/x", True),
            ("Read:/etc/*", "/etc/a/b", False),
            ("Read:**/*.pem", "a.PEM", True),
            ("Read:**/caf\u00e9", "cafe\u0301", True),
            ("Read", "a", True),
            ("R*", "a", True),
        ],
    )
    def test_a_deny_finds_its_file(self, pattern: str, path: str, denied: bool, scene: Any) -> None:
        explained = scene.explain("Read", {"path": scene.fill(path)}, ("deny", pattern.replace("//{", "/{")))
        assert (explained.verdict == "deny") is denied

    @pytest.mark.parametrize(
        ("pattern", "path", "allowed"),
        [
            ("Edit:src/**", "a/src/b", True),
            ("Edit:src/**", "/src/b", False),
            ("Edit:./src/**", "src/b", True),
            ("Edit:./src/**", "a/src/b", False),
            ("Edit:./src/../x", "x", True),
            ("Edit:src/../x", "x", False),
            ("Edit:*.md", "a/b.md", True),
            ("Edit:*.md", "a/b.MD", False),
            ("Edit:~/notes/*", "{home}/notes/a", True),
            ("Edit:src", "src/a", False),
            ("Edit:{ws}/../x", "{tmp}/x", True),
        ],
    )
    def test_an_allow_covers_its_file_only(self, pattern: str, path: str, allowed: bool, scene: Any) -> None:
        explained = scene.explain("Edit", {"path": scene.fill(path)}, ("allow", pattern))
        assert (explained.verdict == "allow") is allowed

    def test_a_directory_with_wildcards_in_its_name_is_only_itself(self, scene: Any) -> None:
        odd = scene.root / "w[s]*{x}"
        odd.mkdir()
        made = Engine(
            RuleSet(user=(Rule(pattern="Edit:./a", action="allow"),)),
            mode="default",
            workspace=odd,
            interactive=True,
            home=scene.home,
            vouched=[scene.spec("Edit")],
        )
        assert made.explain(scene.spec("Edit"), {"path": "a"}).verdict == "allow"
        assert made.explain(scene.spec("Edit"), {"path": str(scene.root / "ws" / "a")}).verdict == "ask"

    @pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
    @pytest.mark.parametrize("named", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
    def test_a_deny_of_a_file_binds_every_tool_that_edits(self, tool: str, named: str, scene: Any) -> None:
        deny, allow = ("deny", f"{named}:secret/**"), ("allow", tool)
        assert scene.explain(tool, {"path": "secret/a"}, deny, allow).verdict == "deny"
        assert scene.explain(tool, {"path": "a"}, deny, allow).verdict == "allow"

    def test_a_deny_of_one_edit_tool_leaves_the_others(self, scene: Any) -> None:
        assert scene.explain("Edit", {"path": "a"}, ("deny", "Write"), ("allow", "Edit")).verdict == "allow"

    def test_search_tools_meet_read_denies(self, scene: Any) -> None:
        deny = ("deny", "Read:{ws}/secret/**")
        scene.add("secret/x")
        assert scene.explain("Grep", {"pattern": "K", "path": "secret"}, deny).verdict == "deny"
        assert scene.explain("Grep", {"pattern": "K"}, deny).verdict == "allow"
        engine = scene.engine(deny)
        assert not engine.may_read("secret/x")
        assert engine.may_read("a")
        assert not engine.may_read("a\x00")

    def test_a_hard_link_outside_is_not_waved_on(self, scene: Any) -> None:
        (scene.home / "x").write_text("x")
        os.link(scene.home / "x", scene.root / "h")
        assert scene.explain("Write", {"path": scene.fill("{tmp}/h")}, ("allow", "Write")).verdict == "ask"

    def test_further_roots_count_as_inside(self, scene: Any) -> None:
        (scene.root / "more").mkdir()
        path = {"path": scene.fill("{tmp}/more/a")}
        assert scene.explain("Edit", path, mode="acceptEdits").verdict == "ask"
        assert (
            scene.explain("Edit", path, mode="acceptEdits", roots=(scene.root / "more",)).verdict == "allow"
        )


@posix
class TestProtectedFiles:
    """The floor under every mode but bypass."""

    AUTHORITY = (
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".GIT/config",
        ".git./config",
        ".caliban/settings.toml",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        ".github/workflows/ci.yml",
        ".mcp.json",
        ".envrc",
        ".npmrc",
        ".gitmodules",
        ".gitattributes",
        "{home}/.bashrc",
        "{home}/.ssh/config",
        "~/.zshrc",
        "{home}/.config/caliban/permissions.toml",
        "{home}/.local/share/caliban/sessions/s.json",
        "/etc/passwd",
        "/usr/bin/git",
        ".venv/bin/python",
        "node_modules/.bin/tsc",
        "caliban.toml",
    )
    BUILD = (
        "package.json",
        "a/Makefile",
        "setup.py",
        "Dockerfile",
        "build.rs",
        "vite.config.ts",
        "x.pth",
        "pom.xml",
        "conftest.py",
        "tests/unit/conftest.py",
        "pytest.ini",
        "spec/spec_helper.rb",
        "web/jest.setup.ts",
        "src/setupTests.js",
        "CLAUDE.md",
        "docs/claude.md",
        "AGENTS.md",
        "sub/agents.md",
        "GEMINI.md",
        ".github/copilot-instructions.md",
        ".github/instructions/py.instructions.md",
        "skills/a/SKILL.md",
        "rules/style.mdc",
        ".clinerules/a.md",
        ".junie/guidelines.md",
        ".caliban.md",
    )
    FREE = (
        "src/a.py",
        "README.md",
        "Cargo.toml",
        "pyproject.toml",
        "docs/git.md",
        ".gitignore",
        "build/x",
        "bin/x",
        "git/config",
    )

    @pytest.mark.long(keep=5)
    @pytest.mark.parametrize("path", [*AUTHORITY, *BUILD])
    @pytest.mark.parametrize(
        ("mode", "verdict"), [("acceptEdits", "ask"), ("auto", "ask"), ("dontAsk", "deny")]
    )
    def test_no_mode_passes_them(self, path: str, mode: str, verdict: str, scene: Any) -> None:
        assert scene.explain("Write", {"path": scene.fill(path)}, mode=mode).verdict == verdict

    @pytest.mark.parametrize("path", FREE)
    def test_ordinary_files_are_not_among_them(self, path: str, scene: Any) -> None:
        assert scene.explain("Write", {"path": path}, mode="acceptEdits").verdict == "allow"

    @pytest.mark.parametrize("path", AUTHORITY)
    def test_no_wildcard_rule_passes_authority(self, path: str, scene: Any) -> None:
        assert scene.explain("Write", {"path": scene.fill(path)}, ("allow", "Write")).verdict == "ask"

    def test_a_rule_of_the_user_passes_build_files(self, scene: Any) -> None:
        assert scene.explain("Write", {"path": "package.json"}, ("allow", "Write:./**")).verdict == "allow"

    def test_a_rule_that_names_the_file_passes(self, scene: Any) -> None:
        rule = ("allow", "Write:./.git/hooks/pre-commit")
        assert scene.explain("Write", {"path": ".git/hooks/pre-commit"}, rule).verdict == "allow"

    def test_bypass_passes(self, scene: Any) -> None:
        explained = scene.explain("Write", {"path": ".git/config"}, mode="bypassPermissions")
        assert explained.verdict == "allow"

    def test_a_workspace_below_a_protected_directory_is_a_workspace(self) -> None:
        place = PathContext(
            workspace="/r/.caliban/worktrees/w", cwd="/r/.caliban/worktrees/w", home="/home/u"
        )
        assert protection("/r/.caliban/worktrees/w/src/a.py", place) is None
        assert protection("/r/.caliban/worktrees/w/.git", place) == "authority"
        assert protection("/r/.caliban/settings.toml", place) == "authority"

    def test_a_link_to_a_protected_file_is_one(self, scene: Any) -> None:
        scene.add(".git/config")
        scene.link("{ws}/notes.md", ".git/config")
        assert scene.explain("Edit", {"path": "notes.md"}, mode="acceptEdits").verdict == "ask"

    @pytest.mark.parametrize(
        "command",
        [
            "cp x .git/hooks/pre-commit",
            "mv x .git/hooks/",
            "tee .caliban/settings.toml",
            "touch .git/x",
            "ln -s x .mcp.json",
            "install x .git/hooks/a",
            "rm .git/config",
            "cp -t .git/hooks x",
            "dd if=x of=.git/config",
            "chmod 755 .git/hooks/a",
        ],
    )
    def test_commands_that_write_them_are_asked_about(self, command: str, scene: Any) -> None:
        scene.add(".git/hooks/")
        assert scene.verdict(command, ("allow", "Bash")) == "ask"
        assert scene.verdict(command, mode="dontAsk") == "deny"


def test_the_home_is_the_given_one(scene: Any) -> None:
    assert Path(scene.engine()._place.home) == scene.home


class TestNamesThatAreNoText:
    """A directory listing gives bytes; rules mean them, too."""

    @pytest.mark.parametrize("name", ["sub/\udcff.txt", "caf\udce9/a.txt", "\udcc3("])
    def test_they_may_be_read_unless_a_rule_means_them(self, name: str, scene: Any) -> None:
        assert scene.engine(("deny", "Read:other/**")).may_read(name)
        assert not scene.engine(("deny", "Read:**")).may_read(name)
        assert not scene.engine(("deny", f"Read:{name}")).may_read(name)
        assert scene.engine(("deny", "Read:sub/?x.txt")).may_read(name)

    def test_what_no_listing_gives_is_refused(self, scene: Any) -> None:
        assert not scene.engine(("deny", "Read:other/**")).may_read("a\ud800")
        assert scene.explain("Read", {"path": "a\udcff"}).verdict == "deny"
