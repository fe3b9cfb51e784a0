"""Images and documents of a session as files of their own: each once, named by what is in it.

A message on disk holds `{"type": "blob_ref", "sha256": ..., "media_type": ...}` in the place of the data. The
file is durable before the record that names it. A name is nothing but a digest, so that no session file can
name another place; what is not what its name says counts as lost.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from caliban_common.errors import CalibanError
from caliban_common.files import (
    FileFailed,
    NotRegularFile,
    TooLarge,
    ensure_private_dir,
    read_regular,
    write_atomic,
)
from caliban_common.text import one_line

REFERENCE: Final = "blob_ref"
MAX_BYTES: Final = 100_000_000
KINDS: Final = ("image", "document")


def kept(raw: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """`raw`, a message or a tool's result, whose data is in `folder` now.

    What cannot be written there stays where it is: then the journal says what is wrong with the disk.
    """
    return {**raw, "content": tuple(_kept_block(block, folder) for block in raw["content"])}


def restored(raw: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """`raw` with the data that is in `folder`, and the names of what is lost: words stand in its place."""
    lost: list[str] = []
    content = [_restored_block(block, folder, lost) for block in raw["content"]]
    return {**raw, "content": content}, lost


def names_in(raw: Mapping[str, Any]) -> set[str]:
    """The files that a stored message names."""
    names: set[str] = set()
    for block in raw.get("content") or ():
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "tool_result":
            names |= names_in(block)
        elif (digest := _digest(block)) is not None:
            names.add(_name(digest))
    return names


def copy(names: set[str], source: Path, target: Path) -> None:
    """Let `target` have the files `names` of `source` too. Raises `FileFailed`, also for one it cannot read.

    One that is not there, or is no file, is passed over: it is lost in both.
    """
    if not names:
        return
    ensure_private_dir(target)
    for name in sorted(names):
        try:
            data = read_regular(source / name, max_bytes=MAX_BYTES)
        except FileFailed as error:
            if error.missing:
                continue
            raise
        except (NotRegularFile, TooLarge):
            continue
        write_atomic(target / name, data, mode=0o600)


def _kept_block(block: Any, folder: Path) -> Any:
    match block:
        case {"type": "tool_result", "content": list() | tuple()}:
            return kept(block, folder)
        case {"type": "image" | "document", "source": {"type": "base64", "data": str(data)} as source}:
            digest = _put(data, folder)
            if digest is None:
                return block
            named = {"type": REFERENCE, "sha256": digest, "media_type": source["media_type"]}
            return {**block, "source": named}
        case _:
            return block


def _put(data: str, folder: Path) -> str | None:
    """The digest of `data`, which is in a file now; `None` where it is no base64 or cannot be written."""
    try:
        decoded = b64decode(data, validate=True)
        if b64encode(decoded).decode("ascii") != data:
            return None  # what comes back has to be what was there
        digest = sha256(decoded).hexdigest()
        path = folder / _name(digest)
        if not path.is_file() or path.stat().st_size != len(decoded):
            ensure_private_dir(folder)
            write_atomic(path, decoded, mode=0o600)
    except (ValueError, OSError, CalibanError):
        return None
    return digest


def _restored_block(block: Any, folder: Path, lost: list[str]) -> Any:
    if not isinstance(block, Mapping):
        return block
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list | tuple):
        result, lost_here = restored(block, folder)
        lost += lost_here
        return result
    source = block.get("source")
    if block.get("type") not in KINDS or not isinstance(source, Mapping) or source.get("type") != REFERENCE:
        return block
    digest = _digest(block)
    data = None if digest is None else _read(digest, folder)
    if data is None:
        name = _name(digest) if digest is not None else one_line(str(source.get("sha256")), max_chars=70)
        lost.append(name)
        return {"type": "text", "text": f"[the {block['type']} {name} of this session is lost]"}
    media_type = source.get("media_type")
    return {**block, "source": {"type": "base64", "media_type": media_type, "data": data}}


def _read(digest: str, folder: Path) -> str | None:
    try:
        data = read_regular(folder / _name(digest), max_bytes=MAX_BYTES)
    except CalibanError:
        return None
    return b64encode(data).decode("ascii") if sha256(data).hexdigest() == digest else None


def _digest(block: Mapping[str, Any]) -> str | None:
    """The digest that a block names, if it is one."""
    match block.get("source"):
        case {"type": "blob_ref", "sha256": str(digest)} if re.fullmatch(r"[0-9a-f]{64}", digest):
            return digest
        case _:
            return None


def _name(digest: str) -> str:
    return f"{digest}.bin"
