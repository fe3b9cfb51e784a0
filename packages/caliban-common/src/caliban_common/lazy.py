"""What is made when it is first asked for, and kept: patterns of a module, and values of an object."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

_T = TypeVar("_T")


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Asked once for each method: from then on it is found on the object itself.
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern `text`, compiled by the first use of one of its methods instead of by an import.

    For constants of modules: a pattern costs 0.1 to 2 ms to compile, and a run needs few of them. A use costs
    what it does on a compiled pattern, give or take 60 ns. A text that is no pattern raises `re.error` there.
    The object has the methods and attributes of a pattern, and is none to `isinstance`.
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))


class cached_property(Generic[_T]):  # noqa: N801 - it stands where the one of functools does
    """A property that is worked out once per object and kept in its `__dict__`.

    The one of functools, without the lock that it takes for each first access before Python 3.12: an engine
    that makes a few dozen small objects for each line spends a tenth of its time on it. Two threads that ask
    at once may both work it out; one of the two values stays.
    """

    def __init__(self, work: Callable[[Any], _T]) -> None:
        self._work = work
        self._name = work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, holder: None, owner: type) -> cached_property[_T]: ...
    @overload
    def __get__(self, holder: object, owner: type | None = None) -> _T: ...
    def __get__(self, holder: object | None, owner: type | None = None) -> _T | cached_property[_T]:
        if holder is None:
            return self
        value = holder.__dict__[self._name] = self._work(holder)
        return value
