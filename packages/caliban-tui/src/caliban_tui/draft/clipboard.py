"""The clipboard: read with the programs of a desktop, written with a sequence of the terminal's or them."""

from __future__ import annotations

import base64
import binascii
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from caliban_common.errors import CalibanError
from caliban_common.files import ensure_private_dir, read_regular, write_atomic
from caliban_common.lazy import lazy_pattern
from caliban_tui.errors import ClipboardFailed

MAX_OSC52_BYTES: Final = 100_000
"""Terminals drop a longer one."""

MAX_IMAGE_BYTES: Final = 100_000_000
"""Of a file that is dropped on the terminal: no model takes a larger image."""

MAX_PATH: Final = 4096

IMAGE_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic")
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
ESCAPED: Final = lazy_pattern(r"\\(.)")
APPLE_DATA: Final = lazy_pattern(r"«data \w{4}([0-9A-Fa-f]+)»")
POWERSHELL_IMAGE: Final = (
    "Add-Type -AssemblyName System.Windows.Forms; $i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;$i.Save($m,'Png');[Convert]::ToBase64String($m.ToArray())}"
)


class ClipboardPrograms(Protocol):
    """What runs the programs of a desktop."""

    @property
    def environ(self) -> Mapping[str, str]:
        """The person's environment."""
        ...

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        """What a program prints. Raises `CalibanError` where it cannot be started or fails."""
        ...

    def which(self, name: str) -> str | None:
        """Where a program is."""
        ...


class Clipboard:
    """The clipboard of a desktop, through the first of its programs that is there."""

    def __init__(self, programs: ClipboardPrograms) -> None:
        self._programs = programs

    async def image(self) -> tuple[bytes, str] | None:
        """An image and the suffix of its kind; `None` where there is none."""
        match self._program():
            case "wl-paste":
                kinds = await self._printed("wl-paste", "--list-types")
                kind = _image_type(kinds)
                return await self._image_of(kind, "wl-paste", "--type", kind) if kind else None
            case "xclip":
                selection = ("xclip", "-selection", "clipboard", "-out", "-target")
                kind = _image_type(await self._printed(*selection, "TARGETS"))
                return await self._image_of(kind, *selection, kind) if kind else None
            case "pbpaste":
                printed = await self._printed("osascript", "-e", "the clipboard as «class PNGf»")
                match = APPLE_DATA.search(printed.decode("utf-8", "replace"))
                return (bytes.fromhex(match[1]), ".png") if match else None
            case "powershell.exe":
                printed = await self._printed(
                    "powershell.exe", "-NoProfile", "-Sta", "-Command", POWERSHELL_IMAGE
                )
                try:
                    data = base64.b64decode(printed.strip(), validate=True)
                except binascii.Error:
                    return None
                return (data, ".png") if data else None
        return None

    async def text(self) -> str:
        """The text of it, empty where there is none. Raises `ClipboardFailed` without a program for it."""
        argv = {
            "wl-paste": ("wl-paste", "--no-newline", "--type", "text"),
            "xclip": ("xclip", "-selection", "clipboard", "-out"),
            "pbpaste": ("pbpaste",),
            "powershell.exe": ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard -Raw"),
        }.get(self._program())
        if argv is None:
            raise ClipboardFailed(
                "no program that reads the clipboard is there",
                hint="wl-paste, xclip, pbpaste or powershell.exe does; the terminal's own paste needs none",
            )
        return (await self._printed(*argv)).decode("utf-8", "replace").replace("\r\n", "\n")

    async def copy(self, text: str) -> None:
        """Put `text` on it. Raises `ClipboardFailed`."""
        argv = {
            "wl-paste": ("wl-copy",),
            "xclip": ("xclip", "-selection", "clipboard", "-in"),
            "pbpaste": ("pbcopy",),
            "powershell.exe": ("clip.exe",),
        }.get(self._program())
        if argv is None:
            raise ClipboardFailed("no program that writes the clipboard is there")
        try:
            await self._programs.output(argv, ".", text.encode("utf-8", "replace"))
        except CalibanError as error:
            raise ClipboardFailed(f"{argv[0]} failed: {error.message}") from error

    def _program(self) -> str:
        names = ["pbpaste", "powershell.exe"]
        if self._programs.environ.get("DISPLAY"):
            names.insert(0, "xclip")
        if self._programs.environ.get("WAYLAND_DISPLAY"):
            names.insert(0, "wl-paste")
        return next((name for name in names if self._programs.which(name)), "")

    async def _image_of(self, kind: str, *argv: str) -> tuple[bytes, str] | None:
        data = await self._printed(*argv)
        return (data, f".{kind.partition('/')[2]}") if data else None

    async def _printed(self, *argv: str) -> bytes:
        """What a program prints; nothing where it fails, as all do on an empty clipboard."""
        try:
            return await self._programs.output(argv, ".", b"")
        except CalibanError:
            return b""


def _image_type(kinds: bytes) -> str:
    listed = kinds.decode("ascii", "replace").split()
    return next((kind for kind in IMAGE_TYPES if kind in listed), "")


def osc52(text: str, *, in_tmux: bool = False) -> bytes | None:
    """The sequence that asks the terminal to copy `text`; `None` where it is too long for one."""
    data = base64.b64encode(text.encode("utf-8", "replace"))
    if len(data) > MAX_OSC52_BYTES:
        return None
    sequence = b"\x1b]52;c;" + data + b"\x07"
    return b"\x1bPtmux;" + sequence.replace(b"\x1b", b"\x1b\x1b") + b"\x1b\\" if in_tmux else sequence


def kept_image(data: bytes, suffix: str, folder: Path) -> Path:
    """Write an image that was pasted into a private folder; where it is. Raises `CalibanError`."""
    ensure_private_dir(folder)
    path = folder / f"pasted-{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}{suffix}"
    write_atomic(path, data, mode=0o600, durable=False)
    return path


def copied_image(image: str, folder: Path) -> Path:
    """Copy an image of anywhere into a private folder; where it is. Raises `CalibanError`."""
    path = Path(image).expanduser()
    return kept_image(read_regular(path, max_bytes=MAX_IMAGE_BYTES), path.suffix.lower(), folder)


def dropped_image(text: str) -> str | None:
    """The path of an image that was dropped on the terminal, which types it as a shell would want it."""
    line = text.strip() if len(text) <= 2 * MAX_PATH else ""
    if not line or "\n" in line or len(line) > MAX_PATH:
        return None
    if line.startswith("file://"):
        line = unquote(urlsplit(line).path)
    elif len(line) > 1 and line[0] == line[-1] and line[0] in "'\"":
        line = line[1:-1]
    elif re.search(r"(?<!\\)\s", line):
        return None
    else:
        line = ESCAPED.sub(r"\1", line)
    if not line.lower().endswith(IMAGE_SUFFIXES) or not line.startswith(("/", "~/")):
        return None
    try:
        return line if Path(line).expanduser().is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None
