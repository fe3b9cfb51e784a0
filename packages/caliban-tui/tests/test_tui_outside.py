"""An editor and the clipboard, through programs that are none; and how a draft is drawn."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from keyboard_kit import keyboard

from caliban_common.errors import CalibanError
from caliban_tui.draft.clipboard import MAX_IMAGE_BYTES, Clipboard, copied_image, dropped_image, osc52
from caliban_tui.draft.lines import draft_lines
from caliban_tui.draft.outside import editor_words
from caliban_tui.draft.ports import EditorPorts
from caliban_tui.errors import ClipboardFailed
from caliban_tui.line import text_of
from caliban_tui.ui import DraftView
from caliban_tui.width import line_cells

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\nimage"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Programs:
    """Programs by what they print for their arguments; `edits` is what an editor makes of the file."""

    def __init__(
        self, printed: Mapping[str, bytes] | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.printed = dict(printed or {})
        self.environ: Mapping[str, str] = environ or {}
        self.given: list[bytes] = []
        self.words: Sequence[str] = ()
        self.code = 0
        self.mode = 0

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        self.given.append(stdin)
        line = " ".join(argv)
        if line not in self.printed:
            raise CalibanError(f"no {line}")
        return self.printed[line]

    def which(self, name: str) -> str | None:
        return name if any(line.startswith(name) for line in self.printed) else None

    def foreground(self, words: Sequence[str]) -> int:
        self.words = words[:-1]
        path = Path(words[-1])
        self.mode = path.stat().st_mode & 0o777 | path.parent.stat().st_mode << 12 & 0o777 << 12
        if words[0] == "missing":
            raise FileNotFoundError(2, "No such file or directory")
        path.write_text(path.read_text() + " edited\n")
        return self.code


async def test_the_editor_is_the_persons_and_no_shell_parts_its_words() -> None:
    assert editor_words({"VISUAL": " code --wait ", "EDITOR": "ed"}) == ("code", "--wait")
    assert editor_words({"VISUAL": " ", "EDITOR": "ed"}) == ("ed",)
    assert editor_words({}) == ("vi",)


async def test_a_draft_is_edited_while_nobody_else_reads_the_terminal() -> None:
    programs = Programs(environ={"EDITOR": "ed -x"})
    over: list[str] = []
    remarks: list[str] = []

    @contextmanager
    def given_over() -> Iterator[None]:
        over.append("given")
        yield
        over.append("taken back")

    ports = EditorPorts(programs=lambda: programs, given_over=given_over, say=remarks.append)
    async with keyboard(ports=ports) as board:
        await board.typed("text", "text|")
        await board.typed("\x07", "text edited|")
        assert (over, programs.words) == (["given", "taken back"], ("ed", "-x"))
        assert programs.mode == 0o600 | 0o700 << 12
        programs.code = 3
        board.type("\x18\x05")
        await board.wait(lambda: remarks)
        assert remarks == ["ed ended with code 3; the draft is as it was"]
        programs.environ = {"EDITOR": "missing"}
        board.type("\x07")
        await board.wait(lambda: len(remarks) == 2)
        assert remarks[1] == "the editor missing cannot be started: No such file or directory"
        assert board.shown == "text edited|"
        await board.typed("!", "text edited!|")


@pytest.mark.parametrize(
    ("environ", "printed"),
    [
        (
            {"WAYLAND_DISPLAY": "w"},
            {"wl-paste --list-types": b"text/plain\nimage/png\n", "wl-paste --type image/png": PNG},
        ),
        (
            {"DISPLAY": ":0"},
            {
                "xclip -selection clipboard -out -target TARGETS": b"TARGETS\nimage/png\n",
                "xclip -selection clipboard -out -target image/png": PNG,
            },
        ),
        (
            {},
            {
                "pbpaste": b"",
                "osascript -e the clipboard as «class PNGf»": "«data PNGf".encode()
                + PNG.hex().encode()
                + "»".encode(),
            },
        ),
    ],
    ids=["wayland", "x11", "macos"],
)
async def test_an_image_of_the_clipboard_becomes_a_reference(
    environ: Mapping[str, str], printed: Mapping[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "pasted here"
    ports = EditorPorts(programs=lambda: Programs(printed, environ), image_folder=lambda: folder)
    async with keyboard(ports=ports) as board:
        board.type("\x16")
        await board.wait(lambda: board.editor.text)
        path = next(folder.iterdir())
        assert board.shown == f'@"{path}" |'
        assert path.read_bytes() == PNG
        assert path.stat().st_mode & 0o777 == 0o600


async def test_text_of_the_clipboard_is_pasted_and_none_is_told(tmp_path: Path) -> None:
    remarks: list[str] = []
    programs = Programs({"xclip -selection clipboard -out": b"two\r\nlines"}, {"DISPLAY": ":0"})
    ports = EditorPorts(programs=lambda: programs, image_folder=lambda: tmp_path, say=remarks.append)
    async with keyboard(ports=ports) as board:
        await board.typed("\x16", "two\nlines|")
        programs.printed = {"xclip": b""}
        board.type("\x16")
        await board.wait(lambda: remarks == ["the clipboard is empty"])
        programs.printed = {}
        board.type("\x16")
        await board.wait(lambda: remarks[1:] == ["no program that reads the clipboard is there"])


async def test_text_is_copied_by_a_program_or_a_sequence() -> None:
    programs = Programs({"wl-paste": b"", "wl-copy": b""}, {"WAYLAND_DISPLAY": "w"})
    await Clipboard(programs).copy("ä")
    assert programs.given == ["ä".encode()]
    with pytest.raises(ClipboardFailed):
        await Clipboard(Programs()).copy("x")
    coded = base64.b64encode(b"x")
    assert osc52("x") == b"\x1b]52;c;" + coded + b"\x07"
    assert osc52("x", in_tmux=True) == b"\x1bPtmux;\x1b\x1b]52;c;" + coded + b"\x07\x1b\\"
    assert osc52("x" * 200_000) is None


def test_only_a_regular_file_that_is_no_giant_is_copied(tmp_path: Path) -> None:
    image, pipe, giant = (tmp_path / name for name in ("a.PNG", "pipe.png", "giant.png"))
    image.write_bytes(PNG)
    os.mkfifo(pipe)
    giant.touch()
    os.truncate(giant, MAX_IMAGE_BYTES + 1)
    copy = copied_image(str(image), tmp_path / "kept")
    assert copy.suffix == ".png" and copy.read_bytes() == PNG
    for refused in (pipe, giant, tmp_path, tmp_path / "none.png"):
        with pytest.raises(CalibanError):
            copied_image(str(refused), tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == [copy]


async def test_a_dropped_image_becomes_a_reference_and_other_text_does_not(tmp_path: Path) -> None:
    image = tmp_path / "a b.png"
    image.write_bytes(PNG)
    escaped = str(image).replace(" ", "\\ ")
    for text in (escaped, f"'{image}'", f"file://{escaped.replace(chr(92) + ' ', '%20')}", f"{escaped} "):
        assert dropped_image(text) == str(image), text
    for text in ("", "see a.png", f"{image}x", "/no/such.png", f"{escaped}\n{escaped}", "\0.png", str(image)):
        assert dropped_image(text) is None, text
    async with keyboard() as board:
        await board.typed(f"\x1b[200~{escaped}\x1b[201~", f'@"{image}" |')


DRAWN = {
    ("", 0, 40): (["> "], (0, 2)),
    ("ab\ncd", 4, 40): (["> ab", "  cd"], (1, 3)),
    ("abcdefgh", 8, 8): (["> abcde", "  fgh"], (1, 5)),
    ("aaaa bbbb cc", 12, 10): (["> aaaa ", "  bbbb cc"], (1, 9)),
    ("aaaaaaa bb", 7, 10): (["> aaaaaaa", "  bb"], (0, 9)),
    ("aaaaaaa bb", 8, 10): (["> aaaaaaa", "  bb"], (1, 2)),
    ("aa bbbbbbbbbb", 0, 10): (["> aa ", "  bbbbbbb", "  bbb"], (0, 2)),
    ("aa漢字漢字", 0, 10): (["> aa漢字", "  漢字"], (0, 2)),
    ("漢字漢", 3, 8): (["> 漢字", "  漢"], (1, 4)),
    ("a\x1b[2Jb", 5, 40): (["> a^[[2Jb"], (0, 8)),
    ("\x00\x7f\x85\u202e", 4, 40): (["> ^@^?<85><202e>"], (0, 16)),
    ("e\u0301x", 2, 40): (["> e\u0301x"], (0, 3)),
}


@pytest.mark.parametrize(("text", "cursor", "columns"), list(DRAWN))
async def test_a_draft_is_broken_where_the_screen_ends(text: str, cursor: int, columns: int) -> None:
    lines, caret = draft_lines(DraftView(text=text, cursor=cursor), columns)
    assert ([text_of(line) for line in lines], tuple(caret)) == DRAWN[text, cursor, columns]


async def test_a_tall_draft_shows_the_lines_around_the_caret() -> None:
    text = "\n".join(f"line {number}" for number in range(50))
    lines, caret = draft_lines(DraftView(text=text, cursor=text.index("line 25")), 40, 5)
    assert [text_of(line) for line in lines] == [
        "↑ line 23",
        "  line 24",
        "  line 25",
        "  line 26",
        "↓ line 27",
    ]
    assert tuple(caret) == (2, 2)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 10, 11, 12, 13, 22, 40])
async def test_no_line_of_a_draft_is_wider_than_the_screen(columns: int) -> None:
    text = "wide 漢字 👩‍👩‍👧 \t text \x07 a\u202e\u202e\u202e\u202eb" * 20
    for cursor in range(0, len(text), 17):
        lines, caret = draft_lines(DraftView(text=text, cursor=cursor), columns, 6)
        assert caret.row < len(lines) <= 6
        if columns >= 5:
            assert max(map(line_cells, lines)) <= columns
            assert caret.column < columns
