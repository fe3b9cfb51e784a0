"""Lines and files of slash commands: no traceback, no silence, nothing that was said is run or looked up."""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from command_kit import Cli, Finished, opened

from caliban_commands.errors import UnknownCommand
from caliban_commands.registry import CommandRegistry
from caliban_provider_anthropic.testing import wire
from caliban_skills.command import CommandFile, CommandLine, CommandText, command_pieces, read_command
from caliban_skills.errors import ArgumentRefused, SkillRefused
from fuzzkit import hostile
from fuzzkit.main import Miss

_ROUND = 300
_RUNS = 4
_SECRET = "7f3a secret 91bc"
_MAX_CHARS = 20_000
"""Of a line on a command line: a system takes 128 KB of one word."""
_CODES = (0, 1, 2, 64, 66, 78)
_NAMES = (
    "help",
    "cost",
    "context",
    "compact",
    "model",
    "export",
    "rename",
    "resume",
    "memory",
    "config",
    "permissions",
)
_HEADS = (
    "description: d",
    "description: [a, b]",
    "argument-hint: [file] [words]",
    "argument-hint: {a: b}",
    "allowed-tools: Bash(echo:*)",
    "allowed-tools: [Read, 3, null]",
    "allowed-tools: 7",
    "model: opus",
    "model: [x]",
    "model: &a *a",
    "a: &a [*a, *a]",
    "? ",
    "- x",
    "description: !!python/object/apply:os.system [touch made]",
    "<<: *b",
    'description: "\\x1b[2J"',
    "\tdescription: d",
    "description: |",
    "effort: high",
    "shell: powershell",
)
_BODIES = (
    "Say $ARGUMENTS",
    "Say $1 and $2",
    "See @$1 there",
    "Look: !`echo $1`",
    "Look: !`echo $ARGUMENTS`",
    "!`touch made`",
    "a !`cat hidden.txt` b",
    "x!`touch made`",
    "( !`echo a`)",
    "!``",
    "!`a\nb`",
    "$ARGUMENTS[0] $ARGUMENTS[99] $ARGUMENTS[a] $10 $0 $",
    "```\n!`echo b`\n```",
    "@nothere @/etc/shadow @~",
    "words",
    " ",
    "$1!`echo c`$1",
)
_SAID = (
    "a",
    "'a b' c",
    "$1 $ARGUMENTS",
    "!`touch made`",
    "\n!`touch made`",
    "a\n\n!`touch made`\n",
    "`touch made`",
    "$(touch made)",
    "; touch made",
    "&& touch made",
    "| tee made",
    "> made",
    "it's",
    '"',
    "--flag",
    "-rf /",
    "x" * 5_000,
    "\\",
    "%s%n{0}{x}",
    "..",
    "~",
    "*",
)


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Many files and lines without a run, and some by the real command."""
    while True:
        misses = []
        for _ in range(_ROUND):
            seed = pick.randrange(1 << 40)
            fault = parts_fault(seed)
            if fault:
                misses.append(Miss(f"parts, seed {seed}", fault))
        for _ in range(_RUNS):
            seed = pick.randrange(1 << 40)
            fault = run_fault(seed)
            if fault:
                misses.append(Miss(f"run, seed {seed}", fault))
        yield _ROUND + _RUNS, misses


def parts_fault(seed: int) -> str:
    """What is wrong with how a file is read and filled, and how a line is taken for a call."""
    pick = random.Random(seed)
    try:
        line = _line(pick)
        try:
            CommandRegistry().called(line)
        except UnknownCommand as error:
            if not error.message.isprintable():
                return f"an error that is no line: {error.message!r}"
        try:
            file = read_command(Path("/w/c.md"), _file(pick), "user", "c")
        except SkillRefused:
            return ""
        return _filled(file, _said(pick))
    except Exception:
        return traceback.format_exc(limit=-3)


def _filled(file: CommandFile, said: str) -> str:
    written = (
        [piece for piece in command_pieces(file, "") if isinstance(piece, CommandLine)] if not said else None
    )
    try:
        pieces = command_pieces(file, said)
    except (ArgumentRefused, SkillRefused):
        return ""
    lines = [piece.command for piece in pieces if isinstance(piece, CommandLine)]
    if written is not None and len(lines) != len(written):
        return f"{said!r} has made {len(lines)} lines of {len(written)}"
    if len(lines) != len(re.findall(r"(?:^|(?<=[\s(]))!`[^`\n]+`", file.body, re.MULTILINE)):
        return f"{said!r} has changed how many lines there are: {lines}"
    for line in lines:
        if said and re.search(r"[`;&|<>\n]|\$\(", line) and not re.search(r"[`;&|<>]|\$\(", file.body):
            return f"{said!r} is more than words in {line!r}"
    text = "".join(piece.text for piece in pieces if isinstance(piece, CommandText))
    if (
        "$ARGUMENTS" in file.body
        and not lines
        and re.search(r"\$ARGUMENTS(?![\w\[])", file.body)
        and said not in text
    ):
        return f"{said!r} is not in {text!r}"
    return ""


def _said(pick: random.Random) -> str:
    if pick.random() < 0.4:
        return hostile.text(pick, 5)
    return " ".join(pick.choice(_SAID) for _ in range(pick.randrange(4)))


def _line(pick: random.Random) -> str:
    name = pick.choice(
        (*_NAMES, "c", "Cost", "hel", "", "/", "quit", "a" * 300, "é", "c:d", "c.d", "漢", "etc", "usr/bin")
    )
    if pick.random() < 0.2:
        name = hostile.text(pick, 2)
    gap = pick.choice((" ", " ", "\n", "\t", "", "\u00a0", "  "))
    return f"{pick.choice(('', '', ' '))}/{name}{gap}{_said(pick)}"


def _file(pick: random.Random) -> bytes:
    heads = [pick.choice(_HEADS) for _ in range(pick.randrange(4))]
    body = pick.choice(("\n", " ")).join(pick.choice(_BODIES) for _ in range(pick.randrange(1, 3)))
    if pick.random() < 0.2:
        body += hostile.text(pick, 4)
    fence = pick.choice(("---", "---", "---", "--- ", "----", "+++"))
    head = "\n".join((fence, *heads, fence, "")) if heads and pick.random() < 0.8 else ""
    data = (head + body).encode("utf-8", "surrogatepass")
    if pick.random() < 0.15:
        at = pick.randrange(len(data) + 1)
        data = (
            data[:at]
            + pick.choice((b"\xff", b"\0", b"\r", b"\xef\xbb\xbf", b"\xff\xfe", b"---\n"))
            + data[at:]
        )
    return data.replace(b"\n", b"\r\n") if pick.random() < 0.1 else data


def run_fault(seed: int) -> str:
    """What is wrong with a run of the real command for one line."""
    pick = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="caliban-fuzz-"))
    try:
        with opened(folder) as cli:
            return _run(pick, cli)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(pick: random.Random, cli: Cli) -> str:
    own = cli.home / ".config" / "caliban" / "commands"
    own.mkdir(parents=True)
    data = _file(pick)
    (own / "c.md").write_bytes(data)
    if pick.random() < 0.2:
        (own / f"{hostile.tame(pick, 2).replace('/', '') or 'd'}.md").write_text("words")
    (cli.work / "hidden.txt").write_text("@secret.txt and !`touch made`")
    (cli.work / "secret.txt").write_text(_SECRET)
    allowed = pick.random() < 0.5
    line = _line(pick) if pick.random() < 0.4 else f"/c {_said(pick)}"
    line = line.replace("\0", "").encode("utf-8", "replace").decode()[:_MAX_CHARS]
    more = ["--allow", "Bash:echo *", "--allow", "Bash:cat *"] if allowed else []
    style = pick.choice(([], ["--output-format", "json"], ["--output-format", "stream-json"]))
    cli.script(wire.exchange(wire.text("ok")))
    try:
        done = cli.run("-p", line, *more, *style)
    except UnicodeDecodeError as error:
        return f"{line!r}: what it wrote is no UTF-8: {error}"
    return _judged(cli, line, data, done)


def _judged(cli: Cli, line: str, data: bytes, done: Finished) -> str:
    what = f"{line!r:.300} with {data!r:.300}: {done.code}, {done.out!r:.300}, {done.err!r:.600}"
    if "Traceback" in done.err or "Traceback" in done.out:
        return f"a traceback: {what}"
    if done.code not in _CODES:
        return f"an odd code: {what}"
    if not done.out.strip() and not done.err.strip():
        return f"silence: {what}"
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.err):
        return f"control characters on stderr: {what}"
    if (cli.work / "made").exists():
        return f"something was run: {what}"
    sent = b"".join(request.body for request in cli.server.requests)
    if _SECRET.encode() in sent and "@secret.txt" not in line and b"secret" not in data:
        return f"what a line printed was looked up: {what}"
    return ""
