"""Who may change a file on Windows, by its security descriptor: the mode of a file says nothing there.

The descriptor is read as SDDL text ([MS-DTYP] 2.5.1). What is not understood counts as open to everybody. The
calls of the system in `sddl_of` have not been run by a test: none of our machines has that system.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from caliban_common.lazy import lazy_pattern

_INSTALLER: Final = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_TRUSTED: Final = frozenset(("SY", "BA", "LA", "S-1-5-18", "S-1-5-32-544", _INSTALLER))
"""The system, and who administers it."""

_PLACEHOLDERS: Final = frozenset(("CO", "CG", "S-1-3-0", "S-1-3-1"))
"""Whoever made a file: they stand for somebody only where they are inherited."""

_WRITING: Final = frozenset(("GA", "GW", "FA", "FW", "WD", "WO", "SD", "DC", "CC", "DT", "SW", "WP"))
_WRITING_MASK: Final = 0x500D0156
"""Write data, append, write attributes, delete (children too), change rights or owner; the generic ones."""

_WHO: Final = r"[A-Z]{2}|S-[0-9-]+"
_DESCRIPTOR: Final = lazy_pattern(rf"O:({_WHO})(?:G:(?:{_WHO}))?(?:D:([^()]*)((?:\([^()]*\))*))?(?:S:.*)?")
_ENTRY: Final = lazy_pattern(r"\(([^;()]*);([^;()]*);([^;()]*);[^;()]*;[^;()]*;([^;()]*)(?:;.*)?\)")


def planted_reason(path: Path, read: Callable[[Path], str] | None = None) -> str | None:
    """Why somebody else could have written `path`, in words behind its name; `None` where nobody could.

    `read` gives the descriptor of a file as SDDL; it may raise `OSError`.
    """
    try:
        descriptor = (read or sddl_of)(path)
    except OSError as error:
        return (
            f"cannot be looked at: who may write it is not known ({(error.strerror or str(error)).lower()})"
        )
    match = _DESCRIPTOR.fullmatch(descriptor.strip())
    if match is None:
        return "has a security descriptor that is not understood"
    owner, flags, entries = match.groups()
    if owner not in _TRUSTED:
        return f"belongs to another user ({owner})"
    if entries is None or "NO_ACCESS_CONTROL" in flags:
        return "can be written by others (it has no access list)"
    writers = [who for entry in _ENTRY.finditer(entries) if (who := _foreign_writer(*entry.groups()))]
    if "".join(entry.group() for entry in _ENTRY.finditer(entries)) != entries:
        return "has a security descriptor that is not understood"
    return f"can be written by others ({writers[0]})" if writers else None


def _foreign_writer(kind: str, flags: str, rights: str, who: str) -> str | None:
    """Whom an entry of an access list lets write, where that is nobody who administers the system."""
    if kind not in ("A", "XA", "OA") or who in _TRUSTED or "IO" in _pairs(flags):
        return None
    if who in _PLACEHOLDERS:
        return None
    if rights.lower().startswith("0x"):
        try:
            return who if int(rights, 16) & _WRITING_MASK else None
        except ValueError:
            return who
    return who if _WRITING.intersection(_pairs(rights)) or len(rights) % 2 else None


def _pairs(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def sddl_of(path: Path) -> str:
    """Owner and access list of a file as SDDL. Raises `OSError`."""
    import ctypes

    windows = getattr(ctypes, "windll", None)
    if windows is None:
        raise OSError("this is not Windows")
    owner_and_list, file_object = 0x1 | 0x4, 1
    descriptor, text = ctypes.c_void_p(), ctypes.c_wchar_p()
    code = windows.advapi32.GetNamedSecurityInfoW(
        ctypes.c_wchar_p(str(path)),
        file_object,
        owner_and_list,
        *(None, None, None, None),
        ctypes.byref(descriptor),
    )
    if code:
        raise OSError(code, f"error {code} of the system")
    try:
        done = windows.advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor, 1, owner_and_list, ctypes.byref(text), None
        )
        if not done:
            raise OSError("its security descriptor cannot be written as text")
        return text.value or ""
    finally:
        windows.kernel32.LocalFree(descriptor)
        windows.kernel32.LocalFree(text)
