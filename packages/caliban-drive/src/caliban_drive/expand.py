"""`@path` in a prompt: the files that a person names, attached to what they say. Blocks: for a thread.

    @notes.txt   @"a b.txt"   @a\\ b.txt   @src/x,y.txt.   (@main.py)   @main.py:10

A reference begins a word, so an e-mail address is none; punctuation after it belongs to the sentence unless
a file of that name is there, and so do numbers of lines, and words of a script that has no spaces between
them. A name without a file stays text. Only words that a person typed are expanded: text that was piped in
may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from caliban_common.decoding import readable_text
from caliban_common.errors import CalibanError, TooLarge
from caliban_common.files import read_regular
from caliban_common.message import Block, DocumentBlock, ImageBlock, Message, TextBlock
from caliban_common.paths import expand_user
from caliban_drive.errors import AttachmentRefused
from caliban_images import MediaLimits, MediaRefused, image_type, is_pdf, prepare_image, prepare_pdf

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
MAX_MEDIA_BYTES = 50_000_000
"""So large a file is looked at as an image or a PDF; what is sent of it is what its limits say."""
MAX_NAME_CHARS = 4096


class ExpandOptions(Struct, frozen=True, kw_only=True):
    """Where relative names start, and how much may be attached: bytes of one file, bytes of all.

    Images and PDFs have bounds of their own: what the file may have, what all of them have as they are sent,
    and what the model takes (`media`). `objection` says why a file may not be attached; `left_out` is told of
    each name that stays text, `changed` of each image that is sent in another form. `read` gives the bytes of
    a file, at most so many, and raises as `read_regular` does: who objects to names reads what was judged.
    """

    workspace: Path
    max_file_bytes: int = 262_144
    budget_bytes: int = 1_048_576
    max_media_bytes: int = MAX_MEDIA_BYTES
    media_budget_bytes: int = 20_000_000
    media: MediaLimits = MediaLimits()
    changed: Callable[[str], None] | None = None
    objection: Callable[[Path], str | None] | None = None
    left_out: Callable[[str], None] | None = None
    read: Callable[[Path, int], bytes] = lambda path, max_bytes: read_regular(path, max_bytes=max_bytes)


def expand(prompt: str, options: ExpandOptions) -> Message:
    """The user message of `prompt`: its text as it is, then one block per file it names.

    Raises `AttachmentRefused` for a file above a bound, and for what is no file to read.
    """
    blocks: list[Block] = [TextBlock(text=prompt)]
    left, media_left = options.budget_bytes, options.media_budget_bytes
    for name, path in references(prompt, options.workspace):
        objection = options.objection(path) if options.objection is not None else None
        if objection is not None:
            _tell(options, f"@{name} is not attached: {objection}")
            continue
        data = _read(name, path, options)
        if image_type(data) is not None or is_pdf(data):
            block, size_bytes = _shown(f"@{name}", name, data, options)
            media_left -= size_bytes
            _check_budget(media_left, options.media_budget_bytes)
        else:
            block = _written(name, data)
            left -= len(data)
            _check_budget(left, options.budget_bytes)
        blocks.append(block)
    for name in _missing(prompt, options.workspace):
        _tell(options, f"@{name} is not attached: there is no such file")
    return Message(role="user", content=tuple(blocks))


def image_block(name: str, path: Path, options: ExpandOptions) -> ImageBlock:
    """The image at `path`; messages begin with `name`. Raises `AttachmentRefused`."""
    try:
        data = options.read(path, options.max_media_bytes)
    except TooLarge as error:
        raise AttachmentRefused(
            f"{name}: {error.message}", hint="a larger one needs a larger `max_bytes`"
        ).with_remedy("image_size") from error
    except CalibanError as error:
        raise AttachmentRefused(f"{name}: {error.message}", hint=error.hint) from error
    return _pictured(name, data, options)[0]


def _check_budget(left: int, budget_bytes: int) -> None:
    if left < 0:
        raise AttachmentRefused(
            f"the attached files have more than {budget_bytes:,} bytes together",
            hint="name fewer files, or raise `budget_bytes`",
        ).with_remedy("attachment_budget")


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


def _read(name: str, path: Path, options: ExpandOptions) -> bytes:
    """The file within its bound: that of images and PDFs for what is one."""
    try:
        data = options.read(path, max(options.max_file_bytes, options.max_media_bytes))
        if len(data) <= options.max_file_bytes:
            return data
        if (image_type(data) is not None or is_pdf(data)) and len(data) <= options.max_media_bytes:
            return data
        size = f"{path} has {len(data):,} bytes; at most {options.max_file_bytes:,} are read"
        raise TooLarge(size)
    except TooLarge as error:
        hint = "raise `max_file_bytes`, or let the model read the part it needs"
        refused = AttachmentRefused(f"@{name}: {error.message}", hint=hint)
        raise refused.with_remedy("attachment_size") from error
    except CalibanError as error:
        raise AttachmentRefused(f"@{name}: {error.message}", hint=error.hint) from error


def _shown(
    given: str, name: str, data: bytes, options: ExpandOptions
) -> tuple[ImageBlock | DocumentBlock | TextBlock, int]:
    """An image or a PDF as the model takes it, and how many bytes that are; messages begin with `given`."""
    if image_type(data) is not None:
        return _pictured(given, data, options)
    try:
        prepared = prepare_pdf(data, options.media, title=Path(name).name)
    except MediaRefused as error:
        raise _refused(given, error) from error
    block = prepared.block
    if isinstance(block, TextBlock):
        block = _quoted(name, f"[{prepared.shown}]\n\n{block.text}")
    return block, prepared.size_bytes


def _pictured(given: str, data: bytes, options: ExpandOptions) -> tuple[ImageBlock, int]:
    try:
        prepared = prepare_image(data, options.media)
    except MediaRefused as error:
        raise _refused(given, error) from error
    if prepared.note and options.changed is not None:
        options.changed(f"{given} is {prepared.note}")
    return prepared.block, prepared.size_bytes


def _refused(given: str, error: MediaRefused) -> AttachmentRefused:
    refused = AttachmentRefused(f"{given}: {error.message}", hint=error.hint)
    return refused if error.remedy is None else refused.with_remedy(error.remedy.kind, error.remedy.name)


def _written(name: str, data: bytes) -> TextBlock:
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AttachmentRefused(f"@{name} is neither text nor a PDF, nor a PNG, JPEG, GIF or WebP image")
    return _quoted(name, readable_text(data))


def _quoted(name: str, text: str) -> TextBlock:
    shown = name.replace('"', "'")
    return TextBlock(text=f'<file path="{shown}">\n{text}\n</file>')
