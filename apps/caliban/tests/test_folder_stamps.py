"""How changes of command files are noticed."""

from __future__ import annotations

from pathlib import Path

from caliban.slash.further import folder_stamps


def test_a_dead_link_hides_no_change_of_the_files_beside_it(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text("one")
        (tmp_path / f"dead-{name}.md").symlink_to("nowhere")
    stamps = folder_stamps(iter((str(tmp_path), str(tmp_path / "none"))))
    assert sorted(Path(path).name for path, _, _ in stamps) == ["a.md", "b.md", "c.md"]
    (tmp_path / "c.md").write_text("more")
    assert folder_stamps(iter((str(tmp_path),))) != stamps
