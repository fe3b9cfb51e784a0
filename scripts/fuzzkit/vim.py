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
    "héllo wörld über naïve(été, «ça»)",
    "日本語 テスト ひらがな 한국어",
    "x 😀😀!! y",
    "a  b\n\n  c d\n\nz",
    "foo   \n  \n\n  bar baz  \nq",
    "(a)\n(b\n)c",
    'a "b" c "d \\" e" f',
    "f(a,\n  b, {\n    c\n  }\n) `d` 'e'",
)
_MOVES = (
    *("h", "l", "w", "b", "e", "0", "$", "W", "B", "E", "fa", "Fo", "2l", "2w", "3h"),
    *("j", "k", "jj", "2j", "jk", "ge", "gE", "G", "gg", "2e", "3w", "^", "$j", "$k", 'f"', "f("),
)
_OBJECTS = (
    *("iw", "aw", "iW", "aW", "2iw", "2aw", 'i"', 'a"', "i'", "i`"),
    *("i(", "a(", "ib", "i{", "a{", "i[", "i<"),
)
_CHANGES = (
    *("x", "X", "2x", "dw", "de", "db", "d$", "D", "dfa", "dtb", "d0", "dFo"),
    *("cwnew\x1b", "ccnew\x1b", "Cnew\x1b", "snew\x1b", "Snew\x1b", "rz", "~", "yyp", "ywP"),
    *("iin\x1b", "aap\x1b", "Iat\x1b", "Aend\x1b", "3ix\x1b"),
    *("ved", "vld", "Vd", "xp", "xu", "cwnew\x1bu"),
    *("dd", "2dd", "ddp", "ddP", "yyP", "dj", "dk", "d2j", "dG", "dgg", "Vjd", "Vcnew\x1b", "2ccN\x1b"),
    *("d2w", "2dw", "d3w", "dW", "dE", "dB", "dge", "cWnew\x1b", "cenew\x1b", "cbN\x1b", "c2wnew\x1b"),
    *("yw", "yb", "yiw", "yj", "yk", "J", "3J", "vwd", "vbd", "dd.", "djp"),
    *(f"d{name}" for name in _OBJECTS),
    *(f"c{name}N\x1b" for name in _OBJECTS),
    *(f"y{name}P" for name in _OBJECTS),
    *(f"v{name}d" for name in _OBJECTS if not name.startswith("2")),
    *(f"gU{name}" for name in _OBJECTS),
)
"""What the draft has as vim has it. Known to be otherwise: columns behind tabs, indents of new lines, what is
in an empty last line, `>` over several lines, and objects while more than a character is selected."""
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
    silent! call feedkeys(s:keys, 'xt')
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
