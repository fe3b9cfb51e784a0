"""What the file of `import_cache` is made of: loaded by the starts that write it."""

from __future__ import annotations

import marshal
from _frozen_importlib_external import MAGIC_NUMBER
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from _frozen_importlib import ModuleSpec

Facts: TypeAlias = tuple[str, str, str, bool, int, int]
"""Source, its folder, its `.pyc`, whether it is a package, time (ns), size: an entry without its place."""

PYC_HEADER_BYTES: Final = 16


def compiled(spec: ModuleSpec) -> tuple[Facts, bytes] | None:
    """What the file keeps of a module, from a `.pyc` that fits its source."""
    source, pyc = spec.origin, spec.cached
    if source is None or pyc is None:
        return None
    try:
        status, data = Path(source).stat(), Path(pyc).read_bytes()
    except OSError:
        return None
    times = (int(status.st_mtime), status.st_size)
    expected = MAGIC_NUMBER + b"".join((n & 0xFFFFFFFF).to_bytes(4, "little") for n in (0, *times))
    if data[:PYC_HEADER_BYTES] != expected:
        return None
    folder = str(Path(source).parent)
    is_package = spec.submodule_search_locations is not None
    facts = (source, folder, pyc, is_package, status.st_mtime_ns, status.st_size)
    return facts, data[PYC_HEADER_BYTES:]


def packed(
    key: Any, modules: Mapping[str, tuple[Facts, bytes]], elsewhere: list[str]
) -> tuple[bytes, list[bytes]]:
    """The index, and the codes in the order in which they follow it; `elsewhere` are names of no code."""
    base = 0
    while True:
        offset, entries = base, {}
        for name, (facts, code) in modules.items():
            entries[name] = (*facts, offset, len(code))
            offset += len(code)
        index = marshal.dumps((key, offset, entries, elsewhere))
        if base == 16 + len(index):
            return index, [code for _, code in modules.values()]
        base = 16 + len(index)
