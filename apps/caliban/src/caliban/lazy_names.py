"""Which module of anyio has which of its names, as an earlier start has found out.

anyio loads its modules when one of their names is asked for, and reads the names out of its own source each
time that it is imported: source, syntax tree and all. What it has found is kept in the file of
`import_cache`. See ADR 0084.
"""

from __future__ import annotations

import marshal
import os

from caliban.kept_table import read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, TypeAlias

    Stamp: TypeAlias = tuple[str, int, int]
    """The source, its time (ns) and its size (bytes)."""

READER = "_build_lazy_map"
"""The function of `anyio._lazyimport` that reads the names; a version without it is left alone."""


class LazyNames:
    """Stands before what reads the names of a package, and has what `data` has; `data` may be garbage."""

    def __init__(self, data: bytes) -> None:
        known = read_table(data).items()
        self._known: dict[str, tuple[Stamp, Any]] = {name: row for name, row in known if _is_row(row)}
        self._missed: dict[str, tuple[Stamp, Any]] = {}

    def serve(self, module: ModuleType) -> None:
        """Stand before the reader of `anyio._lazyimport`."""
        original: Callable[[ModuleType], Any] | None = getattr(module, READER, None)
        if original is not None:
            setattr(module, READER, lambda package: self._names(package, original))

    @property
    def missed(self) -> int:
        """Of how many packages the names were read."""
        return len(self._missed)

    def packed(self) -> bytes:
        """What was there, and what was missed, for the next start."""
        try:
            return marshal.dumps({**self._known, **self._missed})
        except ValueError:
            return b""

    def _names(self, package: ModuleType, original: Callable[[ModuleType], Any]) -> Any:
        stamp = _stamp(package)
        known = self._known.get(package.__name__)
        if known is not None and known[0] == stamp:
            return known[1]
        names = original(package)
        if stamp is not None:
            self._missed[package.__name__] = stamp, names
        return names


def _is_row(row: object) -> bool:
    """Whether it has the shape of this version: a stamp, and what the reader returned."""
    return isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], tuple) and len(row[1]) == 3


def _stamp(package: ModuleType) -> Stamp | None:
    """What the source of `package` is now."""
    source = package.__file__
    if source is None:
        return None
    try:
        status = os.stat(source)
    except OSError:
        return None
    return source, status.st_mtime_ns, status.st_size
