"""What is told once a file is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban_memory import MemoryCaps, MemoryOptions, NestedMemory, find_memory, render, told_paths


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = (tmp_path / "repo").resolve()
    (root / ".git").mkdir(parents=True)
    return root


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def nested(root: Path, *told: str, **more: object) -> NestedMemory:
    options = MemoryOptions(workspace=root, **more)  # type: ignore[arg-type]
    return NestedMemory(options, find_memory(options), told)


def test_instructions_below_are_told_with_the_first_file_there_and_once(repo):
    put(repo / "AGENTS.md", "root")
    put(repo / "a" / "CLAUDE.md", "in a")
    put(repo / "a" / "b" / "AGENTS.md", "in b")
    file = put(repo / "a" / "b" / "x.py", "")
    memory = nested(repo)
    assert [item.text for item in memory.touch(file)] == ["in a", "in b"]
    assert memory.touch(file) == ()
    assert memory.touch(repo / "a" / "y.py") == ()


def test_what_a_session_was_told_before_is_not_told_again(repo):
    put(repo / "a" / "CLAUDE.md", "in a")
    file = put(repo / "a" / "x.py", "")
    (instructions,) = nested(repo).touch(file)
    assert nested(repo, *told_paths(render(instructions))).touch(file) == ()


@pytest.mark.parametrize("folder", ["node_modules/evil", "ignored/deep", ".git/hooks"])
def test_dependencies_and_ignored_directories_say_nothing(repo, folder):  # s475
    put(repo / ".gitignore", "ignored/\n")
    put(repo / folder / "CLAUDE.md", "CANARY")
    assert nested(repo).touch(put(repo / folder / "index.js", "")) == ()


def test_a_rule_is_told_with_the_first_file_it_is_for(repo):
    put(repo / ".caliban" / "rules" / "ts.md", '---\npaths: ["src/**/*.ts"]\n---\nstrict')
    memory = nested(repo)
    assert memory.touch(put(repo / "x.ts", "")) == ()
    assert [item.text for item in memory.touch(put(repo / "src" / "deep" / "x.ts", ""))] == ["strict"]
    assert memory.touch(put(repo / "src" / "y.ts", "")) == ()


def test_what_lies_outside_or_is_not_there_says_nothing(repo):
    outside = put(repo.parent / "o" / "CLAUDE.md", "CANARY")
    memory = nested(repo)
    assert memory.touch(outside) == ()
    assert memory.touch(repo / "gone" / "x") == ()
    assert memory.touch(Path("a\0b")) == ()


def test_a_link_out_of_the_project_is_not_followed(repo):
    put(repo.parent / "secret", "CANARY")
    file = put(repo / "a" / "x.py", "")
    (repo / "a" / "CLAUDE.md").symlink_to(repo.parent / "secret")
    memory = nested(repo)
    assert memory.touch(file) == ()
    assert [note.matters for note in memory.left_out] == [True]


def test_there_is_a_budget_for_what_is_told_later(repo):
    for name in "abc":
        put(repo / name / "CLAUDE.md", name * 300)
        put(repo / name / "x", "")
    memory = nested(repo, caps=MemoryCaps(combined=100))
    sizes = [[len(item.text) for item in memory.touch(repo / name / "x")] for name in "abc"]
    assert sizes == [[300], [100], []]
    assert [note.reason for note in memory.left_out] == ["the budget of memory is spent"]


def test_excludes_hold_below_too(repo):
    put(repo / "third_party" / "x" / "CLAUDE.md", "CANARY")
    file = put(repo / "third_party" / "x" / "y.c", "")
    assert nested(repo, excludes=("third_party/**/CLAUDE.md",)).touch(file) == ()
