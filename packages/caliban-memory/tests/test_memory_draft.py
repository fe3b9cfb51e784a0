"""A first file of instructions, and what people do with memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from caliban_memory import MemoryOptions, Topic, TopicMissing, Topics, edit_path, find_memory, make_draft
from caliban_memory import memory_rows as rows


def test_a_draft_says_what_the_project_says_of_itself(tmp_path):
    (tmp_path / "README.md").write_text("# Title\n\n![badge](x)\n\nA tool that\ncounts.\n")
    (tmp_path / "package.json").write_text('{"scripts": {"test": "x", "build": "y"}}')
    (tmp_path / "Makefile").write_text("all: x\n\tmake\nVAR := 1\n.PHONY: all\n")
    (tmp_path / ".cursorrules").write_text("No semicolons.")
    (tmp_path / "src").mkdir()
    draft = make_draft(tmp_path)
    assert draft.sources == ("README.md", "package.json", "Makefile", ".cursorrules")
    for words in ("A tool that counts.", "`npm run test`", "`make all`", "`src/`", "No semicolons."):
        assert words in draft.text
    assert "VAR" not in draft.text and "badge" not in draft.text


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"scripts": 3}', "[" * 5000])
def test_garbage_in_a_project_makes_a_draft_all_the_same(tmp_path, text):
    (tmp_path / "package.json").write_text(text)
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "README.md").write_bytes(b"\xff\x00")
    (tmp_path / "Makefile").mkdir()
    assert "## Commands" in make_draft(tmp_path).text


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_pipes_and_links_of_a_project_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "README.md")
    (tmp_path / "AGENTS.md").symlink_to("/etc/hostname")
    assert make_draft(tmp_path).sources == ()


def test_the_file_to_edit_is_found_by_tier_or_by_note(tmp_path):
    root = tmp_path.resolve()
    (root / ".git").mkdir()
    options = MemoryOptions(workspace=root, config_dir=root / "c", auto_dir=root / "n")
    Topics(root / "n").write(Topic(name="a", description="d", type="user", body="b"))
    names = {name: edit_path(name, options).relative_to(root) for name in ("global", "project", "auto", "a")}
    assert names == {
        "global": Path("c/CLAUDE.md"),
        "project": Path("AGENTS.md"),
        "auto": Path("n/MEMORY.md"),
        "a": Path("n/a.md"),
    }
    with pytest.raises(TopicMissing, match="global"):
        edit_path("globall", options)
    (root / "CLAUDE.md").write_text("x")
    assert edit_path("project", options).name == "CLAUDE.md"
    assert [row.tier for row in rows(find_memory(options))] == ["project", "auto"]
