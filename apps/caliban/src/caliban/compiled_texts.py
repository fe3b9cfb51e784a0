"""Code of the texts that `collections` and `dataclasses` write and compile for each class they make.

A start makes some 40 named tuples and dataclasses of the standard library and of anyio: 80 small texts, and a
twentieth of its work is to parse and compile them. Their code is kept in the file of `import_cache`.
See ADR 0084.
"""

from __future__ import annotations

import builtins
import marshal
import sys

from caliban.kept_table import read_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, ModuleType
    from typing import Any, TypeAlias

    Key: TypeAlias = tuple[str, str]
    """`exec` or `eval`, and the text."""

MAX_TEXT = 20_000
"""Characters of a text that is kept: the longest of a start has 700."""

WRITERS = ("collections", "dataclasses", "typing")
"""The modules between whoever makes a class and the text that is compiled for it."""


class CompiledTexts:
    """Stands before `eval` and `exec` as two modules see them, with what `data` has; `data` may be garbage.

    `missed` counts what was compiled because it was not there and could be: texts of classes that are made
    while a module is imported. What a running program makes classes of is never kept.
    """

    def __init__(self, data: bytes) -> None:
        known = read_table(data).items()
        self._known: dict[Key, CodeType] = {key: code for key, code in known if hasattr(code, "co_code")}
        self._missed: dict[Key, CodeType] = {}

    def serve(self, module: ModuleType) -> None:
        """Stand before the builtins in `module`: `collections` or `dataclasses`."""
        for name, served in (("eval", self._eval), ("exec", self._exec)):
            setattr(module, name, served)

    @property
    def missed(self) -> int:
        """How many texts were compiled that were not there."""
        return len(self._missed)

    def packed(self) -> bytes:
        """What was there, and what was missed, for the next start."""
        return marshal.dumps({**self._known, **self._missed})

    def _eval(self, text: Any, *spaces: Any) -> Any:
        return builtins.eval(self._code("eval", text, bool(spaces)), *spaces)

    def _exec(self, text: Any, *spaces: Any, **options: Any) -> None:
        builtins.exec(self._code("exec", text, bool(spaces)), *spaces, **options)

    def _code(self, mode: str, text: Any, has_spaces: bool) -> Any:
        """The code of `text` where that is a text with a place to run in; else it is left as it is."""
        if type(text) is not str or not has_spaces:
            return text
        key = mode, text
        code = self._known.get(key)
        if code is None:
            code = compile(text, "<string>", mode, dont_inherit=True)
            if len(text) <= MAX_TEXT and _is_imported(sys._getframe(2)):
                self._missed[key] = code
        return code


def _is_imported(frame: FrameType | None) -> bool:
    """Whether the class is made by a line of a module that is being imported."""
    while frame is not None and frame.f_globals.get("__name__") in WRITERS:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "<module>"
