"""The names of files behind an `@`: listed off the loop, ranked between keys."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from caliban_common.errors import CalibanError
from caliban_common.lazy import lazy_pattern
from caliban_tui.draft.rank import NO_FIT, NameRanking, fit, prepared
from caliban_tui.draft.suggest import Suggestion, Suggestions
from caliban_tui.errors import FilesNotListed

MENTION: Final = lazy_pattern(r"(?:.*[\s(\[{,;'`<])?@(?:\"([^\"]*)|([^\s\"]*))")
ESCAPED: Final = lazy_pattern(r"[\s\"\\]")
FRESH_S: Final = 5.0
"""A list that is older is made again when the next `@` is typed."""

RESOURCES_S: Final = 60.0
"""Likewise, for what servers have."""

MAX_FILES: Final = 500_000
MAX_DEPTH: Final = 40
MAX_QUERY: Final = 200
LISTED: Final = 50
PASSED_OVER: Final = frozenset((".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"))
"""Folders that the walk leaves out: without git nobody says what is ignored."""

# A repository may name a program that git asks for changes: it is not run.
GIT: Final = ("git", "-c", "core.fsmonitor=false", "ls-files", "-co", "--exclude-standard", "-z")


class FileSuggestionSource(Protocol):
    """Where the names come from: paths below the workspace, with `/`, a folder with one at its end."""

    async def names(self) -> Sequence[str]:
        """All of them. Raises `CalibanError`."""
        ...


class ListingPrograms(Protocol):
    """What runs the programs that list files."""

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        """What a program prints. Raises `CalibanError` where it cannot be started or fails."""
        ...


class GitFiles:
    """What git knows or does not ignore, and the walk where there is no git."""

    def __init__(self, root: Path, programs: ListingPrograms) -> None:
        self._root = root
        self._programs = programs

    async def names(self) -> Sequence[str]:
        """See `FileSuggestionSource`."""
        try:
            printed = await self._programs.output(GIT, str(self._root), b"")
        except CalibanError:
            return await WalkedFiles(self._root).names()
        return await anyio.to_thread.run_sync(lambda: with_folders(split_names(printed, b"\0")))


class WalkedFiles:
    """Every file below a folder, links not followed, without what `PASSED_OVER` names."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def names(self) -> Sequence[str]:
        """See `FileSuggestionSource`."""
        return await anyio.to_thread.run_sync(lambda: with_folders(walked(str(self._root))))


class FilesOfRoots:
    """The files of a workspace, then those of directories beside it by their whole names.

    `further` gives what lists these, by directory; one that cannot be listed is passed over.
    """

    def __init__(
        self, own: FileSuggestionSource, further: Callable[[], Mapping[str, FileSuggestionSource]]
    ) -> None:
        self._own = own
        self._further = further

    async def names(self) -> Sequence[str]:
        """See `FileSuggestionSource`."""
        names = list(await self._own.names())
        for root, source in self._further().items():
            try:
                others = await source.names()
            except (CalibanError, OSError):
                continue
            names += [f"{root}/", *(f"{root}/{name}" for name in others)]
        return names[:MAX_FILES]


class CommandFiles:
    """What a person's own program prints, a name a line."""

    def __init__(self, argv: Sequence[str], root: Path, programs: ListingPrograms) -> None:
        self._argv = tuple(argv)
        self._root = root
        self._programs = programs

    async def names(self) -> Sequence[str]:
        """See `FileSuggestionSource`."""
        printed = await self._programs.output(self._argv, str(self._root), b"")
        return await anyio.to_thread.run_sync(lambda: split_names(printed, b"\n"))


def split_names(printed: bytes, separator: bytes) -> list[str]:
    """The names that a program printed, each once; what is no text is left out."""
    names: dict[str, None] = {}
    for name in printed.split(separator):
        try:
            text = name.strip(b"\r").decode()
        except UnicodeDecodeError:
            continue
        if text and "\n" not in text:
            names[text.replace(os.sep, "/")] = None
        if len(names) >= MAX_FILES:
            break
    return list(names)


def with_folders(names: Sequence[str]) -> list[str]:
    """`names`, and every folder that one of them is in."""
    folders: set[str] = set()
    for name in names:
        end = name.rfind("/")
        while end > 0 and name[: end + 1] not in folders:
            folders.add(name[: end + 1])
            end = name.rfind("/", 0, end)
    return [*sorted(folders), *names]


def walked(root: str) -> list[str]:
    """The files below `root`, breadth first, at most `MAX_FILES`; what cannot be read is left out."""
    names: list[str] = []
    folders = [("", 0)]
    for folder, depth in folders:
        try:
            entries = list(os.scandir(f"{root}/{folder}"))
        except OSError:
            continue
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                entry.name.encode()
            except (OSError, UnicodeEncodeError):
                continue
            if not is_folder:
                names.append(f"{folder}{entry.name}")
            elif entry.name not in PASSED_OVER and depth < MAX_DEPTH:
                folders.append((f"{folder}{entry.name}/", depth + 1))
        if len(names) >= MAX_FILES:
            break
    return names


class FileSuggester:
    """Files, folders and resources of servers behind an `@`.

    `run` lists and ranks for as long as it runs; `changed` is called when there is more to suggest.
    `resources` gives names such as `server:uri`. `failed` hears of a list that could not be made.
    """

    def __init__(
        self,
        source: Callable[[], FileSuggestionSource | None],
        *,
        changed: Callable[[], None],
        resources: Callable[[], Awaitable[Sequence[str]]] | None = None,
        failed: Callable[[CalibanError], None] = lambda error: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._changed = changed
        self._resources = resources
        self._resource_list: tuple[str, ...] = ()
        self._resources_s = -RESOURCES_S
        self._failed = failed
        self._clock = clock
        self._wanted = anyio.Event()
        self._query: str | None = None
        self._asked: str | None = None
        self._names: tuple[str, ...] = ()
        self._best: tuple[str, ...] = ()
        self._fitting = 0
        self._ranking: NameRanking | None = None
        self._of: FileSuggestionSource | None = None
        self._listed_s = -FRESH_S
        self._is_at_work = False
        self._has_begun = False

    def suggest(self, text: str, cursor: int) -> Suggestions | None:
        """See `Suggester`."""
        match = MENTION.fullmatch(text, text.rfind("\n", 0, cursor) + 1, cursor)
        if match is None or len(match[1] or match[2] or "") > MAX_QUERY:
            self._query = None
            return None
        typed = match[1] if match[1] is not None else match[2]
        start = match.start(1) - 2 if match[1] is not None else match.start(2) - 1
        query = typed.lower().removeprefix("./")
        if query != self._query:
            self._has_begun = self._has_begun or self._query is None
            self._query = query
            self._wanted.set()
        named = self._resource_names(query)
        files = [name for name in self._best if query == self._asked or fit(query, name) != NO_FIT]
        names = [*named, *files] if ":" in query else [*files, *named]
        items = tuple(_file(name) for name in names[:LISTED])
        if not items:
            return None
        hint = "looking for more" if self._is_at_work else ""
        return Suggestions(
            start=start, end=cursor, items=items, more=max(self._fitting - len(files), 0), hint=hint
        )

    async def run(self) -> None:
        """List and rank what is asked for, until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                if self._query is None:
                    continue
                if self._clock() - self._resources_s >= RESOURCES_S:
                    self._resources_s = self._clock()
                    tasks.start_soon(self._list_resources)
                await self._work(self._query)

    async def _list_resources(self) -> None:
        if self._resources is None:
            return
        try:
            self._resource_list = tuple(await self._resources())
        except CalibanError as error:
            self._failed(error)
        if self._resource_list:
            self._changed()

    async def _work(self, query: str) -> None:
        self._is_at_work = True
        try:
            await self._list()
            await self._rank(query)
        except CalibanError as error:
            self._failed(error)
        finally:
            self._is_at_work = False
        self._changed()

    async def _list(self) -> None:
        source = self._source()
        now = self._clock()
        if source is None:
            self._ranking = None
            return
        is_same = source is self._of and self._ranking is not None
        has_begun, self._has_begun = self._has_begun, False
        if is_same and (now - self._listed_s < FRESH_S or not has_begun):
            return
        try:
            names = await source.names()
        except CalibanError:
            self._listed_s = now
            raise
        except OSError as error:
            raise FilesNotListed(f"the files cannot be listed: {error.strerror}") from error
        if self._ranking is None or tuple(names) != self._names:
            self._names = tuple(names)
            self._ranking = NameRanking(await anyio.to_thread.run_sync(prepared, self._names), keep=LISTED)
        self._of, self._listed_s = source, self._clock()

    async def _rank(self, query: str) -> None:
        """Rank for `query` a slice at a time, unless another one is asked for meanwhile."""
        ranking = self._ranking
        if ranking is None:
            self._best, self._fitting = (), 0
            return
        ranking.ask(query)
        while not ranking.step():
            await anyio.lowlevel.checkpoint()
            if self._query != query:
                return
        self._best = tuple(self._names[number] for number in ranking.best)
        self._fitting, self._asked = ranking.fitting, query

    def _resource_names(self, query: str) -> list[str]:
        names = self._resource_list if query else ()
        ranked = sorted(((fit(query, name), name) for name in names), key=lambda pair: -pair[0])
        return [name for good, name in ranked if good != NO_FIT][:LISTED]


def mention(name: str) -> str:
    """A name as it stands behind an `@`: quoted where a blank would end it."""
    if '"' in name:
        return "@" + ESCAPED.sub(r"\\\g<0>", name)
    if "\\" in name or any(character.isspace() for character in name):
        return f'@"{name}"'
    return f"@{name}"


def _file(name: str) -> Suggestion:
    end = "" if name.endswith("/") else " "
    return Suggestion(text=f"{mention(name)}{end}", label=name)
