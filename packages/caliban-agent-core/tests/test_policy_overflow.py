from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caliban_agent_core.compact.summary import PREFIX
from caliban_agent_core.overflow import cap_history, cap_output, file_name
from caliban_common.message import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_common.tool import ToolOutput

IMAGE = ImageBlock.of(media_type="image/png", data="AA")


def cap(output: ToolOutput, cap_chars: int, directory: Path | None, tool_use_id: str = "tu_1") -> ToolOutput:
    return cap_output(
        output, cap_chars=cap_chars, directory=directory, session_id="sess", tool_use_id=tool_use_id
    )


def test_a_long_result_gives_way_to_a_note_that_names_the_file_a17(tmp_path: Path) -> None:
    text = "".join(f"{n:04}," for n in range(100))
    capped = cap(ToolOutput.of(text, details={"n": 1}), 50, tmp_path)
    path = tmp_path / "sess" / "tu_1.txt"
    assert capped == ToolOutput.of(
        f"[truncated: 500 chars in all; the whole text is in {path}]", details={"n": 1}
    )
    assert path.read_text(encoding="utf-8") == text


def test_small_results_are_untouched_a17(tmp_path: Path) -> None:
    output = ToolOutput.of("x" * 50)
    assert cap(output, 50, tmp_path) is output
    assert list(tmp_path.iterdir()) == []


def test_a_cap_of_zero_is_off(tmp_path: Path) -> None:
    output = ToolOutput.of("x" * 100_000)
    assert cap(output, 0, tmp_path) is output


def test_the_beginning_and_the_end_stay_as_far_as_the_cap_leaves_room(tmp_path: Path) -> None:
    text = "a" * 30_000 + "z" * 30_000
    shown = cap(ToolOutput.of(text), 50_000, tmp_path).text
    assert shown.endswith("]\n" + "a" * 2048 + "\n[…]\n" + "z" * 2048)
    shown = cap(ToolOutput.of(text), 1000, tmp_path).text
    assert len(shown) in (999, 1000)
    assert shown.count("a" * 100) > 0 < shown.count("z" * 100)


@given(
    st.lists(st.text(max_size=300), max_size=4),
    st.integers(1, 400),
    st.sampled_from([None, Path("/proc/none"), Path("/dev/null")]),
)
def test_no_result_is_longer_than_its_cap_or_its_note(
    texts: list[str], cap_chars: int, directory: Path | None
) -> None:
    output = ToolOutput(content=(IMAGE, *(TextBlock(text=text) for text in texts)))
    capped = cap(output, cap_chars, directory)
    assert capped.content.count(IMAGE) == 1
    if len(output.text) <= cap_chars:
        assert capped is output
    else:
        note = capped.text.split("\n")[0]
        assert note.startswith(f"[truncated: {len(output.text)} chars")
        assert len(capped.text) <= max(cap_chars, len(note))
        assert len(note) < 500


def test_images_and_the_error_flag_stay(tmp_path: Path) -> None:
    output = ToolOutput(content=(TextBlock(text="x" * 50), IMAGE, TextBlock(text="y" * 50)), is_error=True)
    capped = cap(output, 60, tmp_path)
    assert (capped.content[1:], capped.is_error) == ((IMAGE,), True)
    assert (tmp_path / "sess" / "tu_1.txt").read_text(encoding="utf-8") == "x" * 50 + "y" * 50


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX files")
def test_the_file_and_its_directories_are_for_their_owner_only(tmp_path: Path) -> None:
    cap(ToolOutput.of("x" * 100), 50, tmp_path / "over" / "flows")
    paths = [tmp_path / "over", *(tmp_path / "over").rglob("*")]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
    assert modes == {"over": 0o700, "flows": 0o700, "sess": 0o700, "tu_1.txt": 0o600}


def test_a_file_that_cannot_be_written_is_told_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "sess").write_bytes(b"")
    text = cap(ToolOutput.of("x" * 100), 50, tmp_path).text
    assert text.startswith("[truncated: 100 chars in all; the whole text could not be stored: cannot create")
    text = cap(ToolOutput.of("x" * 100), 50, None).text
    assert text == "[truncated: 100 chars in all]\nxxxxxxx\n[…]\nxxxxxxx"


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX file systems")
def test_a_link_at_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep me", encoding="utf-8")
    (tmp_path / "sess").mkdir()
    (tmp_path / "sess" / "tu_1.txt").symlink_to(victim)
    cap(ToolOutput.of("x" * 100), 50, tmp_path)
    assert victim.read_text(encoding="utf-8") == "keep me"


def test_lone_surrogates_do_not_stop_the_file(tmp_path: Path) -> None:
    cap(ToolOutput.of("\ud800" * 100), 50, tmp_path)
    assert (tmp_path / "sess" / "tu_1.txt").read_text(encoding="utf-8") == "\ufffd" * 100


ATTACKS = [
    "..",
    ".",
    "",
    "/",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    "~",
    "con",
    "NUL",
    "x" * 500,
    "a\ud800",
]


@pytest.mark.parametrize("id", [*ATTACKS, "functions.Read:0", "日本", "a\ud800"])
def test_ids_from_outside_stay_inside_the_directory(tmp_path: Path, id: str) -> None:
    cap_output(
        ToolOutput.of("x" * 100), cap_chars=50, directory=tmp_path / "d", session_id=id, tool_use_id=id
    )
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path.resolve().parents[1] == (tmp_path / "d").resolve()
    assert path.read_text(encoding="utf-8") == "x" * 100


@example("0" * 81)
@given(st.text(max_size=120))
def test_a_file_name_is_safe_short_and_the_same_each_time(id: str) -> None:
    name = file_name(id)
    assert 0 < len(name) <= 100
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
    assert file_name(id) == name
    assert file_name(name) == name


def test_names_of_devices_are_no_file_names() -> None:
    assert [file_name(id) == id for id in ("con", "NUL", "com1", "console")] == [False, False, False, True]


def test_ids_that_look_alike_when_cleaned_have_files_of_their_own() -> None:
    assert len({file_name(id) for id in ["a.b", "a/b", "a b", "a_b"]}) == 4


def test_a_result_of_an_earlier_process_leaves_the_files_of_others_with_its_id_alone(tmp_path: Path) -> None:
    def turn(text: str, *ids: str) -> tuple[Message, Message]:
        uses = tuple(ToolUseBlock(id=id, name="Read", input={}) for id in ids)
        results = tuple(ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),)) for id in ids)
        return Message(role="assistant", content=uses), Message(role="user", content=results)

    history = (*turn("a" * 500, "call_0"), *turn("b" * 500, "call_0"), *turn("c" * 500, "call_1"))
    capped = cap_history(history, cap_chars=50, directory=tmp_path, session_id="sess")
    named = [
        message.tool_results[0].content[0].text.partition(" is in ")[2].rstrip("]")  # type: ignore[union-attr]
        for message in capped
        if message.tool_results
    ]
    assert named[0] == str(tmp_path / "sess" / "call_0.txt")
    assert [Path(name).read_text() for name in named] == ["a" * 500, "b" * 500, "c" * 500]


def test_behind_a_summary_and_beside_others_nobody_knows_which_ids_are_taken(tmp_path: Path) -> None:
    result = ToolResultBlock(tool_use_id="call_0", content=(TextBlock(text="b" * 500),))
    rest = (
        Message(role="assistant", content=(ToolUseBlock(id="call_0", name="Read", input={}),)),
        Message(role="user", content=(result,)),
    )
    summary = Message(role="system", content=(TextBlock(text=f"{PREFIX} much was read"),))
    kept = tmp_path / "sess" / "call_0.txt"
    for history, is_alone in (((summary, *rest), True), (rest, False)):
        cap(ToolOutput.of("a" * 500), 50, tmp_path, "call_0")
        cap_history(history, cap_chars=50, directory=tmp_path, session_id="sess", is_alone=is_alone)
        assert kept.read_text() == "a" * 500
        assert {path.read_text()[:1] for path in tmp_path.rglob("*.txt")} == {"a", "b"}
        for path in tmp_path.rglob("*.txt"):
            path.unlink()
