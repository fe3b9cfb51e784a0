"""Patterns compiled by earlier starts, in the form in which the interpreter keeps a compiled one.

A start compiles some 50 patterns, most of them constants of the standard library: a twentieth of its work.
They are kept in the file of `import_cache`, and `re` asks there first. See ADR 0068.
"""

from __future__ import annotations

import marshal
import sys

from caliban.kept_table import read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType
    from typing import Any, TypeAlias

    Key: TypeAlias = tuple[bool, str | bytes, int]
    """Whether it is text (a key of bytes is never compared with one of text), the pattern, its flags."""

    Parts: TypeAlias = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
    """What `_sre.compile` is given behind the pattern: flags, code, groups, their names, names by number."""

LAZY = "caliban_common.lazy"
"""The module that compiles constants of others at their first use."""

OF_A_PLACE = 4
"""The flag of a pattern that depends on the locale: it is compiled where it is used."""


class CompiledPatterns:
    """Stands before the compiler of `re._compiler` and gives what `data` has; `data` may be garbage.

    `missed` counts what was compiled because it was not there and could be. Only constants of modules can:
    no pattern of settings, of a project or of a model is ever kept.
    """

    def __init__(self, data: bytes) -> None:
        self._known: dict[Key, Parts] = read_table(data)
        self._missed: dict[Key, Any] = {}

    def serve(self, compiler: ModuleType) -> None:
        """Stand before `compile` of `compiler`, the module `re._compiler`."""
        self._compiler = compiler
        self._original: Callable[..., Any] = compiler.compile
        self._make: Callable[..., Any] = compiler._sre.compile
        compiler.compile = self._compile  # type: ignore[attr-defined]

    @property
    def missed(self) -> int:
        """How many constants were compiled that were not there."""
        return len(self._missed)

    def packed(self) -> bytes:
        """What was there, and what was missed, for the next start."""
        known = dict(self._known)
        for key, made in self._missed.items():
            _, pattern, flags = key
            parts = self._parts(pattern, flags)
            if parts is not None and self._make(pattern, *parts) == made:
                known[key] = parts
        return marshal.dumps(known)

    def _compile(self, pattern: Any, flags: int = 0) -> Any:
        kind = type(pattern)
        if kind is not str and kind is not bytes:
            return self._original(pattern, flags)
        key = kind is str, pattern, flags
        parts = self._known.get(key)
        if parts is not None:
            try:
                return self._make(pattern, *parts)
            except (RuntimeError, TypeError, ValueError, OverflowError):
                pass
        made = self._original(pattern, flags)
        if _is_constant(pattern, sys._getframe(1)):
            self._missed[key] = made
        return made

    def _parts(self, pattern: str | bytes, flags: int) -> Parts | None:
        """What the module makes of a pattern; `None` where it warns, or it depends on more than itself."""
        import warnings

        sre = self._compiler._sre
        self._compiler._sre = _Recorder(sre)  # type: ignore[attr-defined]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                _, all_flags, code, groups, names, by_number = self._original(pattern, flags)
        except Warning:
            return None
        finally:
            self._compiler._sre = sre  # type: ignore[attr-defined]
        if all_flags & OF_A_PLACE:
            return None
        return int(all_flags), [int(number) for number in code], groups, dict(names), tuple(by_number)


def _is_constant(pattern: str | bytes, frame: FrameType | None) -> bool:
    """Whether whoever asked `re` did so while it was imported, or has the pattern in its own code."""
    while frame is not None and frame.f_globals.get("__name__") in ("re", "re._compiler"):
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code
    if code.co_name == "<module>" or frame.f_globals.get("__name__") == LAZY:
        return True
    return any(type(constant) is type(pattern) and constant == pattern for constant in code.co_consts)


class _Recorder:
    """`sre`, but for its `compile`, which gives back what it is given."""

    def __init__(self, sre: Any) -> None:
        self._sre = sre

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sre, name)

    def compile(self, *parts: Any) -> tuple[Any, ...]:
        return parts
