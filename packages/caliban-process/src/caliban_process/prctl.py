"""One call of prctl(2), Linux: by the half of `ctypes` that is C.

The other half makes types and code that this needs none of, in a millisecond before the first program starts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


def prctl(option: int, value: int) -> bool:
    """Set `option` of this process to `value`; whether the system has done it. Raises nothing."""
    try:
        return _function()(option, value, 0, 0, 0) == 0
    except (OSError, AttributeError, ImportError):
        return False


@cache
def _function() -> Callable[..., int]:
    import _ctypes

    class Number(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = Number

    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    return Function(address)
