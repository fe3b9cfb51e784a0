"""Golden files: what the command wrote when they were recorded, byte for byte.

    CALIBAN_GOLDEN=record .venv/bin/pytest tests/golden

writes them anew. Read the difference before it is committed: every changed byte is one that a reader of
frames, a server or an older session file will see. A run under CI refuses to record. Remove `data` before a
recording to be rid of files that no test names any more.

What differs from run to run (times but those of 2024, ids, ports, places) is replaced inside the bytes by a
name in angle brackets. Nothing is parsed and written again: the order of members and the spacing stay frozen.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path

from command_kit import Cli, Finished

from caliban_provider.testing.exchange import Request

DATA = Path(__file__).parent / "data"
FILLER = "lorem ipsum dolor " * 1500
"""Enough text for the marks of the prompt cache and for compaction; golden files count its repetitions."""

ONLY_READ_AND_BASH = tuple(
    flag
    for name in (
        *("Glob", "Grep", "Write", "Edit", "MultiEdit", "NotebookEdit", "BashOutput", "KillShell"),
        *("WebFetch", "WebSearch", "TodoWrite", "EnterPlanMode", "ExitPlanMode", "AskUser", "Skill", "Agent"),
    )
    for flag in ("--deny", name)
)
"""For bodies that need not say what every tool is."""

VOLATILE = (
    (r", \d+\.\d s(?=; (?:go on|not saved))", ", <seconds>"),
    (r'"prices_as_of":"[0-9-]+"', '"prices_as_of":"<date>"'),
    (r"(?!2024)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>"),
    (r'("(?:duration_ms|duration_api_ms|retry_delay_ms|t_ms)": ?)[\d.]+', r"\1<number>"),
    (r"asking again in [\d.]+ m?s", "asking again in <time>"),
    (r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:<port>"),
)
ID = re.compile(r"(?<=[\"' ])[0-9a-f]{12}(?=[\"' .,\n])")
REPEATED = re.compile(r"(lorem ipsum dolor ){2,}")
RESULT = '{"type":"tool_result"'


def check(name: str, text: str) -> None:
    """Compare `text` with the golden file `name`, or write that file when this is a recording."""
    path = DATA / name
    data = text.encode("utf-8")
    if is_recording(os.environ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return
    frozen = path.read_bytes()
    assert data == frozen, f"{path.name} has other bytes: {difference(frozen, data)}"


def is_recording(environ: Mapping[str, str]) -> bool:
    """Whether golden files are to be written. Fails for a value that means nothing, and under CI."""
    wanted = environ.get("CALIBAN_GOLDEN", "")
    assert wanted in ("", "record"), f"CALIBAN_GOLDEN must be record or not be set, not {wanted!r}"
    under_ci = environ.get("CI", "") not in ("", "0", "false")
    assert not (wanted and under_ci), "golden files are recorded by a person who reads them, not under CI"
    return bool(wanted)


def difference(frozen: bytes, data: bytes) -> str:
    """Where two texts part, for a person."""
    pairs = enumerate(zip(frozen, data, strict=False))
    place = next((at for at, (one, two) in pairs if one != two), min(len(frozen), len(data)))
    line = frozen[:place].count(b"\n") + 1
    window = slice(max(place - 80, 0), place + 120)
    return f"line {line}, byte {place}:\nfrozen {frozen[window]!r}\nnow    {data[window]!r}"


class Names:
    """Names for what is volatile; an id keeps its number through all the texts of one test."""

    def __init__(self, cli: Cli) -> None:
        self._places = ((str(cli.work), "<work>"), (str(cli.home), "<home>"))
        self._ids: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """`text` with names in place of what differs from run to run."""
        for place, name in self._places:
            text = text.replace(place, name)
        text = REPEATED.sub(lambda match: f"<lorem {len(match[0]) // len(match[1])} times>", text)
        for pattern, name in VOLATILE:
            text = re.sub(pattern, name, text)
        return ID.sub(self._name, text)

    def _name(self, match: re.Match[str]) -> str:
        return self._ids.setdefault(match[0], f"<id {len(self._ids) + 1}>")


def transcript(args: Iterable[str], done: Finished) -> str:
    """A command, its exit code and what it wrote."""
    out, err = in_order(done.out), done.err
    return f"$ caliban {shlex.join(args)}\nexit {done.code}\n{part('stdout', out)}{part('stderr', err)}"


def in_order(out: str) -> str:
    """`out` with results of tools that ran side by side sorted: which ends first is the machine's affair."""
    groups = groupby(re.findall(r"[^\n]*\n|[^\n]+", out), key=lambda line: line.startswith(RESULT))
    return "".join("".join(sorted(lines) if results else lines) for results, lines in groups)


def part(title: str, text: str) -> str:
    """`text` under a title; a missing last line end is said, and no text at all leaves no trace."""
    if not text:
        return ""
    end = "" if text.endswith("\n") else "\n(no line end)\n"
    return f"--- {title}\n{text}{end}"


def files(folder: Path, keep: Callable[[str], bool] = lambda name: True) -> str:
    """The files of `folder` by name, each with its text; of locks only that they are there."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and keep(path.name))
    return "".join(
        part(str(path.relative_to(folder)), _content(path)) or f"--- {path.relative_to(folder)}\n"
        for path in paths
    )


def _content(path: Path) -> str:
    """A file as text; of one that is none how many bytes it has."""
    data = path.read_bytes()
    return f"({len(data)} bytes)" if path.suffix == ".bin" else data.decode("utf-8")


def asked(request: Request) -> str:
    """A request: its line, the headers that speak of the body, and the body."""
    spoken = ("accept", "content-type")
    names = [name for name in request.headers if name in spoken or name.startswith(("anthropic-", "x-goog-"))]
    headers = "".join(f"{name}: {request.headers[name]}\n" for name in sorted(names))
    return part(f"{request.method} {request.path}", f"{headers}\n{request.body.decode('utf-8')}\n")
