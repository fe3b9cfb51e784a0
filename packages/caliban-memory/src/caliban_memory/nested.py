"""What is told later: files of instructions below the workspace, and rules that wait for a file.

Each is told once in a session, when a file below it, or of its kind, is touched; how much there may be
together is the budget of the whole memory once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_memory.budget import fit
from caliban_memory.discovery import MemoryLoader
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.globs import DEPENDENCIES, PathPatterns
from caliban_memory.reading import canonical_of
from caliban_memory.render import shown_path
from caliban_memory.rules import MAX_RULES
from caliban_memory.values import LeftOut, MemoryCaps, MemoryFile, MemoryOptions, MemorySet

MAX_IGNORE_BYTES = 256 * 1024


class NestedMemory:
    """The files that one agent comes upon; `told` are those that it knows, as `told_paths` gives them."""

    def __init__(self, options: MemoryOptions, found: MemorySet, told: Iterable[str] = ()) -> None:
        self._loader = MemoryLoader(options)
        self._root = options.workspace
        self._seen: set[Path] = {file.path.parent for file in found.files if file.tier == "project"}
        self._seen.update(self._loader.folders)
        for file in found.files:
            self._loader.know(file)
        self._waiting = list(found.waiting[:MAX_RULES])
        self._patterns = {file.path: self._of(file) for file in self._waiting}
        self._told = set(told)
        self._left_tokens = options.caps.combined
        self._ignored: dict[Path, PathPatterns | None] = {}

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was come upon and is not told."""
        return tuple(self._loader.scope.left_out)

    def touch(self, path: Path) -> tuple[MemoryFile, ...]:
        """What an agent is told now that it has touched `path`, broad to narrow: each file once."""
        try:
            canonical = canonical_of(path)
        except MemoryFileRefused:
            return ()
        if not canonical.is_relative_to(self._root):
            return ()
        files = [*self._instructions(canonical), *self._rules(canonical)]
        return tuple(self._within(files))

    def _instructions(self, path: Path) -> Iterator[MemoryFile]:
        folder = self._root
        for part in path.relative_to(self._root).parts[:-1]:
            if part in DEPENDENCIES or self._is_ignored(folder, part):
                return
            folder /= part
            if folder not in self._seen:
                self._seen.add(folder)
                yield from self._loader.instructions(folder)

    def _rules(self, path: Path) -> Iterator[MemoryFile]:
        for file in tuple(self._waiting):
            if self._patterns[file.path].match(path):
                self._waiting.remove(file)
                yield file

    def _within(self, files: Iterable[MemoryFile]) -> Iterator[MemoryFile]:
        """Those that were not told yet, as far as the budget goes."""
        for file in files:
            if shown_path(file) in self._told:
                continue
            self._told.add(shown_path(file))
            (kept,) = fit((file,), MemoryCaps(combined=self._left_tokens))
            if not kept.text:
                self._loader.scope.leave_out(str(file.path), "the budget of memory is spent", matters=True)
                continue
            self._left_tokens = max(0, self._left_tokens - kept.tokens)
            yield kept

    def _of(self, file: MemoryFile) -> PathPatterns:
        """The patterns of a rule, below the directory that its `.caliban` is in."""
        return PathPatterns(file.patterns, file.path.parents[2])

    def _is_ignored(self, folder: Path, name: str) -> bool:
        """Whether a `.gitignore` of the workspace leaves the directory `name` in `folder` out."""
        for place in (folder, *folder.parents):
            if not place.is_relative_to(self._loader.root):
                return False
            patterns = self._ignore_rules(place)
            if patterns is not None and patterns.match(folder / name / "x"):
                return True
        return False

    def _ignore_rules(self, folder: Path) -> PathPatterns | None:
        if folder not in self._ignored:
            path = folder / ".gitignore"
            try:
                text = decode_text(read_regular(path, max_bytes=MAX_IGNORE_BYTES)) if path.exists() else ""
            except (CalibanError, OSError):
                text = ""
            self._ignored[folder] = PathPatterns(text.splitlines(), folder) if text.strip() else None
        return self._ignored[folder]
