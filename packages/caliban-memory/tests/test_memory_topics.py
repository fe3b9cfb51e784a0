"""Notes for later sessions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.filelock import try_lock
from caliban_memory import MemoryFailed, Topic, TopicMissing, TopicRefused, Topics
from caliban_memory import topics as module
from caliban_memory.topics import check_slug, parse_topic, topic_text

NOTE = Topic(name="build", description="how to build", type="project", body="make all")


def test_a_note_is_kept_with_its_line_and_read_back(tmp_path):
    topics = Topics(tmp_path / "m")
    assert topics.write(NOTE) is True
    assert topics.read("build") == NOTE
    assert topics.index_path.read_text().endswith("-->\n\n- [build](build.md) — project: how to build\n")
    again = Topic(name="build", description="better", type="feedback", body="ninja", session="s-1")
    assert topics.write(again) is False
    assert topics.read("build") == again
    assert topics.index_path.read_text().endswith("\n- [build](build.md) — feedback: better\n")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX modes")
def test_files_and_directories_are_for_their_owner_only(tmp_path):  # s619
    old = os.umask(0)
    try:
        topics = Topics(tmp_path / "a" / "m")
        topics.write(NOTE)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in topics.directory.iterdir()}
    assert modes == {".lock": 0o600, "MEMORY.md": 0o600, "build.md": 0o600}
    assert stat.S_IMODE(topics.directory.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["", "..", "../x", ".hidden", "a/b", "a\\b", "a\0b", "/etc/passwd", "a..b", "MEMORY", "x" * 81,
             "con", "nul.txt", "a b", "a\nb", "-x", "C:x"],
)  # fmt: skip
def test_a_name_that_is_a_path_or_hidden_is_refused(tmp_path, name):  # M3, s662
    topics = Topics(tmp_path / "m")
    for work in (topics.read, topics.delete, lambda slug: topics.write(Topic(
        name=slug, description="d", type="user", body="b"))):  # fmt: skip
        with pytest.raises(TopicRefused):
            work(name)
    assert not (tmp_path / "m").exists()


@given(st.text(max_size=100))
def test_no_name_leaves_the_directory(name):
    try:
        check_slug(name)
    except TopicRefused:
        return
    path = Path("/m") / f"{name}.md"
    assert path.parent == Path("/m") and path.name == f"{name}.md" and not name.startswith(".")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("---\nname: a\n", "the front matter has no end", id="M3-no-end"),
        pytest.param("words", "calls itself ''", id="no-front-matter"),
        pytest.param("---\nname: ''\ndescription: d\ntype: user\n---\n", "calls itself", id="M3-empty-name"),
        pytest.param("---\nname: b\ndescription: d\ntype: user\n---\n", "calls itself 'b'", id="another"),
        pytest.param("---\nname: a\ntype: user\n---\n", "has no description", id="no-description"),
        pytest.param("---\nname: a\ndescription: d\ntype: odd\n---\n", "has no type among", id="bad-type"),
    ],
)
def test_a_file_that_is_no_note_is_refused_and_named(tmp_path, text, reason):
    (tmp_path / "a.md").write_text(text)
    topics = Topics(tmp_path)
    with pytest.raises(TopicRefused, match=reason):
        topics.read("a")
    assert topics.list() == ()
    assert len(topics.broken()) == 1


@pytest.mark.parametrize(
    "more",
    [{"description": ""}, {"description": "x" * 121}, {"description": "a\nb"}, {"body": " "},
     {"body": "x" * 50_001}, {"type": "odd"}],
)  # fmt: skip
def test_what_no_note_can_say_is_refused_before_anything_is_written(tmp_path, more):
    members = {"name": "a", "description": "d", "type": "user", "body": "b", **more}
    with pytest.raises(TopicRefused):
        Topics(tmp_path / "m").write(Topic(**members))
    assert not (tmp_path / "m").exists()


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=60)


@given(WORDS, st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=200))
def test_a_note_survives_its_file(description, body):
    description = " ".join(description.split()) or "d"
    topic = Topic(name="a-b", description=description, type="user", body=body.strip() or "b", session="s 1")
    assert parse_topic(topic_text(topic), "a-b") == topic


def test_a_note_that_is_not_there_is_missing(tmp_path):
    topics = Topics(tmp_path)
    topics.write(NOTE)
    with pytest.raises(TopicMissing, match=r"no note 'built'.*build"):
        topics.read("built")
    with pytest.raises(TopicMissing):
        topics.delete("other")


def test_removing_a_note_takes_its_line(tmp_path):
    topics = Topics(tmp_path)
    topics.write(NOTE)
    topics.delete("build")
    assert topics.list() == () and "build" not in topics.index_path.read_text()


def test_the_index_is_mended_and_a_persons_lines_stay(tmp_path):
    topics = Topics(tmp_path)
    topics.write(NOTE)
    topics.index_path.write_text(
        "# Mine\n\n- [gone](gone.md) — user: x\nown words\n- [link](https://x.org)\n"
    )
    (tmp_path / "orphan.md").write_text(
        topic_text(Topic(name="orphan", description="o", type="user", body="b"))
    )
    assert topics.rebuild() == 2
    assert topics.index_path.read_text() == (
        "# Mine\n\nown words\n- [link](https://x.org)\n"
        "- [build](build.md) — project: how to build\n- [orphan](orphan.md) — user: o\n"
    )
    topics.index_path.unlink()
    assert topics.rebuild() == 2


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_in_the_directory_are_not_followed(tmp_path):
    (tmp_path / "secret").write_text("---\nname: a\ndescription: d\ntype: user\n---\nCANARY")
    topics = Topics(tmp_path / "m")
    topics.write(NOTE)
    (tmp_path / "m" / "a.md").symlink_to(tmp_path / "secret")
    with pytest.raises(TopicRefused, match="link"):
        topics.read("a")
    topics.write(Topic(name="a", description="mine", type="user", body="b"))
    assert "CANARY" in (tmp_path / "secret").read_text() and topics.read("a").body == "b"


def test_a_directory_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MemoryFailed, match="cannot create"):
        Topics(tmp_path / "file" / "m").write(NOTE)


def test_a_writer_that_is_killed_at_the_index_leaves_a_note_that_the_next_write_mends(tmp_path):
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom caliban_memory import Topic, Topics, topics as m\n"
        "Topics._mend = lambda self: os.kill(os.getpid(), 9)\n"
        "Topics(Path(sys.argv[1])).write(Topic(name='a', description='d', type='user', body='b'))\n"
    ).replace(", topics as m", "")
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode != 0 and (tmp_path / "a.md").exists() and not (tmp_path / "MEMORY.md").exists()
    topics = Topics(tmp_path)
    topics.write(NOTE)
    assert [topic.name for topic in topics.list()] == ["a", "build"]
    assert "[a](a.md)" in topics.index_path.read_text()


def test_many_writers_lose_nothing(tmp_path):
    script = (
        "import sys\nfrom pathlib import Path\nfrom caliban_memory import Topic, Topics\n"
        "for n in range(10):\n    Topics(Path(sys.argv[1])).write("
        "Topic(name=f'{sys.argv[2]}-{n}', description='d', type='user', body='b'))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), who]) for who in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    names = sorted(f"{who}-{n}" for who in "abc" for n in range(10))
    index = Topics(tmp_path).index_path.read_text()
    assert [topic.name for topic in Topics(tmp_path).list()] == names
    assert all(f"[{name}]({name}.md)" in index for name in names)


def test_whoever_cannot_get_the_lock_is_told(tmp_path, monkeypatch):
    topics = Topics(tmp_path)
    topics.write(NOTE)
    monkeypatch.setattr(module, "LOCK_S", 0.0)
    with (tmp_path / ".lock").open("rb+") as holder:
        assert try_lock(holder.fileno())
        with pytest.raises(MemoryFailed, match="another process"):
            topics.write(NOTE)
