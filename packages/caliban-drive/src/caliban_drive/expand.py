"""`@path` in a prompt: the files that a person names, attached to what they say.

    @notes.txt   @"a b.txt"   @a\\ b.txt   @src/x,y.txt.   (@main.py)   @main.py:10

A reference begins a word, so an e-mail address is none; punctuation after it belongs to the sentence unless
a file of that name is there, and so do numbers of lines, and words of a script that has no spaces between
them. A name without a file stays text. Only words that a person typed are expanded: text that was piped in
may come from anywhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from caliban_common.errors import CalibanError, DataError, TooLarge
from caliban_common.files import read_regular
from caliban_common.images import check_image, image_type
from caliban_common.message import Block, ImageBlock, Message, TextBlock
from caliban_common.paths import expand_user
from caliban_common.text import clean
from caliban_drive.errors import AttachmentRefused

_SCRIPTS = "\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
REFERENCE = re.compile(
    rf"""(?:^|(?<=[\s(\[{{"'<`“‘«„（［「『【《〈、。，：；！？{_SCRIPTS}]))@(?:"([^"\n]+)"|((?:\\.|[^\s\\"])+))""",
    re.S,
)
QUOTED = re.compile(r"'([^'\n]+)'")
ESCAPE = re.compile(r"\\(.)", re.S)
PATH_LIKE = re.compile(r"[\w~. /\\-]*(?:\.[A-Za-z0-9]{1,8}|/[\w. -]+)")
TRAILING = ".,;:!?)]}>'\"`…”’»“。、，．：；！？）］」』】》〉"
LINES = re.compile(r"(?::\d+(?:[:-]\d+)*|#L\d+(?:-L?\d+)?)$")
WIDE = re.compile(rf"(?<=[\x21-\x7e」』】》〉）])[{_SCRIPTS}]+$")
"""Words that follow a name at once, in scripts that put no spaces between words."""
MAX_REFERENCES = 100
MAX_NAME_CHARS = 4096


class ExpandOptions(Struct, frozen=True, kw_only=True):
    """Where relative names start, and how much may be attached: bytes of one file, bytes of all.

    `objection` says why a file may not be attached; `left_out` is told of each name that stays text.
    """

    workspace: Path
    max_file_bytes: int = 262_144
    budget_bytes: int = 1_048_576
    objection: Callable[[Path], str | None] | None = None
    left_out: Callable[[str], None] | None = None


def expand(prompt: str, options: ExpandOptions) -> Message:
    """The user message of `prompt`: its text as it is, then one block per file it names.

    Raises `AttachmentRefused` for a file above a bound, and for what is no file to read.
    """
    blocks: list[Block] = [TextBlock(text=prompt)]
    left = options.budget_bytes
    for name, path in references(prompt, options.workspace):
        objection = options.objection(path) if options.objection is not None else None
        if objection is not None:
            _tell(options, f"@{name} is not attached: {objection}")
            continue
        data = _read(name, path, options.max_file_bytes)
        left -= len(data)
        if left < 0:
            raise AttachmentRefused(
                f"the attached files have more than {options.budget_bytes:,} bytes together",
                hint="name fewer files, or raise `budget_bytes`",
            ).with_remedy("attachment_budget")
        blocks.append(_block(name, data))
    for name in _missing(prompt, options.workspace):
        _tell(options, f"@{name} is not attached: there is no such file")
    return Message(role="user", content=tuple(blocks))


def image_block(name: str, path: Path, max_bytes: int) -> ImageBlock:
    """The image at `path`; messages begin with `name`. Raises `AttachmentRefused`."""
    try:
        data = read_regular(path, max_bytes=max_bytes)
    except TooLarge as error:
        raise AttachmentRefused(
            f"{name}: {error.message}", hint="a larger one needs a larger `max_bytes`"
        ).with_remedy("image_size") from error
    except CalibanError as error:
        raise AttachmentRefused(f"{name}: {error.message}", hint=error.hint) from error
    media_type = image_type(data)
    if media_type is None:
        raise AttachmentRefused(f"{name}: it is no PNG, JPEG, GIF or WebP image")
    return ImageBlock.of(media_type=media_type, data=base64.b64encode(data).decode("ascii"))


def _tell(options: ExpandOptions, message: str) -> None:
    if options.left_out is not None:
        options.left_out(message)


def _missing(prompt: str, workspace: Path) -> Iterator[str]:
    """The names in `prompt` that look like those of files, and are none."""
    names: dict[str, None] = {}
    for match in REFERENCE.finditer(prompt):
        quoted, word = match.groups()
        name = (quoted or ESCAPE.sub(r"\1", word)).rstrip(TRAILING)
        looks_like_one = PATH_LIKE.fullmatch(name) is not None
        if (
            looks_like_one
            and _existing(match, workspace) is None
            and not (workspace / expand_user(name)).is_dir()
        ):
            names[name] = None
    yield from list(names)[:MAX_REFERENCES]


def references(prompt: str, workspace: Path) -> Iterator[tuple[str, Path]]:
    """The names in `prompt` behind which there is something, each once, with their paths."""
    seen: set[Path] = set()
    for match in REFERENCE.finditer(prompt):
        reference = _existing(match, workspace)
        if reference is not None and reference[1] not in seen:
            seen.add(reference[1])
            yield reference
            if len(seen) == MAX_REFERENCES:
                return


def _existing(match: re.Match[str], workspace: Path) -> tuple[str, Path] | None:
    quoted, word = match.groups()
    single = QUOTED.match(match.string, match.end() - len(word)) if word is not None else None
    for name in (quoted,) if quoted is not None else (*_readings(word), *(single.groups() if single else ())):
        path = _path(name, workspace)
        if path is not None:
            return name, path
    return None


def _readings(word: str) -> Iterator[str]:
    """What `word` may mean: all of it, then ever less of what is behind a name."""
    name = ESCAPE.sub(r"\1", word)
    while name and len(name) <= MAX_NAME_CHARS:
        yield name
        yield from (LINES.sub("", name),) if LINES.search(name) else ()
        yield from (WIDE.sub("", name),) if WIDE.search(name) else ()
        if name[-1] not in TRAILING:
            return
        name = name[:-1]


def _path(name: str, workspace: Path) -> Path | None:
    """The path of `name` if there is anything but a directory, however its accents are written."""
    spellings = [name]
    if not name.isascii():
        from unicodedata import normalize

        spellings += (normalize("NFC", name), normalize("NFD", name))
    for spelling in spellings:
        path = workspace / expand_user(spelling)
        try:
            if path.exists() and not path.is_dir():
                return path
        except (OSError, ValueError):
            continue
    return None


def _read(name: str, path: Path, max_bytes: int) -> bytes:
    try:
        return read_regular(path, max_bytes=max_bytes)
    except TooLarge as error:
        hint = "raise `max_file_bytes`, or let the model read the part it needs"
        refused = AttachmentRefused(f"@{name}: {error.message}", hint=hint)
        raise refused.with_remedy("attachment_size") from error
    except CalibanError as error:
        raise AttachmentRefused(f"@{name}: {error.message}", hint=error.hint) from error


def _block(name: str, data: bytes) -> Block:
    media_type = image_type(data)
    if media_type is not None:
        try:
            check_image(data)
        except DataError as error:
            raise AttachmentRefused(f"@{name}: {error.message}") from error
        return ImageBlock.of(media_type=media_type, data=base64.b64encode(data).decode("ascii"))
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AttachmentRefused(f"@{name} is neither text nor a PNG, JPEG, GIF or WebP image")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = clean(data.decode(encoding, "replace"))
    shown = name.replace('"', "'")
    return TextBlock(text=f'<file path="{shown}">\n{text}\n</file>')
