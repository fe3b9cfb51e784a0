"""Glob: the files whose path matches a pattern."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from caliban_common.arguments import Arguments
from caliban_common.lazy import cached_property
from caliban_common.paths import expand_user
from caliban_common.permission import JudgedPaths
from caliban_common.text import clean, plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_process import Completed
from caliban_tools_builtin import handles
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import FileRefused, SearchFailed
from caliban_tools_builtin.fence import AdmittedPath, Fence
from caliban_tools_builtin.search.engine import Query, SearchEngine, unblocked
from caliban_tools_builtin.search.globs import GlobPlan, compiled, literals, plan
from caliban_tools_builtin.search.inside import Sight, is_directory, names_below
from caliban_tools_builtin.search.links import links, not_ignored

MAX_FILES = 200
MAX_LOOKS = 2 * MAX_FILES
MANY_NAMES = 8 * MAX_LOOKS
DEADLINE_S = 4.0
MAX_LISTING_BYTES = 64_000_000
NAME_IT = "name the path of one to search it"


class Glob:
    """The tool Glob. `sight` says whose names may be shown."""

    def __init__(self, fence: Fence, engine: SearchEngine, sight: Sight) -> None:
        self._fence = fence
        self._engine = engine
        self._sight = sight

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: it only looks."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """List the files; see `Tool`."""
        return await answered(lambda: unblocked(lambda: self._glob(args, context.paths)))

    async def _glob(self, args: Mapping[str, Any], judged: JudgedPaths | None) -> ToolOutput:
        given = Arguments(args, known=("pattern", "path"))
        pattern, path = given.string("pattern"), given.string("path", ".")
        pattern = pattern.replace(os.sep, "/") if os.sep == "\\" else pattern
        start = self._fence.admit(path, judged)
        if not is_directory(start):
            raise FileRefused(f"{start.shown} is not a directory")
        order = plan(pattern)
        listing = await self._files(start, order)
        for literal in literals(pattern):
            if listing.is_empty:
                listing = await self._files(start, plan(literal))
        note = ""
        if listing.is_empty and not order.hidden:
            listing = await self._files(start, replace(order, hidden=True))
            note = "" if listing.is_empty else "[only hidden files match]"
        if listing.is_empty and await self._is_hidden_by_rules(start, order):
            note = f"[ignore files hide every file that matches: {NAME_IT}]"
        return await anyio.to_thread.run_sync(self._report, pattern, listing, note)

    async def _files(self, start: AdmittedPath, order: GlobPlan) -> Listing:
        """The files that match below `start`."""
        base = self._fence.admit(str(start.path / expand_user(order.base)))
        listing = Listing(base, order, self._sight)
        if not is_directory(base):
            return listing
        query = Query(name=order.name, depth=order.depth, hidden=order.hidden)
        with handles.directory(base) as handle:
            cwd = handles.working_directory(base, handle)
            linked = await self._fill(query, cwd, listing)
            if not listing.size_bytes and listing.complete and await all_ignored(self._engine, query, cwd):
                query = replace(query, parents=False)
                linked = await self._fill(query, cwd, listing)
            if linked:
                listing.add(await anyio.to_thread.run_sync(not_ignored, cwd, query, linked, listing.folders))
        return listing

    async def _is_hidden_by_rules(self, start: AdmittedPath, order: GlobPlan) -> bool:
        """Whether files would match that ignore files hide."""
        base = self._fence.admit(str(start.path / expand_user(order.base)))
        listing = Listing(base, order, self._sight)
        if is_directory(base):
            query = Query(name=order.name, depth=order.depth, hidden=True, ignored=True)
            with handles.directory(base) as handle:
                cwd = handles.working_directory(base, handle)
                await self._engine.search(
                    query,
                    cwd=cwd,
                    deadline_s=DEADLINE_S,
                    feed=lambda chunk: listing.feed(chunk) and listing.count < MAX_FILES,
                )
        return any(listing.may_show(path, link=True) for path in listing.first())

    def _report(self, pattern: str, listing: Listing, note: str) -> ToolOutput:
        """What the model reads; names that rules hide, or handles do not reach any more, are left out."""
        shown, hidden, gone = _shown(listing)
        total = listing.count - hidden - gone
        lines = [f"→ Glob '{pattern}' matched {plural(total, 'file')}" + (":" if total else "")]
        lines += (f"  {self._fence.show(listing.root + path)}" for path in shown)
        if note:
            lines.append(note)
        if total > len(shown):
            lines.append(f"[{total - len(shown)} more are not shown: give a narrower pattern or path]")
        if hidden:
            lines.append(f"[{plural(hidden, 'file')} hidden by rules]")
        if not listing.complete:
            lines.append("[the search was stopped, there may be more: give a narrower pattern or path]")
        details = {"total": total, "complete": listing.complete}
        return ToolOutput.of(clean("\n".join(lines)), details=details)

    async def _fill(self, query: Query, cwd: str, listing: Listing) -> list[str]:
        """List the files; the links that fit, which are looked for at the same time."""
        linked: list[str] = []
        listed: list[Completed | SearchFailed] = []
        begun = anyio.Event()

        async def search() -> None:
            try:
                search = self._engine.search(
                    query, cwd=cwd, deadline_s=DEADLINE_S, feed=listing.feed, started=begun.set
                )
                listed.append(await search)
            except SearchFailed as error:  # told as itself, not as one of a group
                listed.append(error)
                begun.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search)
            await begun.wait()
            linked += await anyio.to_thread.run_sync(links, cwd, query, listing.fits)
        (completed,) = listed
        if isinstance(completed, SearchFailed):
            raise completed
        errors = completed.stderr.text()
        broke_off = completed.exit_code not in (None, 0, 1) and bool(errors)
        if broke_off and not listing.size_bytes:
            raise SearchFailed(errors.strip())
        listing.complete = completed.reason == "exited" and not broke_off
        return linked


class Listing:
    """The listed files that fit a pattern, relative to `base`, taken piece by piece while the search runs.

    Names stay bytes, and of many only those are kept by themselves that come first in their order: to make
    texts of all would take longer than to find them.
    """

    def __init__(self, base: AdmittedPath, order: GlobPlan, sight: Sight) -> None:
        self.base = base
        self.root: str = str(base.path).rstrip(os.sep) + os.sep
        self._order = order
        self._fits = None if order.exact else compiled(order.rest).fullmatch
        self._sight = sight
        self._pending = b""
        self._blocks: list[bytes] = []
        self._first: list[bytes] = []
        self._last_of_first: bytes | None = None
        self.count: int = 0
        self.size_bytes: int = 0
        self.complete = True

    def feed(self, chunk: bytes) -> bool:
        """Take `./path NUL` entries; False once there are more than can be held."""
        self.size_bytes += len(chunk)
        whole, _, self._pending = (self._pending + chunk).rpartition(b"\0")
        if whole:
            self._blocks.append(whole)
            self._take(whole.split(b"\0") if self._order.exact else self._fitting(whole))
        return self.size_bytes < MAX_LISTING_BYTES

    def add(self, paths: list[str]) -> None:
        """Take paths that fit."""
        self._take([os.fsencode(f"./{path}") for path in paths])

    def first(self) -> list[str]:
        """The paths that come first, at most `MAX_LOOKS`, in their order."""
        return [os.fsdecode(name[2:]) for name in heapq.nsmallest(MAX_LOOKS, self._first)]

    def folders(self) -> set[str]:
        """The directories that hold listed files, whether these fit or not, at whatever depth."""
        folders: set[str] = set()
        for block in self._blocks:
            for folder in {name.rpartition("/")[0] for name in os.fsdecode(block).split("\0")}:
                while folder not in folders and folder != ".":
                    folders.add(folder)
                    folder = folder.rpartition("/")[0]
        return {folder[2:] for folder in folders}

    def fits(self, path: str) -> object:
        """Whether a path is what the pattern means."""
        return self._matches(path)

    def may_show(self, path: str, *, link: bool) -> bool:
        """Whether no rule hides `path`. What is no `link` must be known to be none: it is not looked up."""
        whole = self.root + path
        return self._sight.of_path(whole) if link else self._sight.of_file(whole)

    @property
    def is_empty(self) -> bool:
        """Whether nothing matched, hidden by rules or not."""
        return self.complete and not self.count

    @cached_property
    def _matches(self) -> Callable[[str], object]:
        """Needed of a pattern that ripgrep decides about only where there are links."""
        return self._fits or compiled(self._order.rest).fullmatch

    def _fitting(self, whole: bytes) -> list[bytes]:
        fits = self._matches
        return [os.fsencode(path) for path in os.fsdecode(whole).split("\0") if fits(path[2:])]

    def _take(self, names: list[bytes]) -> None:
        self.count += len(names)
        last = self._last_of_first
        self._first += names if last is None else [name for name in names if name < last]
        if len(self._first) > MANY_NAMES:
            self._first = heapq.nsmallest(MAX_LOOKS, self._first)
            self._last_of_first = self._first[-1]


def _shown(listing: Listing) -> tuple[list[str], int, int]:
    """The paths to show, and how many before them rules hide or handles do not reach any more.

    Each is looked at: at most twice as many as can be shown, and of more than these none behind the last that
    is shown. What handles reach without a link, and is none itself, has no other name to be judged by.
    """
    shown: list[str] = []
    hidden = gone = 0
    all_count = listing.count <= MAX_LOOKS
    first = listing.first()
    try:
        with names_below(listing.base) as names:
            for path in first:
                mode = names.mode_of(path)
                if mode is None or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                    gone += 1
                elif not listing.may_show(path, link=stat.S_ISLNK(mode)):
                    hidden += 1
                else:
                    shown.append(path)
                    if len(shown) == MAX_FILES and not all_count:
                        break
    except FileRefused:  # the directory itself has gone
        return [], 0, listing.count
    return shown[:MAX_FILES], hidden, gone


async def all_ignored(engine: SearchEngine, query: Query, cwd: str) -> bool:
    """Whether nothing at all may be searched there, for ignore files above say so.

    A directory that is named outright is then searched all the same: what was asked for beats a rule that
    was written for others.
    """
    probe = replace(query, pattern=None, name=None, depth=None, probe=True)
    completed = await engine.search(probe, cwd=cwd, deadline_s=DEADLINE_S, feed=lambda _: True)
    return completed.exit_code == 1
