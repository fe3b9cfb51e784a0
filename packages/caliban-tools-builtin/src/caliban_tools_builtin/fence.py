"""The one resolver of every path that a model names.

A path is read once: relative to the workspace, absolute, or under `~`; never as a URI, with variables or
with a prefix to strip. Its links are resolved, and the canonical name alone decides whether it lies within
the roots. What is opened later is reached from that root by directory handles (`handles`), so a link that is
planted after the check is met, not followed (security.md K8, K9, SB11). The root itself is known by its
identity: a directory above it that was swapped since leads nowhere either.

The boundary is made of names: what an administrator mounts inside a root is inside, and a file inside may
have other names outside, which are never written (ADR 0047).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_common.paths import expand_user
from caliban_common.permission import JudgedPaths
from caliban_tools_builtin.errors import PathRefused

_URI = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
_PROCESS_FILE = lazy_pattern(r"/proc/(\d+|self|thread-self)(/|$)")
_WINDOWS_DEVICE = lazy_pattern(
    r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)", re.IGNORECASE
)

_ESCAPES: Mapping[str, str] = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


Identity: TypeAlias = tuple[int, int]
"""Of a directory: its device and its number there."""

_TOP: Final = Path("/") if hasattr(os, "O_PATH") else None
"""Whence what no root holds is reached, where directories need not be readable to be passed through."""


class AdmittedPath(Struct, frozen=True, kw_only=True):
    """A path that the fence has admitted.

    `path` is canonical: absolute, without links. `root` is the directory from which it is reached by
    handles. `shown` is what people and models read: relative to the workspace where it lies inside. `fenced`
    says that nothing outside of `root` may change with it; `identity` is that of `root` when the fence was
    put up, `None` where it was not there.
    """

    path: Path
    root: Path
    shown: str
    fenced: bool = True
    identity: Identity | None = None


class Fence:
    """Where file and shell tools may go: the workspace and the extra roots, or anywhere if not `restrict`."""

    def __init__(self, workspace: Path, *, restrict: bool, extra_roots: Sequence[Path] = ()) -> None:
        self.given: Path = Path(os.path.normpath(workspace.absolute()))
        self.workspace: Path = Path(os.path.realpath(workspace))
        self._name = str(self.workspace)
        self._roots = (self.workspace, *(Path(os.path.realpath(root)) for root in extra_roots))
        self._tops = _tops(self._roots)
        self._restrict = restrict

    def add_root(self, root: Path) -> None:
        """From now on what lies in the directory `root` is inside too."""
        added = Path(os.path.realpath(root))
        if added not in self._roots:
            self._roots = (*self._roots, added)
            known = {top: identity for _, top, identity in self._tops}
            self._tops = tuple(
                (name, top, known.get(top, identity)) for name, top, identity in _tops(self._roots)
            )

    def admit(self, text: str, judged: JudgedPaths | None = None) -> AdmittedPath:
        """The place that `text` names; it need not exist. Raises `PathRefused`.

        With `judged`, the paths of the call as the gate saw them, it must still lead where it led then.
        """
        fault = path_fault(text)
        if fault:
            raise PathRefused(fault)
        joined = str(self.workspace / expand_user(text))
        special = _special(joined)
        canonical = canonical_name(joined)
        if special or (canonical.startswith("/proc/") and _PROCESS_FILE.match(canonical)):
            raise PathRefused(f"{text!r} is {special or 'a view of a process'}, not a regular file")
        if judged is not None and canonical not in judged.get(text, (canonical,)):
            raise PathRefused(f"{text!r} leads elsewhere than when it was judged", hint="call it again")
        path, shown = Path(canonical), self._shown(joined, canonical)
        for name, root, identity in self._tops:
            if _within(canonical, name):
                return AdmittedPath(
                    path=path, root=root, shown=shown, fenced=self._restrict, identity=identity
                )
        if self._restrict:
            raise PathRefused(f"{text!r} is outside the workspace", hint=self._where())
        return AdmittedPath(path=path, root=_TOP or path.parent, shown=shown, fenced=False)

    def show(self, path: str) -> str:
        """A canonical path as people read it: relative to the workspace where it lies inside."""
        if not _within(path, self._name):
            return shown_name(path)
        return shown_name(path[len(self._name) :].lstrip(os.sep) or ".")

    def _where(self) -> str:
        roots = ", ".join(str(root) for root in self._roots)
        return f"paths must lie within {roots}, links resolved"

    def _shown(self, joined: str, canonical: str) -> str:
        """The name that was given, without its detours; the canonical one where the two would differ."""
        lexical = os.path.normpath(joined)
        if lexical != canonical and canonical_name(lexical) == canonical:
            for root in (str(self.workspace), str(self.given)):
                if _within(lexical, root):
                    return shown_name(os.path.relpath(lexical, root))
        return self.show(canonical)


def shown_name(path: str) -> str:
    """`path` on one line; with control characters, or bytes that are no UTF-8, in quotes as git writes it."""
    if path.isprintable():
        return path
    shown: list[str] = []
    for char in path:
        code = ord(char)
        if char in _ESCAPES:
            shown.append(_ESCAPES[char])
        elif 0xDC80 <= code <= 0xDCFF:
            shown.append(f"\\x{code - 0xDC00:02x}")
        elif char.isprintable():
            shown.append(char)
        else:
            shown.append(
                f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
            )
    return f'"{"".join(shown)}"'


def canonical_name(path: str) -> str:
    """`path` without links; what does not exist stays as it is. Raises `PathRefused`."""
    try:
        return os.path.realpath(path)
    except OSError as error:  # a link that vanished between two looks at it
        raise PathRefused(f"{path!r} changed while it was looked at", hint="try again") from error


def path_fault(text: str, *, windows: bool = os.name == "nt") -> str | None:
    """What makes `text` no path at all, or `None`."""
    if not text:
        return "the path is empty"
    if "\0" in text:
        return "the path holds a NUL character"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "the path is not valid Unicode text"
    if ":" in text and _URI.match(text):  # in this order: the pattern takes 0.5 ms to make
        return f"{text!r} is a URI, not a path"
    if windows:
        return _windows_fault(text)
    return None


def _windows_fault(text: str) -> str | None:
    """Win32 gives one file many names: devices, streams, and names whose end it strips."""
    if text.startswith(("\\\\?\\", "\\\\.\\", "//?/", "//./")):
        return f"{text!r} is a device path"
    _, rest = os.path.splitdrive(text) if os.name == "nt" else ("", re.sub(r"^[A-Za-z]:", "", text))
    for part in re.split(r"[\\/]", rest):
        if ":" in part:
            return f"{text!r} names a stream, not a file"
        if _WINDOWS_DEVICE.match(part):
            return f"{text!r} names a device, not a regular file"
        if part.strip(".") and part != part.rstrip(". "):
            return f"{text!r} ends a name in a dot or a blank, which Windows strips"
    return None


def _tops(roots: Sequence[Path]) -> tuple[tuple[str, Path, Identity | None], ...]:
    """The outermost first: of a root inside another one the outer is what no link can be planted above."""
    by_length = sorted(dict.fromkeys(roots), key=lambda root: len(root.parts))
    return tuple((str(root), root, _identity(root)) for root in by_length)


def _identity(root: Path) -> Identity | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _within(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it; by whole components."""
    return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)


def _special(path: str) -> str | None:
    """What `path` is if it exists and is neither file nor directory; looked at, never opened."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    kinds = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for test, name in kinds if test(mode)), "a device")
