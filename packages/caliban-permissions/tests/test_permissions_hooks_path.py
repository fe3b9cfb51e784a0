"""A repository that says where its hooks are: what cannot be looked at counts as there."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban_permissions.readonly.repository import harmless_repository


@pytest.mark.parametrize(
    ("hooks", "is_harmless"),
    [("hooks", True), ("~nosuchuser/hooks", False), ("~root", False), ("x" * 300, False)],
)
def test_hooks_of_another_home_or_of_a_name_that_is_refused_are_not_harmless(
    tmp_path: Path, hooks: str, is_harmless: bool
) -> None:
    git = tmp_path / ".git"
    for folder in (git / "objects", git / "refs"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f"[core]\n\thooksPath = {hooks}\n")
    assert harmless_repository(str(tmp_path)) is is_harmless
