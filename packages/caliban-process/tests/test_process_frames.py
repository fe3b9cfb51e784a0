"""Progress bars: what stood on the screen in the end is kept, whatever the pieces it came in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_process.frames import LastFrames
from caliban_process.output import Capture, OutputLimit

ROWS = {
    "bar": (
        b"".join(b"\rDownloading %d%%" % n for n in range(2000)) + b"\ndone\n",
        b"Downloading 1999%\ndone\n",
    ),
    "return first": (b"10%\r20%\r30%\r\nnext\r\n", b"30%\r\nnext\r\n"),
    "end": (b"a\n10%\r20%\r", b"a\n20%\r"),
    "colours": (b"\r\x1b[32m10%\x1b[0m\r\x1b[2K\x1b[32m20%\x1b[0m\n", b"20%\n"),
    "title": (b"\x1b]0;10%\x07\x1b]0;20%\x1b\\ok\n", b"ok\n"),
    "windows text": (b"a\r\nb\r\n\r\nc", b"a\r\nb\r\n\r\nc"),
    "plain": (b"a\nb\n\nc", b"a\nb\n\nc"),
    "binary": (b"\r\r\0\x1b[m\r\n", b"\r\r\0\x1b[m\r\n"),
    "cleared": (b"working\r       \rdone\n", b"done\n"),
}


def shown(pieces: list[bytes]) -> bytes:
    frames = LastFrames()
    return b"".join(map(frames.feed, pieces)) + frames.end()


@pytest.mark.parametrize("name", ROWS)
def test_the_last_frame_of_each_line_is_kept(name):
    data, kept = ROWS[name]
    assert shown([data]) == kept
    if name != "binary":
        assert shown([data[at : at + 1] for at in range(len(data))]) == kept


@given(
    st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\x1b[1m", b"\x1b]0;t\x07", b" "]), max_size=12), st.data()
)
def test_the_pieces_do_not_matter(parts, data):
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert shown(pieces) == shown([whole])


@given(st.binary().filter(lambda data: b"\r" not in data and b"\x1b" not in data))
def test_other_output_passes_byte_for_byte(data):
    assert shown([data]) == data


def test_a_long_line_and_a_long_bar_need_no_room():
    frames = LastFrames()
    assert len(frames.feed(b"x" * 1_000_000)) == 1_000_000
    bar = LastFrames()
    for _ in range(100):
        assert bar.feed(b"\rstep" * 10_000) == b""
    assert bar.end() == b"step"


def test_what_was_written_over_does_not_count_towards_the_limit():
    capture = Capture(OutputLimit(head_bytes=10, tail_bytes=10, last_frames=True))
    for number in range(1000):
        capture.feed(b"\r%d%%" % number)
    capture.feed(b"\nok\n")
    assert capture.output.text() == "999%\nok\n"
