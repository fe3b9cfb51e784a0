"""The program that searches: ripgrep where there is one, else the same done in Python (`scan`).

Arguments are a list, never a shell's text; patterns cannot be taken for options; configuration files of the
user and of the project are off (security.md K2, K4).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import asdict, replace

from caliban_common.tool import ToolOutput
from caliban_process import Command, Completed, OutputLimit, ProcessError, Runner
from caliban_tools_builtin.errors import SearchBlocked, SearchFailed
from caliban_tools_builtin.search.oddrules import odd_rules_below, rules_around
from caliban_tools_builtin.search.standstill import gets_on, work_done

RIPGREP_DEADLINE_S = 20.0
PYTHON_DEADLINE_S = 5.0
STALL_S = 0.25
"""After this long without an end somebody looks whether ripgrep waits for an ignore file that never ends."""
ERRORS = OutputLimit(head_bytes=4096, tail_bytes=0)
PROGRAM = "rg.exe" if os.name == "nt" else "rg"
ENVIRONMENT: Mapping[str, str] = (
    {"PATH": "/usr/bin:/bin"} if os.name == "posix" else {"SYSTEMROOT": os.environ.get("SYSTEMROOT", "")}
)


class Query(Struct, frozen=True, kw_only=True):
    """What to search below the working directory.

    Without a `pattern` files are listed, each name followed by NUL; with one, each matching line comes as
    `path NUL number:text LF`. `target` is a path relative to the working directory. `name` is a file name
    glob. `parents` says whether ignore files above the working directory count, `ignored` that none does.
    `probe` lists the first file only. `lines_per_file` and `columns` bound the output. `legacy` reads files
    without a byte order mark as windows-1252.
    """

    target: str = "./"
    pattern: str | None = None
    name: str | None = None
    depth: int | None = None
    hidden: bool = False
    parents: bool = True
    ignored: bool = False
    probe: bool = False
    lines_per_file: int = 500
    columns: int = 500
    legacy: bool = False


class SearchEngine:
    """Writes the command lines of queries, and runs them.

    `ripgrep` is the program's path; empty means to search in Python, `None` to look for it when needed.
    `deadline_s` is how long a search for text may take, instead of the default.
    """

    def __init__(
        self, workspace: Path, runner: Runner, *, ripgrep: str | None = None, deadline_s: float | None = None
    ) -> None:
        self._workspace = workspace
        self._runner = runner
        self._program = ripgrep
        self._deadline_s = deadline_s

    @property
    def deadline_s(self) -> float:
        """How long a search for text may take: less where an expression can be hopeless."""
        if self._deadline_s is not None:
            return self._deadline_s
        return RIPGREP_DEADLINE_S if self._found() else PYTHON_DEADLINE_S

    def command(self, query: Query) -> tuple[str, ...]:
        """The command line that answers `query`. Raises `SearchFailed` when there is no program for it."""
        program = self._found()
        return ripgrep(program, query) if program else python(query)

    async def search(
        self,
        query: Query,
        *,
        cwd: str,
        deadline_s: float,
        feed: Callable[[bytes], bool],
        started: Callable[[], None] = lambda: None,
    ) -> Completed:
        """Answer `query`, handing each piece of the answer to `feed` until that returns False.

        `started` is called as soon as the program runs: what is begun before holds its start up.
        Raises `SearchFailed` when there is no program for it, or when it cannot be started, and
        `SearchBlocked` when an ignore file holds ripgrep up: the same search then works, in Python.
        """
        if self._found():
            around = rules_around(cwd, parents=query.parents)
            if around.odd is not None:
                self._program = ""
                raise SearchBlocked("an ignore file there is no regular file")
            if not around.above:  # ripgrep would look every entry up in rules that are not there
                query = replace(query, parents=False)
        command = Command(
            argv=self.command(query),
            cwd=cwd,
            env=ENVIRONMENT,
            timeout_s=deadline_s,
            grace_s=0,
            session=False,
            output=ERRORS,
        )
        try:
            if not self._found() or not query.target.endswith("/"):
                return await self._runner.feed(command, feed, started=started)
            completed = await self._unstalled(command, feed, started)
        except ProcessError as error:
            raise SearchFailed(error.message, hint=error.hint) from error
        if completed is None:
            self._program = ""
            raise SearchBlocked("an ignore file below that is no regular file")
        return completed

    async def _unstalled(
        self, command: Command, feed: Callable[[bytes], bool], started: Callable[[], None]
    ) -> Completed | None:
        """Run ripgrep; `None` where an ignore file below the working directory held it up."""
        over, results = anyio.Event(), list[Completed | ProcessError]()
        base = command.cwd or "."

        async def run() -> None:
            try:
                results.append(await self._runner.feed(command, feed, started=started))
            except ProcessError as error:  # told as itself, not as one of a group
                results.append(error)
            finally:
                over.set()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await self._standstill(command.argv[0])
            look = anyio.to_thread.run_sync(odd_rules_below, base, over.is_set, abandon_on_cancel=True)
            if await look is not None and not over.is_set():
                tasks.cancel_scope.cancel()
        if not results:
            return None
        if isinstance(results[0], ProcessError):
            raise results[0]
        return results[0]

    async def _standstill(self, program: str) -> None:
        """Wait while a search may well take that long: to look for odd ignore files slows it by a third."""
        await anyio.sleep(STALL_S / 2)
        before = work_done(program)
        await anyio.sleep(STALL_S / 2)
        while gets_on(before, now := work_done(program)):
            before = now
            await anyio.sleep(STALL_S / 2)

    def _found(self) -> str:
        if self._program is None:
            self._program = find_ripgrep(self._workspace) or ""
        return self._program


async def unblocked(search: Callable[[], Awaitable[ToolOutput]]) -> ToolOutput:
    """What `search` gives, done again from the start where an ignore file held it up."""
    try:
        return await search()
    except SearchBlocked:
        return await search()


def ripgrep(program: str, query: Query) -> tuple[str, ...]:
    """The command line of ripgrep. A positive `-g` is never used: it would override the ignore files."""
    argv = [program, "--no-config", "--no-messages", "--no-require-git", "--no-ignore-global", "--null"]
    argv.append("--color=never")
    if os.name == "nt":
        argv.append("--path-separator=/")
    if query.hidden:
        argv += ["--hidden", "--glob=!.git"]
    if not query.parents:
        argv.append("--no-ignore-parent")
    if query.ignored:
        argv.append("--no-ignore")
    if query.name is not None:
        argv += [f"--type-add=cal:{query.name}", "--type=cal"]
    if query.depth is not None:
        argv.append(f"--max-depth={query.depth}")
    if query.pattern is None:
        return (*argv, "--files", *(["--quiet"] if query.probe else []), "--", query.target)
    argv += [
        "--line-number",
        "--with-filename",
        "--no-heading",
        "--crlf",
        f"--max-count={query.lines_per_file}",
    ]
    if query.legacy:
        argv.append("--encoding=windows-1252")
    argv += [f"--max-columns={query.columns}", "--max-columns-preview", f"--regexp={query.pattern}"]
    return (*argv, "--", query.target)


def python(query: Query) -> tuple[str, ...]:
    """The command line of the search in Python. Raises `SearchFailed` in a frozen program."""
    if not sys.executable:
        raise SearchFailed("ripgrep was not found", hint="install ripgrep")
    import json

    script = Path(__file__).with_name("scan.py")
    return (sys.executable, "-I", str(script), json.dumps({**asdict(query), "sys_path": sys.path}))


def find_ripgrep(workspace: Path) -> str | None:
    """The installed wheel's program, else one on the search path that is not the project's own."""
    scripts = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin")  # `sysconfig` takes 3 ms to say so
    for directory in (Path(sys.executable or ".").parent, scripts):
        candidate = directory / PROGRAM
        if directory.is_absolute() and os.access(candidate, os.X_OK):
            return str(candidate)
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        candidate = Path(entry) / PROGRAM
        if not Path(entry).is_absolute() or not os.access(candidate, os.X_OK):
            continue
        if not candidate.resolve().is_relative_to(workspace):
            return str(candidate)
    return None
