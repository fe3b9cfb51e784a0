"""An image as a model takes it: as it is where it fits, smaller where it does not, refused where neither."""

from __future__ import annotations

import base64
from io import BytesIO

import media_kit
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from caliban_images import MediaLimits, MediaRefused, PreparedImage, check_image, prepare_image

FORMS = ("PNG", "JPEG", "GIF", "WEBP")
WHOLE = {form: media_kit.picture(24, 16, form) for form in FORMS}
WHOLE["GIF animated"] = media_kit.animation(24, 16)
WHOLE["WEBP animated"] = media_kit.animation(24, 16, "WEBP")


def opened(prepared: PreparedImage) -> Image.Image:
    assert prepared.block.data is not None
    data = base64.b64decode(prepared.block.data)
    assert len(data) == prepared.size_bytes
    image = Image.open(BytesIO(data))
    image.load()
    assert (image.size, f"image/{image.format}".lower()) == (
        (prepared.facts.width, prepared.facts.height),
        prepared.block.media_type,
    )
    return image


@pytest.mark.parametrize("name", WHOLE)
def test_what_fits_stays_byte_for_byte(name):
    prepared = prepare_image(WHOLE[name], MediaLimits())
    assert base64.b64decode(prepared.block.data or "") == WHOLE[name]
    assert prepared.note == ""


@pytest.mark.parametrize("form", FORMS)
def test_a_long_side_is_scaled_down_to_the_target(form):
    prepared = prepare_image(media_kit.plain(2000, 500, form), MediaLimits(target_side=400))
    assert opened(prepared).size == (400, 100)
    assert "scaled down from 2000×500 pixels" in prepared.note
    assert prepared.block.media_type == ("image/jpeg" if form == "JPEG" else "image/png")


def test_a_line_of_pixels_stays_a_line():
    assert opened(prepare_image(media_kit.plain(5000, 1), MediaLimits(target_side=100))).size == (100, 1)


@pytest.mark.parametrize("form", FORMS)
def test_too_many_bytes_are_made_fewer(form):
    limits = MediaLimits(max_bytes=9_000)
    prepared = prepare_image(media_kit.picture(200, 200, form), limits)
    opened(prepared)
    assert prepared.size_bytes <= 9_000


def test_what_cannot_be_made_small_enough_is_refused():
    with pytest.raises(MediaRefused, match="as small as 100 bytes"):
        prepare_image(media_kit.picture(200, 200), MediaLimits(max_bytes=100))


def test_a_photograph_stands_upright_and_says_nothing_of_where_it_was_taken():
    turned = Image.new("RGB", (200, 100), "red")
    turned.paste("blue", (0, 0, 100, 100))
    exif = Image.Exif()
    exif[0x0112] = 6  # its top is on the right
    exif[0x010F] = "a maker"
    data = media_kit.saved(turned, "JPEG", exif=exif)
    image = opened(prepare_image(data, MediaLimits(target_side=50)))
    assert image.size == (25, 50)
    assert image.getpixel((12, 5))[2] > 200  # what was on the left is on top
    assert dict(image.getexif()) == {}


def test_the_first_frame_stands_for_an_animation_that_does_not_go_as_it_is():
    data = media_kit.animation(40, 40)
    prepared = prepare_image(data, MediaLimits(stills_only=True))
    image = opened(prepared)
    assert (image.format, getattr(image, "n_frames", 1)) == ("PNG", 1)
    assert image.convert("RGB").getpixel((3, 3)) == (255, 0, 0)
    assert "the first frame" in prepared.note
    scaled = prepare_image(media_kit.animation(400, 40, "WEBP"), MediaLimits(target_side=100))
    assert opened(scaled).size == (100, 10)


def test_a_kind_that_the_model_does_not_take_is_converted():
    prepared = prepare_image(media_kit.plain(9, 9, "GIF"), MediaLimits(image_types=("image/png",)))
    assert (opened(prepared).format, prepared.note.startswith("converted from")) == ("PNG", True)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_of_a_picture_can_be_scaled(mode):
    form = "JPEG" if mode == "CMYK" else "PNG"
    data = media_kit.saved(Image.new(mode, (300, 200)), form)
    assert opened(prepare_image(data, MediaLimits(target_side=30))).size == (30, 20)
    assert opened(prepare_image(data, MediaLimits(target_side=30, max_bytes=700))).size[0] <= 30


def test_a_clear_picture_lies_on_white_where_it_becomes_a_jpeg():
    data = media_kit.saved(Image.new("RGBA", (300, 300), (0, 0, 0, 0)), "PNG")
    image = opened(prepare_image(data, MediaLimits(target_side=100, image_types=("image/jpeg",))))
    assert image.format == "JPEG" and min(image.getpixel((5, 5))) > 250


@given(
    form=st.sampled_from(sorted(WHOLE)),
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=6)), max_size=4),
    cut=st.floats(0, 1),
    limits=st.sampled_from([MediaLimits(), MediaLimits(target_side=8), MediaLimits(max_bytes=200)]),
)
@settings(deadline=None, max_examples=examples(300))
def test_any_damage_gives_an_image_or_words(form, edits, cut, limits):
    data = WHOLE[form]
    for place, new in edits:
        at = int(place * len(data))
        data = data[:at] + new + data[at + len(new) :]
    data = data[: int(len(data) * (0.5 + cut / 2)) + 1]
    try:
        prepared = prepare_image(data, limits)
    except MediaRefused as refused:
        assert refused.message
        return
    assert prepared.size_bytes <= limits.max_bytes
    assert prepared.facts == check_image(base64.b64decode(prepared.block.data or ""))


@given(st.binary(max_size=300), st.sampled_from([b"", *(data[:30] for data in WHOLE.values())]))
@settings(deadline=None)
def test_what_is_no_image_is_refused_in_words(data, head):
    with pytest.raises(MediaRefused):
        prepare_image(head + data, MediaLimits())
