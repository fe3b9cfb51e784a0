"""Images are looked at to their end before anybody sends them: whole ones pass, all else is told."""

from __future__ import annotations

import base64
import random
import struct
import zlib

import pytest

from caliban_common.errors import DataError
from caliban_common.testing import sample_image
from caliban_images.header import MAX_PIXELS, ImageFacts, check_image, image_type

# Five by three pixels, written by an imaging library.
IMAGES = {
    "png gray": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAADAQAAAABzTfhVAAAADklEQVR4nGPQYHjAdAEABEIB2099MzQAAAAASUVORK5CYII="
    ),
    "png rgba": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAADCAYAAABbNsX4AAAAR0lEQVR4nAXBMQ1AMQgFwEfytybVUA9dO6IMKTXDXAEIQAID"
        "ef8Oqsq1Fs2M5xx2N797L8YYeO8hM7H3BqqKc066OyOCIsIfyfkgKkd0228AAAAASUVORK5CYII="
    ),
    "gif animated": (
        "R0lGODdhBQADAIMAAP39/fn5+fHx8ebm5t3d3cfHx8LCwoKCgmtra0RERDw8PDAwMCAgIA4ODgEBAQAAACwAAAAABQADAAAI"
        "FAATMDigAMAAAQYQLAjQoAABBwEBACH5BAEAAAoALAAAAAAFAAMAg/Hx8d3d3cfHx8LCwoKCgmtrazw8PCAgIA4ODgAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAgSABMYKBAgQQICCgQYPAAAQYKAADs="
    ),
    "webp lossless": (
        "UklGRmwAAABXRUJQVlA4TF8AAAAvBIAAAHegoI0kNXj4zCjhbbyCNpLU4OEzo4S38QraSFKDh8+MEt7Gz38g4pyzMYbWmpQS"
        "55z3nnuv/z9Vdc7hvRdj5JwjIqCmkRTonv4cUKIFK1hDCwYj+h89+XUdAAA="
    ),
    "webp animated": (
        "UklGRuAAAABXRUJQVlA4WAoAAAACAAAABAAAAgAAQU5JTQYAAAAAAAAAAABBTk1GWAAAAAAAAAAAAAQAAAIAAAAAAAJWUDgg"
        "QAAAANABAJ0BKgUAAwABQCYlpAADbBz+iSUQAP6yP8F+p7YL//Ex/hrP5Wy/vmVX8TvdLX+1Ef2lv/58l/llYoAAAABBTk1G"
        "VAAAAAAAAAAAAAQAAAIAAAAAAABWUDggPAAAALQBAJ0BKgUAAwAAACYlpAADYvq+M6AA/u0v8tsVlf4a//2Advv1mZ/wuu2/"
        "+j9sdc9XpCocD+6kRAAAAA=="
    ),
    "jpeg progressive": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcp"
        "LDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"
        "MjIyMjIyMjIyMjIyMjL/wgARCAADAAUDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/xAAUAQEAAAAAAAAAAAAA"
        "AAAAAAAA/9oADAMBAAIQAxAAAAGEH//EABcQAQADAAAAAAAAAAAAAAAAAAMBBAX/2gAIAQEAAQUC0WSvH//EABQRAQAAAAAA"
        "AAAAAAAAAAAAAAD/2gAIAQMBAT8Bf//EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQIBAT8Bf//EABoQAAICAwAAAAAAAAAA"
        "AAAAAAECAyEAERL/2gAIAQEABj8CQwOYtvIp4qg1Z//EABgQAAMBAQAAAAAAAAAAAAAAAAERMQBR/9oACAEBAAE/ITPCcylH"
        "Gd//2gAMAwEAAgADAAAAEAP/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oACAEDAQE/EH//xAAUEQEAAAAAAAAAAAAAAAAAAAAA"
        "/9oACAECAQE/EH//xAAYEAEBAAMAAAAAAAAAAAAAAAABEQAhMf/aAAgBAQABPxA8Vy7QKSMbOtVq5//Z"
    ),
}
PLAIN = {"png", "gif", "webp", "jpeg"}
TYPES = {"png": "image/png", "gif": "image/gif", "webp": "image/webp", "jpeg": "image/jpeg"}


def image(name: str) -> bytes:
    return sample_image(f"image/{name}") if name in PLAIN else base64.b64decode(IMAGES[name])


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, data: bytes, *, interlace: int = 0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlace)
    packed = chunk(b"IDAT", zlib.compress(data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + packed + chunk(b"IEND", b"")


@pytest.mark.parametrize("name", [*IMAGES, *sorted(PLAIN)])
def test_a_whole_image_passes_with_its_size(name):
    animated = "animated" in name
    facts = ImageFacts(media_type=TYPES[name.split()[0]], width=5, height=3, is_animated=animated)
    assert check_image(image(name)) == facts
    assert check_image(image(name) + b"more") == facts


@pytest.mark.parametrize("name", [*IMAGES, *sorted(PLAIN)])
def test_an_image_that_is_cut_off_anywhere_is_refused(name):
    data = image(name)
    for end in range(len(data)):
        with pytest.raises(DataError):
            check_image(data[:end])


@pytest.mark.parametrize("magic", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x40\0\0\0WEBP"])
@pytest.mark.parametrize("rest", ["random", "text", "zeros"])
def test_what_only_begins_like_an_image_is_refused(magic, rest):
    random.seed(5)
    data = {"random": random.randbytes(500), "text": b"some text\n" * 50, "zeros": bytes(500)}[rest]
    assert image_type(magic + data) is not None
    with pytest.raises(DataError):
        check_image(magic + data)


@pytest.mark.parametrize(
    ("width", "height"), [(65_000, 65_000), (65_000, MAX_PIXELS // 60_000), (0, 5), (2**31, 2**31)]
)
def test_the_size_is_read_before_anything_is_unpacked(width, height):
    with pytest.raises(DataError, match=r"pixels|size"):
        check_image(png(width, height, bytes(10)))
    gif = bytearray(image("gif"))
    gif[6:10] = struct.pack("<HH", min(width, 65_535), min(height, 65_535))
    with pytest.raises(DataError, match=r"pixels|size"):
        check_image(bytes(gif))


def test_an_image_with_too_little_data_is_refused_and_one_that_unpacks_to_much_is_not_unpacked():
    assert check_image(png(4, 4, bytes(20))).width == 4
    with pytest.raises(DataError):
        check_image(png(4, 4, bytes(19)))
    assert check_image(png(4, 4, bytes(200_000_000))).height == 4


def test_an_interlaced_image_is_counted_pass_by_pass():
    rows = sum(
        count * (1 + columns) for columns, count in ((1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4))
    )
    assert check_image(png(8, 8, bytes(rows), interlace=1)).width == 8
    with pytest.raises(DataError):
        check_image(png(8, 8, bytes(rows - 1), interlace=1))


def test_a_changed_byte_of_a_png_is_noticed():
    data = bytearray(image("png"))
    for place in range(len(data)):
        data[place] ^= 0x10
        with pytest.raises(DataError):
            check_image(bytes(data))
        data[place] ^= 0x10


def test_other_bytes_are_no_image():
    assert [image_type(data) for data in (b"", b"BM", b"text", b"RIFF1234WAVE")] == [None] * 4
    with pytest.raises(DataError):
        check_image(b"text")
