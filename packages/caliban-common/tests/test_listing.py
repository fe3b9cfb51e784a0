"""Files that a program finds in a folder: bounded, in order, and none outside of it."""

from __future__ import annotations

import os

import pytest

from caliban_common.listing import MAX_FILES, files_in_folders, markdown_files


def put(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_that_is_not_there_holds_none(tmp_path):
    put(tmp_path / "file")
    for folder in (tmp_path / "absent", tmp_path / "file"):
        for listing in (files_in_folders(folder, "A.md"), markdown_files(folder)):
            assert (listing.paths, listing.problems) == ((), ())


def test_files_come_in_the_order_of_their_names(tmp_path):
    paths = [put(tmp_path / name / "A.md") for name in ("a", "b", "c")]
    put(tmp_path / ".hidden" / "A.md")
    put(tmp_path / "d" / "other.md")
    assert files_in_folders(tmp_path, "A.md").paths == tuple(paths)


def test_markdown_is_found_as_deep_as_asked(tmp_path):
    deep = [put(tmp_path / "a.md"), put(tmp_path / "b" / "c.md"), put(tmp_path / "b" / "d" / "e.md")]
    put(tmp_path / "notes.txt")
    for depth in (1, 2, 3):
        assert markdown_files(tmp_path, max_depth=depth).paths == tuple(deep[:depth])


@pytest.mark.skipif(os.name == "nt", reason="makes links")
def test_a_link_that_leads_out_is_named_and_one_inside_is_taken(tmp_path):
    outside, folder = put(tmp_path / "outside" / "A.md"), tmp_path / "in"
    put(folder / "x" / "A.md")
    put(folder / "y.md")
    (folder / "out").symlink_to(outside.parent)
    (folder / "z").mkdir()
    (folder / "z" / "A.md").symlink_to(outside)
    (folder / "out.md").symlink_to(outside)
    (folder / "same.md").symlink_to(folder / "y.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    listing = files_in_folders(folder, "A.md")
    assert listing.paths == (folder / "x" / "A.md",)
    assert ["link to outside" in problem for problem in listing.problems] == [True] * 2
    listing = markdown_files(folder, max_depth=3)
    assert [path.name for path in listing.paths if path.name != "loop.md"] == ["same.md", "A.md", "y.md"]
    assert any("out.md" in problem for problem in listing.problems)


def test_names_that_cannot_be_typed_are_named(tmp_path):
    for name in ("a b.md", "-x.md", "\u202ex.md", "x" * 80 + ".md"):
        put(tmp_path / name)
    listing = markdown_files(tmp_path)
    assert (listing.paths, len(listing.problems)) == ((), 4)
    assert all(problem.isprintable() for problem in listing.problems)


def test_too_many_files_are_told(tmp_path):
    for number in range(MAX_FILES + 3):
        put(tmp_path / f"{number:04}.md")
    listing = markdown_files(tmp_path)
    assert len(listing.paths) == MAX_FILES
    assert "3 more than 256 files are left out" in listing.problems[0]
