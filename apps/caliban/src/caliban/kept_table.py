"""A table that an earlier start has kept in the file of `import_cache`."""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def read_table(data: bytes) -> dict[Any, Any]:
    """The table in `data`; an empty one where that is garbage, or something else."""
    try:
        known = marshal.loads(data)
    except (EOFError, ValueError, TypeError):
        return {}
    return known if isinstance(known, dict) else {}
