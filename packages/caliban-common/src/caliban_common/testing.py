"""Parts for tests: ids that are known beforehand, messages compared by content, and whole little images."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from caliban_common.message import Message

_IMAGES: Final[Mapping[str, str]] = {
    "image/png": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAADCAIAAADUVFKvAAAAO0lEQVR4nAEwAM//AERERCAgIIKCgjw8PP39/QSioqILCwvR"
        "0dHp6ekzMzMA+fn5Dg4Ox8fH3d3dAQEB9uIWNObm8kQAAAAASUVORK5CYII="
    ),
    "image/gif": (
        "R0lGODdhBQADAIMAAP39/fn5+fHx8ebm5t3d3cfHx8LCwoKCgmtra0RERDw8PDAwMCAgIA4ODgEBAQAAACwAAAAABQADAAAI"
        "FAATMDigAMAAAQYQLAjQoAABBwEBADs="
    ),
    "image/webp": (
        "UklGRkYAAABXRUJQVlA4IDoAAACQAQCdASoFAAMAAUAmJaQAAudP3WAA/rI/1z8qJpT/8TH+Gs/lbL++ZVfxO/Xf//1B3/9A"
        "HopgAAAA"
    ),
    "image/jpeg": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcp"
        "LDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"
        "MjIyMjIyMjIyMjIyMjL/wAARCAADAAUDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAA"
        "AgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6"
        "Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXG"
        "x8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREA"
        "AgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5"
        "OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPE"
        "xcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDD+I+s6j4chsZtCvJdLee/1K3lFgfIV44b"
        "grECEwDtDNz1OSTkmiiigD//2Q=="
    ),
}


def sample_image(media_type: str) -> bytes:
    """A whole image of that type, five pixels wide and three high."""
    return b64decode(_IMAGES[media_type])


class CountedIds:
    """A source of ids that counts: `m1`, `m2`, …"""

    def __init__(self, prefix: str = "m") -> None:
        self._prefix = prefix
        self._count = 0

    def __call__(self) -> str:
        """The next id."""
        self._count += 1
        return f"{self._prefix}{self._count}"


def without_ids(messages: Iterable[Message]) -> tuple[Message, ...]:
    """`messages` with empty ids: equal when they say the same."""
    return tuple(replace(message, id="") for message in messages)
