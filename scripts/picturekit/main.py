"""The pictures: which runs they are of, and the command line."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.ptys import Terminal, on_terminal

from picturekit.svg import DARK, LIGHT, Paper, drawn

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "guide" / "pictures"
QUIET_S = 1.0
REPLY = """\
The retry waits longer each time and gives up after five:

```python
async def fetch(url: str) -> bytes:
    for attempt in range(5):
        try:
            return await get(url)
        except Busy:
            await sleep(2**attempt)
    raise GaveUp(url)
```

| attempt | waits |
|---|---|
| 1 | 1 s |
| 5 | 16 s |

- `Busy` is what the **server** says with 429.
- Anything else is raised at once.
"""
DESCRIPTION = """\
Draws the pictures of docs/guide/terminal-pictures.md: runs .venv/bin/caliban on a pseudo-terminal, against a
server on this machine that answers what is written here, and writes what the terminal shows as SVG. Durations
are always the same ones, so that the same program draws the same pictures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A run and what is done in it before it is drawn."""

    title: str
    act: Callable[[Terminal], None]
    replies: Sequence[str] = ()
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    columns: int = 90
    rows: int = 34
    settings: str = ""
    paper: Paper = DARK


def typed(*words: str) -> Callable[[Terminal], None]:
    """Type each of `words`, and wait until all is quiet after each; a line feed is Enter."""

    def act(terminal: Terminal) -> None:
        for word in words:
            terminal.type(word.replace("\n", "\r"))
            terminal.rest(QUIET_S)

    return act


ASKED = ("show me the retry", "\n")
PICTURES: Mapping[str, Picture] = {
    "reply": Picture(title="A reply: code, a table, a list", act=typed(*ASKED), replies=(REPLY,)),
    "light": Picture(
        title="The same on a light terminal",
        act=typed(*ASKED),
        replies=(REPLY,),
        settings='[tui]\ntheme = "light"\n',
        paper=LIGHT,
    ),
    "narrow": Picture(title="Forty columns", act=typed(*ASKED), replies=(REPLY,), columns=40, rows=40),
    "question": Picture(
        title="May this run?",
        act=typed("clean up", "\n"),
        calls=(("Bash", {"command": "rm -rf build && git status --short"}),),
    ),
    "menu": Picture(title="The menu of commands", act=typed("/", "co")),
    "full": Picture(
        title="The whole screen, scrolled up",
        act=typed("/tui full\n", *ASKED, "\x1b[5~"),
        replies=(REPLY,),
        rows=18,
    ),
}


def main(arguments: Sequence[str]) -> int:
    """Draw all pictures, or those that are named."""
    parser = argparse.ArgumentParser(prog="scripts/pictures", description=DESCRIPTION)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ({', '.join(PICTURES)})")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they go (docs/guide/pictures)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in PICTURES]
    if unknown:
        parser.error(f"there is no picture {unknown[0]!r}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or PICTURES:
        path = options.folder / f"{name}.svg"
        path.write_text(picture(PICTURES[name]), encoding="utf-8")
        print(f"pictures: {path}", file=sys.stderr)
    return 0


def picture(wanted: Picture) -> str:
    """Run it and draw what is on the screen then."""
    import pyte

    with tempfile.TemporaryDirectory(prefix="caliban-pictures-") as home:
        written = _written(wanted, Path(home))
    screen = pyte.Screen(wanted.columns, wanted.rows)
    pyte.ByteStream(screen).feed(_shown(written))
    image = re.sub(r"\b\d+\.\d s\b", "1.2 s", drawn(screen, wanted.title, wanted.paper))
    return re.sub(r"[\u2800-\u28ff] \d+ s", "\u2839 3 s", image)


def _written(wanted: Picture, home: Path) -> bytes:
    from caliban_provider.testing.loopback import LoopbackServer
    from caliban_provider_anthropic.testing import wire

    folder = home / "project"
    folder.mkdir()
    settings = home / ".config" / "caliban" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(wanted.settings, encoding="utf-8")
    exchanges = [wire.exchange(wire.text(reply)) for reply in wanted.replies]
    exchanges += [wire.exchange(wire.tool_use(name, inputs)) for name, inputs in wanted.calls]
    with LoopbackServer(exchanges) as server:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": "pictures",
            "ANTHROPIC_BASE_URL": server.url,
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        command, size = (str(ROOT / ".venv" / "bin" / "caliban"),), (wanted.columns, wanted.rows)
        with on_terminal(command, folder, environment, size) as terminal:
            terminal.wait(lambda: b"claude" in terminal.written, "the status line")
            terminal.rest(QUIET_S)
            wanted.act(terminal)
            return bytes(terminal.written)


def _shown(written: bytes) -> bytes:
    """Without what the emulator would show: queries for pictures, and the protocol of keys."""
    written = re.sub(rb"\x1b_[^\x1b]*\x1b\\", b"", written)
    return re.sub(rb"\x1b\[[<>=][0-9;]*u", b"", written)
