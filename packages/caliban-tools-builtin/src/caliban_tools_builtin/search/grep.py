"""Grep: the lines that match a regular expression."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_common.arguments import Arguments
from caliban_common.text import clean
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import FileMissing, SearchFailed
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs.text import readable
from caliban_tools_builtin.search.engine import Query, SearchEngine
from caliban_tools_builtin.search.glob import all_ignored
from caliban_tools_builtin.search.globs import checked, compiled, name_for_rg

DEFAULT_MATCHES = 100
MAX_MATCHES = 500
MAX_PATTERN_CHARS = 10_000
_MAX_PENDING_BYTES = 1 << 20


class Grep:
    """The tool Grep. `readable` says of a canonical path whether its lines may be shown."""

    def __init__(self, fence: Fence, engine: SearchEngine, readable: Callable[[str], bool] | None) -> None:
        self._fence = fence
        self._engine = engine
        self._readable = readable

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: it only looks."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Search; see `Tool`."""
        return await answered(lambda: self._grep(args))

    async def _grep(self, args: Mapping[str, Any]) -> ToolOutput:
        given = Arguments(args, known=("pattern", "path", "include", "max_matches"))
        pattern = _checked_pattern(given.string("pattern"))
        place = self._fence.admit(given.string("path", "."))
        include = given.optional_string("include")
        wanted = given.integer("max_matches", DEFAULT_MATCHES, low=1, high=MAX_MATCHES)
        query, fits = _narrowed(Query(pattern=pattern, hidden=True, lines_per_file=wanted + 1), include)
        if place.path.is_dir():
            matches = await self._below(place, query, fits, wanted)
        elif place.path.exists():
            matches = await self._within(place, query, fits, wanted)
        else:
            raise FileMissing(f"{place.shown} does not exist")
        return _report(pattern, matches, wanted)

    async def _below(self, place: AdmittedPath, query: Query, fits: Fits, wanted: int) -> MatchCollector:
        with handles.directory(place) as handle:
            cwd = handles.working_directory(place, handle)
            matches = await self._search(query, cwd, place, fits, wanted)
            if not matches.rows and matches.complete and await all_ignored(self._engine, query, cwd):
                return await self._search(replace(query, parents=False), cwd, place, fits, wanted)
            return matches

    async def _within(self, place: AdmittedPath, query: Query, fits: Fits, wanted: int) -> MatchCollector:
        """Search one file, from the directory that holds it."""
        base = AdmittedPath(path=place.path.parent, root=place.root, shown=place.shown)
        with handles.parent_of(place) as handle:
            handles.status_of(place, handle)
            query = replace(query, target=f"./{place.path.name}")
            return await self._search(query, handles.working_directory(base, handle), base, fits, wanted)

    async def _search(
        self, query: Query, cwd: str, base: AdmittedPath, fits: Fits, wanted: int
    ) -> MatchCollector:
        root = str(base.path).rstrip(os.sep) + os.sep

        def shown(path: str) -> str | None:
            whole_path = root + path
            if self._readable is not None and not self._readable(whole_path):
                return None
            return self._fence.show(whole_path) if fits is None or fits(path) else None

        matches = MatchCollector(wanted=wanted, shown=shown)
        completed = await self._engine.search(
            query, cwd=cwd, deadline_s=self._engine.deadline_s, feed=matches.feed
        )
        errors = completed.stderr.text()
        if completed.exit_code not in (None, 0, 1) and not matches.rows and errors:
            raise SearchFailed(_explained(errors))
        matches.complete = not completed.timed_out
        return matches


Fits = Callable[[str], object] | None


class MatchCollector(Struct, kw_only=True):
    """Matching lines as they come in: `path NUL number:text LF`. One more than `wanted` is enough."""

    wanted: int
    shown: Callable[[str], str | None]
    rows: list[tuple[str, int, str]] = field(default_factory=list)
    complete: bool = True
    _names: dict[bytes, str | None] = field(default_factory=dict)
    _pending: bytes = b""

    def feed(self, chunk: bytes) -> bool:
        """Take the next piece of output; False once there are enough lines."""
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._pending = b""
        for line in lines:
            self._take(line)
            if len(self.rows) > self.wanted:
                return False
        return True

    def _take(self, line: bytes) -> None:
        path, mark, rest = line.partition(b"\0")
        number, colon, content = rest.partition(b":")
        if not mark or not colon or not number.isdigit():
            self._take_note(line)
            return
        name = self._name(path)
        if name is not None:
            text = readable(content.removesuffix(b"\r")).replace("\0", "\u2400")
            self.rows.append((name, int(number), f"{name}:{int(number)}:{text}"))

    def _take_note(self, line: bytes) -> None:
        """A file that was named outright, has a match and is binary."""
        path, mark, _ = line.partition(b": binary file matches")
        name = self._name(path) if mark else None
        if name is not None:
            self.rows.append((name, 0, f"{name}: binary file matches"))

    def _name(self, path: bytes) -> str | None:
        if path not in self._names:
            self._names[path] = self.shown(os.fsdecode(path.removeprefix(b"./")))
        return self._names[path]


def _checked_pattern(pattern: str) -> str:
    if not pattern:
        raise SearchFailed("the pattern is empty")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise SearchFailed(f"the pattern is longer than {MAX_PATTERN_CHARS:,} characters")
    try:
        pattern.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SearchFailed("the pattern is not valid Unicode text") from error
    if "\0" in pattern:
        raise SearchFailed("the pattern holds a NUL character", hint=r"write \x00 for it")
    return pattern


def _narrowed(query: Query, include: str | None) -> tuple[Query, Fits]:
    """The query for the files that `include` names, and what must still be checked of their paths."""
    if include is None:
        return query, None
    checked(include)
    if "/" not in include:
        name = name_for_rg(include)
        if name is not None:
            return replace(query, name=name), None
    anchored = include.removeprefix("/") if include.startswith("/") else f"**/{include.removeprefix('./')}"
    last = anchored.rpartition("/")[2]
    name = name_for_rg(last) if last not in ("*", "**") and "{" not in anchored.removesuffix(last) else None
    return replace(query, name=name), compiled(anchored).fullmatch


def _explained(errors: str) -> str:
    """ripgrep's words, without its advice to use options that the model does not have."""
    kept = re.split(r"\n\s*\nConsider enabling", errors.strip())[0]
    return kept.removeprefix("rg: ")


def _report(pattern: str, matches: MatchCollector, wanted: int) -> ToolOutput:
    rows = sorted(matches.rows[:wanted])
    more = len(matches.rows) > wanted
    if not rows:
        lines = [f"→ Grep '{pattern}': no matches"]
    else:
        lines = [f"→ Grep '{pattern}': {len(rows)} {'match' if len(rows) == 1 else 'matches'}"]
        lines += (row[2] for row in rows)
    if more:
        lines.append(f"[stopped at {wanted} matches, there are more: narrow the pattern, path or include]")
    if not matches.complete:
        lines.append("[the search was stopped at its deadline: give a narrower path or include]")
    return ToolOutput.of(
        clean("\n".join(lines)), details={"matches": len(rows), "complete": matches.complete and not more}
    )
