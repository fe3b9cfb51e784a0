"""Which names below the top of a workspace are protected in the sandbox."""

from __future__ import annotations

from pathlib import Path

from caliban_permissions import nested
from caliban_permissions.nested import nested_entries


def found(root: Path) -> list[str]:
    return sorted(path.removeprefix(f"{root}/") for path in nested_entries(str(root)).paths)


def test_repositories_and_settings_within_are_found_and_links_are_not(tmp_path):
    root = tmp_path.resolve()
    for folder in (".git", "a/b/.claude", "repo/.git/hooks", "node_modules/x/.git", "deep/.GIT"):
        (root / folder).mkdir(parents=True)
    (root / "a" / ".mcp.json").write_text("{}")
    (root / "a" / ".vscode").symlink_to(root / "repo")
    of_repository = [".caliban", ".caliban.toml", ".claude", ".envrc", ".git", ".mcp.json", "caliban.toml"]
    wanted = ["a/.mcp.json", "a/b/.claude", "deep/.GIT", *(f"repo/{name}" for name in of_repository)]
    assert found(root) == sorted(wanted)
    assert nested_entries(str(root)).cut == ""


def test_a_search_that_was_cut_short_says_so(tmp_path):
    root = tmp_path.resolve()
    for number in range(nested.MAX_PATHS + 5):
        (root / f"d{number}" / ".vscode").mkdir(parents=True)
    entries = nested_entries(str(root))
    assert len(entries.paths) == nested.MAX_PATHS and "more than 64" in entries.cut
    deep = root / "deep"
    (deep / "/".join("x" * (nested.MAX_DEPTH + 2)) / ".git").mkdir(parents=True)
    assert "levels" in nested_entries(str(deep)).cut
    assert nested_entries(str(root / "missing")).paths == ()
