"""Finds and reads what a session is told from its start: tiers, ancestors, rules, notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from caliban_common.text import one_line
from caliban_memory.budget import fit
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.globs import PathPatterns
from caliban_memory.imports import ImportScope, with_imports
from caliban_memory.index import loaded_index
from caliban_memory.markdown import find_imports
from caliban_memory.reading import MemoryReader, ReadFence, canonical_of, is_foreign, is_there
from caliban_memory.rules import read_rule, rule_files
from caliban_memory.values import (
    GLOBAL_NAME,
    INDEX_NAME,
    NAMES,
    RULES,
    LeftOut,
    MemoryFile,
    MemoryOptions,
    MemorySet,
    Tier,
)


def find_memory(options: MemoryOptions) -> MemorySet:
    """Everything that a session in `options.workspace` is told from its start, within its budget.

    Nothing is raised: what cannot be read is left out, and named in the set.
    """
    loader = MemoryLoader(options)
    files = [*loader.tier("managed", options.managed_dir), *loader.tier("global", options.config_dir)]
    for folder in loader.folders:
        files += loader.instructions(folder)
    if options.walks:
        for folder in loader.folders:
            files += loader.rules(folder)
    files += loader.notes(options.auto_dir)
    kept = tuple(file for file in files if not file.patterns)
    return MemorySet(
        files=tuple(file for file in fit(kept, options.caps) if file.text or file.cut_bytes),
        waiting=tuple(file for file in files if file.patterns),
        left_out=tuple(loader.scope.left_out),
    )


def walk(workspace: Path) -> tuple[Path, ...]:
    """The directories whose instructions hold in `workspace`, broad to narrow, itself the last.

    Up to the first that has a `.git`, or to the root of the file system.
    """
    folders: list[Path] = []
    for folder in (workspace, *workspace.parents):
        folders.append(folder)
        if is_there(folder / ".git"):
            break
    return tuple(reversed(folders))


def project_root(workspace: Path) -> Path:
    """The directory with the `.git` that `workspace` belongs to, else itself."""
    top = walk(workspace)[0]
    return top if is_there(top / ".git") else workspace


class MemoryLoader:
    """Reads files one by one; each is told once, by path and by content.

    `folders` are the directories of the walks, broad to narrow. Used again for what is found later on.
    """

    def __init__(self, options: MemoryOptions) -> None:
        self.options = options
        self.root: Path = project_root(options.workspace)
        self.scope: ImportScope = ImportScope(MemoryReader(), options.approve)
        walks = (options.workspace, *options.additional)
        walks = walks if options.of_project else ()
        folders = [folder for start in walks for folder in (walk(start) if options.walks else (start,))]
        self.folders: tuple[Path, ...] = tuple(dict.fromkeys(folders))
        self._excluded = PathPatterns(options.excludes, options.workspace)
        self._excluded_above = PathPatterns(options.excludes, self.root)
        self._texts: set[str] = set()

    def tier(self, tier: Tier, folder: Path | None) -> Iterator[MemoryFile]:
        """The file of the administrator or of the user; links of theirs may lead anywhere."""
        if folder is not None and is_there(folder / GLOBAL_NAME):
            yield from self._file(tier, folder / GLOBAL_NAME, ReadFence(open=True))

    def instructions(self, folder: Path) -> Iterator[MemoryFile]:
        """The files of instructions in one directory of the project, or above it."""
        for name in NAMES if self.options.walks else (GLOBAL_NAME,):
            if is_there(folder / name):
                yield from self._file("project", folder / name, self._fence(folder))

    def rules(self, folder: Path) -> Iterator[MemoryFile]:
        """The rules of one directory of the project, those that wait for a file included."""
        for path in rule_files(folder.joinpath(*RULES)):
            yield from self._file("rule", path, self._fence(folder))

    def notes(self, folder: Path | None) -> Iterator[MemoryFile]:
        """The index of the notes of earlier sessions; nothing that it says is imported."""
        if folder is None or not is_there(folder / INDEX_NAME):
            return
        path = folder / INDEX_NAME
        try:
            _, text = self.scope.reader.read(path, ReadFence(open=True))
        except MemoryFileRefused as refused:
            self.scope.leave_out(str(path), refused.message, matters=True)
            return
        body, cut_bytes = loaded_index(text)
        if body:
            yield MemoryFile(tier="auto", path=path, text=body, cut_bytes=cut_bytes)

    def know(self, file: MemoryFile) -> None:
        """`file` was told by somebody else: neither it nor what it brought is told again."""
        self.scope.seen.update(file.imports)
        self._texts.add(file.text)
        try:
            self.scope.seen.add(canonical_of(file.path))
        except MemoryFileRefused:
            return

    def is_excluded(self, path: Path) -> bool:
        """Whether settings leave it out: by its path in the workspace, or in the project above that."""
        if path.is_relative_to(self.options.workspace):
            return self._excluded.match(path)
        return self._excluded_above.match(path)

    def _fence(self, folder: Path) -> ReadFence:
        """What a file in `folder` may be or import unasked: what lies in the project, or in its tree."""
        own = () if folder.is_relative_to(self.root) else (folder,)
        return ReadFence(roots=(self.root, *own))

    def _file(self, tier: Tier, path: Path, fence: ReadFence) -> Iterator[MemoryFile]:
        if tier in ("project", "rule") and self.is_excluded(path):
            self.scope.leave_out(str(path), "the settings exclude it")
            return
        try:
            canonical, text = self._read(tier, path, fence)
            patterns, text = read_rule(text) if tier == "rule" else ((), text.strip())
        except MemoryFileRefused as refused:
            self.scope.leave_out(str(path), refused.message, matters=True)
            return
        if not text:
            return
        key = f"{path.parent}\n{text}" if find_imports(text) else text
        if canonical in self.scope.seen or key in self._texts:
            self.scope.leave_out(str(path), "its words were told already")
            return
        self.scope.seen.add(canonical)
        self._texts.add(key)
        inside = self._import_fence(tier, canonical, fence)
        whole, imports = with_imports(text, canonical, inside, self.scope)
        yield MemoryFile(tier=tier, path=path, text=whole, imports=imports, patterns=patterns)

    def _read(self, tier: Tier, path: Path, fence: ReadFence) -> tuple[Path, str]:
        """Raises `MemoryFileRefused`."""
        if tier in ("project", "rule") and not path.is_relative_to(self.root) and is_foreign(path):
            raise MemoryFileRefused("it belongs to another user")
        return self.scope.reader.read(path, fence)

    def _import_fence(self, tier: Tier, canonical: Path, fence: ReadFence) -> ReadFence:
        """What the file may import unasked: the user's from beside itself, the project's from the project."""
        own = self._canonical(self.options.config_dir)
        if tier in ("managed", "global"):
            return ReadFence(roots=(canonical.parent, *own))
        return ReadFence(roots=(*fence.roots, *own))

    def _canonical(self, folder: Path | None) -> tuple[Path, ...]:
        try:
            return () if folder is None else (canonical_of(folder),)
        except MemoryFileRefused:
            return ()


def summary(left_out: LeftOut) -> str:
    """What a person should know of a file that was left out, on one line."""
    return f"{one_line(left_out.path)} is not read: {one_line(left_out.reason)}"
