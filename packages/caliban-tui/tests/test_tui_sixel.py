"""Sixels, read back by a decoder of the tests: what is drawn is the picture, and garbage draws nothing."""

from __future__ import annotations

import re
from base64 import b64encode
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from caliban_common.message import ImageBlock
from caliban_images.indexed import CLEAR, IndexedPicture, indexed_picture
from caliban_tui.line import text_of
from caliban_tui.render.images import image_lines, image_protocol
from caliban_tui.render.look import TranscriptLook
from caliban_tui.render.sixel import sixel_picture, sixels

Colour = tuple[int, int, int]


def drawn(sequence: str) -> tuple[int, int, dict[tuple[int, int], Colour]]:
    """Size and pixels of a sixel sequence, colours in hundredths, by the description of the VT340."""
    whole = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)(.*)\x1b\\', sequence, re.S)
    assert whole is not None
    palette: dict[int, Colour] = {}
    pixels: dict[tuple[int, int], Colour] = {}
    x, y, now = 0, 0, 0
    for sign in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)", whole[3]):
        if sign[1] and sign[2]:
            palette[int(sign[1])] = (int(sign[2]), int(sign[3]), int(sign[4]))
        elif sign[1]:
            now = int(sign[1])
        elif sign[8]:
            x = 0
        elif sign[9]:
            x, y = 0, y + 6
        else:
            bits = ord(sign[6] or sign[7]) - 63
            run = int(sign[5] or 1)
            for column in range(x, x + run):
                for row in range(6):
                    if bits >> row & 1:
                        assert (column, y + row) not in pixels
                        pixels[column, y + row] = palette[now]
            x += run
    assert re.sub(r"#\d+(?:;2;\d+;\d+;\d+)?|!\d+[?-~]|[?-~]|\$|-", "", whole[3]) == ""
    return int(whole[1]), int(whole[2]), pixels


@given(st.data(), st.integers(1, 40), st.integers(1, 20), st.integers(1, 8))
def test_every_pixel_comes_back_in_its_colour_and_a_clear_one_not_at_all(
    data: st.DataObject, width: int, height: int, colours: int
) -> None:
    palette = tuple((n * 255 // colours, 255 - n, n) for n in range(colours))
    numbers = st.sampled_from([*range(colours), CLEAR])
    pixels = bytes(data.draw(st.lists(numbers, min_size=width * height, max_size=width * height)))
    picture = IndexedPicture(width=width, height=height, palette=palette, pixels=pixels)
    across, down, dots = drawn(sixels(picture))
    assert (across, down) == (width, height)
    for place, number in enumerate(pixels):
        at = (place % width, place // width)
        wanted = None if number == CLEAR else tuple(round(part / 2.55) for part in palette[number])
        assert dots.get(at) == wanted
    assert all(x < width and y < height for x, y in dots)


def encoded(image: Image.Image, form: str = "PNG") -> bytes:
    out = BytesIO()
    image.save(out, form)
    return out.getvalue()


def test_a_picture_is_made_to_fit_keeps_its_shape_and_its_clear_parts() -> None:
    image = Image.new("RGBA", (200, 100), (255, 0, 0, 255))
    image.paste((0, 0, 255, 255), (100, 0, 200, 100))
    image.paste((0, 0, 0, 0), (0, 0, 200, 20))
    across, down, dots = drawn(sixel_picture(encoded(image), 60, 1000))
    assert (across, down) == (60, 30)
    assert dots[5, 25] == (100, 0, 0) and dots[55, 25] == (0, 0, 100)
    assert (5, 1) not in dots
    assert sixel_picture(encoded(image.convert("RGB"), "JPEG"), 60, 1000)
    for mode in ("L", "P", "1", "I;16", "CMYK"):
        form = "JPEG" if mode == "CMYK" else "PNG"
        assert drawn(sixel_picture(encoded(Image.new(mode, (9, 9)), form), 60, 60))[:2] == (9, 9)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\x1b[2J" * 20, b"\0" * 1000])
def test_what_is_no_picture_draws_nothing_and_is_named(data: bytes) -> None:
    assert sixel_picture(data, 100, 100) == ""
    image = ImageBlock.of("image/png", b64encode(data).decode())
    lines = list(image_lines(image, 80, TranscriptLook(images="sixel")))
    assert len(lines) == 1 and text_of(lines[0]).startswith("  [image: image/png")


def test_a_picture_without_room_or_half_of_one_draws_nothing() -> None:
    data = encoded(Image.effect_noise((64, 64), 50))
    assert indexed_picture(data, 0, 10, 8) is None and sixel_picture(data, 100, 5) == ""
    assert sixel_picture(data[: len(data) // 2], 100, 100) == ""
    size = (2).to_bytes(4, "big")
    head = data[:16] + size + size + data[24:400]
    image = ImageBlock.of("image/png", b64encode(head).decode())
    lines = list(image_lines(image, 80, TranscriptLook(images="sixel")))
    assert "sixels need Pillow, and a picture that it reads" in text_of(lines[-1])


def test_it_covers_the_cells_that_are_left_for_it_and_no_more() -> None:
    data = b64encode(encoded(Image.new("RGB", (2000, 2000), "white"))).decode()
    for cell in (None, (8, 17), (20, 45)):
        look = TranscriptLook(images="sixel", cell=cell)
        lines = list(image_lines(ImageBlock.of("image/png", data), 80, look))
        sequence = lines[-1][0].link or ""
        match = re.search(r'"1;1;(\d+);(\d+)#', sequence)
        assert match is not None
        rows = len(lines) - 1
        assert sequence.startswith(f"\x1b7\x1b[{rows}A") and sequence.endswith("\x1b\\\x1b8")
        assert 0 < int(match[2]) <= rows * (cell or (6, 12))[1]


def test_sixels_come_behind_what_draws_whole_pictures() -> None:
    assert image_protocol("", {"TERM": "xterm-256color"}, "sixel") == "sixel"
    assert image_protocol("", {"TERM_PROGRAM": "WezTerm"}, "sixel") == "iterm2"
    assert image_protocol("", {"TERM": "xterm-kitty"}, "sixel") == "kitty"
    assert image_protocol("", {"TERM": "screen"}, "sixel") == ""
    assert image_protocol("none", {}, "sixel") == ""
