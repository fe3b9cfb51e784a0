"""Grep: the lines that match a regular expression."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import anyio.to_thread
from msgspec.structs import replace

from caliban_common.arguments import Arguments
from caliban_common.permission import JudgedPaths
from caliban_common.text import clean, plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import FileMissing, SearchFailed
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.fs.text import readable
from caliban_tools_builtin.search.engine import Query, SearchEngine, unblocked
from caliban_tools_builtin.search.glob import NAME_IT, all_ignored
from caliban_tools_builtin.search.globs import checked, compiled, literals, name_for_rg
from caliban_tools_builtin.search.inside import Sight, below, found_file, in_windows_1252, is_directory
from caliban_tools_builtin.search.matches import Fits, MatchCollector

DEFAULT_MATCHES = 100
MAX_MATCHES = 500
MAX_PATTERN_CHARS = 10_000


class Grep:
    """The tool Grep. `sight` says whose lines may be shown."""

    def __init__(self, fence: Fence, engine: SearchEngine, sight: Sight) -> None:
        self._fence = fence
        self._engine = engine
        self._sight = sight

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: it only looks."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Search; see `Tool`."""
        return await answered(lambda: unblocked(lambda: self._grep(args, context.paths)))

    async def _grep(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("pattern", "path", "include", "max_matches"))
        pattern = _checked_pattern(given.string("pattern"))
        place = self._fence.admit(given.string("path", "."), judged)
        include = given.optional_string("include") or None
        wanted = given.integer("max_matches", DEFAULT_MATCHES, low=1, high=MAX_MATCHES)
        matches = await self._matches(place, pattern, include, wanted)
        for literal in () if include is None else literals(include):
            if matches.is_empty:
                matches = await self._matches(place, pattern, literal, wanted)
        lines = _report(pattern, matches, wanted)
        if matches.is_empty and include is not None and not await self._fits_any(place, include):
            if await self._fits_any(place, include, ignored=True):
                lines.append(f"[ignore files hide every file that fits include {include!r}: {NAME_IT}]")
            else:
                hint = ": write {*.md,*.sh} for several" if "," in include or "|" in include else ""
                lines.append(f"[no file there fits include {include!r}{hint}]")
        details = {
            "matches": min(len(matches.rows), wanted),
            "complete": matches.complete and not matches.has_more,
        }
        return ToolOutput.of(clean("\n".join(lines)), details=details)

    async def _matches(
        self, place: AdmittedPath, pattern: str, include: str | None, wanted: int
    ) -> MatchCollector:
        query, fits = _narrowed(Query(pattern=pattern, hidden=True, lines_per_file=wanted + 1), include)
        matches = await self._look(place, query, fits, wanted)
        if _may_be_legacy(pattern, matches) and matches.complete and not matches.has_more:
            matches.join(await self._look(place, replace(query, legacy=True), fits, wanted))
        return matches

    async def _look(self, place: AdmittedPath, query: Query, fits: Fits, wanted: int) -> MatchCollector:
        try:
            is_directory = stat.S_ISDIR(place.path.stat().st_mode)
        except NotADirectoryError as error:
            raise FileMissing(f"{place.shown} does not exist") from error
        except OSError as error:
            raise handles.refused(place, error) from error
        look = self._below if is_directory else self._within
        return await look(place, query, fits, wanted)

    async def _fits_any(self, place: AdmittedPath, include: str, *, ignored: bool = False) -> bool:
        """Whether there is a file at all that `include` means and rules let be read."""
        if not is_directory(place):
            return True
        query, fits = _narrowed(Query(hidden=True, ignored=ignored), include)
        root = str(place.path).rstrip(os.sep) + os.sep
        paths: list[str] = []

        def feed(chunk: bytes) -> bool:
            listed = (path.removeprefix("./") for path in os.fsdecode(chunk).split("\0"))
            fitting = (path for path in listed if path and (fits is None or fits(path)))
            paths.extend(path for path in fitting if not ignored or self._sight.of_path(root + path))
            return not paths

        with handles.directory(place) as handle:
            cwd = handles.working_directory(place, handle)
            await self._engine.search(query, cwd=cwd, deadline_s=self._engine.deadline_s, feed=feed)
        return bool(paths)

    async def _below(self, place: AdmittedPath, query: Query, fits: Fits, wanted: int) -> MatchCollector:
        with handles.directory(place) as handle:
            cwd = handles.working_directory(place, handle)
            matches = await self._search(query, cwd, place, fits, wanted)
            if matches.is_empty and matches.complete and await all_ignored(self._engine, query, cwd):
                return await self._search(replace(query, parents=False), cwd, place, fits, wanted)
            return matches

    async def _within(self, place: AdmittedPath, query: Query, fits: Fits, wanted: int) -> MatchCollector:
        """Search one file, from the directory that holds it."""
        base = replace(place, path=place.path.parent)
        with handles.parent_of(place) as handle:
            handles.status_of(place, handle)
            query = replace(query, target=f"./{place.path.name}")
            return await self._search(query, handles.working_directory(base, handle), base, fits, wanted)

    async def _search(
        self, query: Query, cwd: str, base: AdmittedPath, fits: Fits, wanted: int
    ) -> MatchCollector:
        root = str(base.path).rstrip(os.sep) + os.sep

        def may_show(path: str) -> bool:  # what is shown in the end, handles have reached without a link
            return self._sight.of_file(root + path)

        matches = MatchCollector(wanted=wanted, fits=fits, readable=may_show)
        completed = await self._engine.search(
            query, cwd=cwd, deadline_s=self._engine.deadline_s, feed=matches.feed
        )
        matches.finish()
        errors = completed.stderr.text()
        if completed.exit_code not in (None, 0, 1) and not matches.lines and errors:
            raise SearchFailed(_explained(errors))
        matches.complete = not completed.timed_out
        if matches.lines:
            await anyio.to_thread.run_sync(self._confirm, matches, base, query)
        return matches

    def _confirm(self, matches: MatchCollector, base: AdmittedPath, query: Query) -> None:
        """Make rows of the lines that stand in the files which handles reach."""
        for path, lines in groupby(matches.lines, key=lambda line: line[0]):
            place = below(base, path)
            name = self._fence.show(str(place.path))
            with found_file(place) as file:
                if file is not None and query.legacy and file.is_utf8:
                    continue  # the first look has read it as what it is
                for _, number, content in lines:
                    line = in_windows_1252(content) if query.legacy else content
                    if file is None or line is None or not (number == 0 or file.holds(line)):
                        matches.changed += 1
                        continue
                    shown = f"{name}: binary file matches"
                    if number:
                        shown = readable(content.removesuffix(b"\r")).replace("\0", "\u2400")
                        shown = f"{name}:{number}:{shown}"
                    matches.rows.append((name, number, shown))


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
        if name == include:
            return replace(query, name=name), None
    anchored = include.removeprefix("/") if include.startswith("/") else f"**/{include.removeprefix('./')}"
    last = anchored.rpartition("/")[2]
    name = name_for_rg(last) if last not in ("*", "**") and "{" not in anchored.removesuffix(last) else None
    return replace(query, name=name), compiled(anchored).fullmatch


def _explained(errors: str) -> str:
    """ripgrep's words, without its advice to use options that the model does not have."""
    kept = re.split(r"\n\s*\nConsider enabling", errors.strip())[0]
    return kept.removeprefix("rg: ")


def _may_be_legacy(pattern: str, matches: MatchCollector) -> bool:
    """Whether files in windows-1252 are worth a second look, which costs as much as the first."""
    return not pattern.isascii() or (matches.is_empty and re.search(r"[.\[\\]", pattern) is not None)


def _report(pattern: str, matches: MatchCollector, wanted: int) -> list[str]:
    rows = sorted(matches.rows)[:wanted]
    if not rows:
        lines = [f"→ Grep '{pattern}': no matches"]
    else:
        lines = [f"→ Grep '{pattern}': {len(rows)} {'match' if len(rows) == 1 else 'matches'}"]
        lines += (row[2] for row in rows)
    if matches.has_more:
        lines.append(f"[stopped at {wanted} matches, there are more: narrow the pattern, path or include]")
    if matches.changed:
        lines.append(f"[{plural(matches.changed, 'line')} left out: their files changed meanwhile]")
    if not matches.complete:
        lines.append("[the search was stopped at its deadline: give a narrower path or include]")
    return lines
