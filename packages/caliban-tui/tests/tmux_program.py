"""A small program on a terminal: blocks and a live region, as a conversation has them. Started by tests.

`tmux_program.py MODE WIDTHS BLOCKS`: before each further round of blocks it waits until the terminal has as
many columns as the list says next, painting meanwhile; at its end it says `over` on a line of its own.
"""

from __future__ import annotations

import sys
import time

from caliban_tui.line import plain
from caliban_tui.paint.choose import painter_for
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.terminal.tty import Tty
from caliban_tui.theme.theme import DARK
from caliban_tui.transcript.blocks import ShellBlock, TranscriptBlock
from caliban_tui.width import cut


def main(mode: str, widths: list[int], count: int) -> None:
    tty = Tty()
    tty.enter()
    painter = painter_for("full" if mode == "full" else "inline", DARK)
    tty.write(painter.enter())
    shown: list[TranscriptBlock] = []
    size = tty.size()
    for step, columns in enumerate(widths):
        while True:
            size = tty.size()
            is_there = size.columns == columns
            blocks = [block(step, number) for number in range(count)] if is_there else []
            shown += blocks
            tty.write(painter.paint(frame(step, size), blocks[: count // 2], size))
            if is_there:
                for number in range(count // 2, count):
                    tty.write(painter.paint(frame(step, size), [blocks[number]], size))
                break
            time.sleep(0.02)
    if mode == "switch":
        tty.write(painter.leave())
        full = painter_for("full", DARK, shown)
        tty.write(full.enter())
        late = ShellBlock(command="late", output="said on the other screen")
        tty.write(full.paint(frame(0, size), [late], size))
        painter = full
    tty.write(painter.leave())
    tty.leave()
    print("over", flush=True)
    time.sleep(60)


def block(step: int, number: int) -> ShellBlock:
    return ShellBlock(command=f"block {step}.{number}", output="words " * 12)


def frame(step: int, size: ScreenSize) -> ScreenFrame:
    lines = ["open words of a reply " * 3, "", "working " * 8, f"> draft {step}", "status " * 7]
    cuts = tuple(cut(plain(line), size.columns) for line in lines)
    return ScreenFrame(lines=cuts, caret=Caret(3, 2))


if __name__ == "__main__":
    main(sys.argv[1], [int(word) for word in sys.argv[2].split(",")], int(sys.argv[3]))
