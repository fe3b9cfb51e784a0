"""Loading and storing by name, for systems without directory handles.

The canonical name is looked up again once the file has been read: a link that was planted meanwhile is
noticed, though not prevented.
"""

from __future__ import annotations

import os

from caliban_common.errors import CalibanError
from caliban_common.files import FileFailed, read_regular, write_atomic
from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fence import AdmittedPath, canonical_name
from caliban_tools_builtin.handles import refused

NEW_FILE_MODE = 0o644


def load(place: AdmittedPath, *, max_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """The file's bytes and status, or `None` when there is none. Raises `FileRefused`."""
    try:
        data = read_regular(place.path, max_bytes=max_bytes)
        status = place.path.stat()
    except FileFailed as error:
        if error.missing:
            return None
        raise FileRefused(error.message) from error
    except CalibanError as error:
        raise FileRefused(error.message) from error
    except OSError as error:
        raise refused(place, error) from error
    _unmoved(place)
    return data, status


def store(place: AdmittedPath, data: bytes, *, exists: bool) -> None:
    """Make `data` the content of the file. Missing directories are made. Raises `FileRefused`."""
    try:
        place.path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(place, error) from error
    _unmoved(place)
    try:
        write_atomic(place.path, data, mode=None if exists else NEW_FILE_MODE)
    except CalibanError as error:
        raise FileRefused(error.message) from error


def _unmoved(place: AdmittedPath) -> None:
    if canonical_name(str(place.path)) != str(place.path):
        raise FileRefused(f"{place.shown} was replaced by a link meanwhile")
