"""An output style from its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from caliban_common.errors import DataError
from caliban_common.fields import HeadFields
from caliban_output_styles.errors import StyleRefused
from caliban_output_styles.style import OutputStyle, StyleScope

NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
MAX_FILE_BYTES: Final = 64 * 1024
"""A style is sent with every request."""
MAX_DESCRIPTION_CHARS: Final = 1024


def read_style(path: Path, data: bytes, scope: StyleScope) -> OutputStyle:
    """The style that `data`, the content of the file at `path`, describes; its name is that of the file.

    In a plugin the file need not say its name again.
    Raises `StyleRefused`.
    """
    try:
        return _read(HeadFields(str(path), data), path, scope)
    except DataError as error:
        raise StyleRefused(error.message, hint=error.hint) from error


def _read(fields: HeadFields, path: Path, scope: StyleScope) -> OutputStyle:
    is_plugin = scope == "plugin"
    name = path.stem if is_plugin else fields.text("name", max_chars=64, required=True)
    if re.fullmatch(NAME, name) is None:
        raise fields.error("name", f"must be letters, digits, - and _, not {name!r}")
    if name != path.stem:
        raise fields.error("name", f"must be the name of the file, {path.stem!r}, not {name!r}")
    notes = []
    forced = fields.flag("force-for-plugin", default=False)
    if forced and not is_plugin:
        notes.append("`force-for-plugin` is for the styles of plugins, and does nothing here")
    if not fields.is_whole:
        notes.append("bytes that are no UTF-8 were replaced")
    return OutputStyle(
        name=name,
        description=fields.text("description", max_chars=MAX_DESCRIPTION_CHARS, required=True),
        scope=scope,
        body=fields.body.replace("\x00", "\ufffd"),
        path=path,
        is_forced=forced and is_plugin,
        keeps_coding=fields.flag("keep-coding-instructions", default=True),
        notes=tuple(notes),
    )
