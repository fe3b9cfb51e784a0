"""Keys of vim against vim itself, where it is installed: the same text, the same place in it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
from keyboard_kit import keyboard

from caliban_tui.draft.ports import EditorOptions
from fuzzkit.main import Miss

_CASES = 40
_TIMEOUT_S = 60.0
_TEXTS = (
    "foo bar baz",
    "foo.bar(baz, qux) end",
    'say "hi there" now',
    "a b c\nd e\nf",
    "first line\nnext one\nlast",
    "one",
    "x = [1, (2), 3]\ny = {z}",
)
_MOVES = ("h", "l", "w", "b", "e", "0", "$", "W", "B", "E", "fa", "Fo", "2l", "2w", "3h")
_CHANGES = (
    *("x", "X", "2x", "dw", "de", "db", "d$", "D", "dfa", "dtb", "d0", "dFo"),
    *("cwnew\x1b", "ccnew\x1b", "Cnew\x1b", "snew\x1b", "Snew\x1b", "rz", "~", "yyp", "ywP"),
    *(
        "iin\x1b",
        "aap\x1b",
        "Iat\x1b",
        "Aend\x1b",
        "obelow\x1b",
        "Oabove\x1b",
        "3ix\x1b",
        "ved",
        "vld",
        "Vd",
        "xp",
    ),
    *("xu", "cwnew\x1bu", "x."),
)
"""What the draft has as vim has it. Known to be otherwise: words with accents, `iw` on a blank, empty lines,
`J`, `daw` and `dd` at an end, indents, and where a few commands leave the cursor."""
_RUNNER = """\
set backspace=indent,eol,start sw=4 et undolevels=1000 noautoindent enc=utf-8
let s:out = []
for s:case in json_decode(join(readfile('cases.json'), ''))
  enew!
  set undolevels=-1
  call setline(1, split(s:case[0], "\\n", 1))
  set undolevels=1000
  call cursor(1, 1)
  let @" = ''
  let &undolevels = &undolevels
  for s:keys in s:case[1]
    call feedkeys(s:keys, 'xt')
  endfor
  let s:place = strchars(join(getline(1, line('.')), "\\n")) - strchars(getline('.')[col('.') - 1 :])
  call add(s:out, [join(getline(1, '$'), "\\n"), s:place])
endfor
call writefile([json_encode(s:out)], 'seen.json')
qall!
"""


class VimCase(NamedTuple):
    """A text, and the commands that are given from its beginning, each of them whole."""

    text: str
    commands: tuple[str, ...]


def differences(seed: int) -> list[Miss]:
    """Where a draft and vim's own text differ after the same commands; nothing without vim."""
    if shutil.which("vim") is None:
        return []
    pick = random.Random(seed)
    cases = [_case(pick) for _ in range(_CASES)]
    theirs = of_vim(cases)
    ours = anyio.run(of_draft, cases, backend="asyncio")
    return [
        Miss(repr(case), f"the draft is {own} and vim's text {vim}")
        for case, own, vim in zip(cases, ours, theirs, strict=True)
        if own != vim
    ]


def _case(pick: random.Random) -> VimCase:
    moves = [pick.choice(_MOVES) for _ in range(pick.randrange(4))]
    return VimCase(pick.choice(_TEXTS), (*moves, pick.choice(_CHANGES)))


def of_vim(cases: Sequence[VimCase]) -> list[tuple[str, int]]:
    """The text and the cursor of vim after each case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
        (folder / "run.vim").write_text(_RUNNER, encoding="utf-8")
        subprocess.run(
            ["vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "-S", "run.vim"],
            cwd=folder,
            env={"HOME": name, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "dumb"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        return [
            (text, place) for text, place in json.loads((folder / "seen.json").read_text(encoding="utf-8"))
        ]


async def of_draft(cases: Sequence[VimCase]) -> list[tuple[str, int]]:
    """The same of a draft."""
    from prompt_toolkit.clipboard import ClipboardData

    seen = []
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        for case in cases:
            board.editor._app.clipboard.set_data(ClipboardData())
            board.begin(case.text)
            for command in case.commands:
                board.press(command)
                board.press("\x1b")
            seen.append((board.editor.text, board.editor.cursor))
    return seen
