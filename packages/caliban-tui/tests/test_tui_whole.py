"""No word of a reply is left out of the screen, whatever Markdown it stands in."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tui_samples import reply_blocks

from caliban_tui.line import text_of
from caliban_tui.render.blocks import block_lines

PIECES = st.sampled_from(
    """W ;**W** ;`W` ;~~W~~ ;_W_ ;*W;_W;`W;[W;](;\\W;&amp; ;# W;- W;1. ;2) ;> W;> ;===N;---N;* * *N;N;NN;  ;
        ;```N;~~~N;```pythonN;| W | W |N;| W | W | W |N;|---|---|N;[W]: http://W.orgN;[W](http://W.org/W)
    ;![W](x) ;
    [W][W] ;<http://W.org> ;<div W>N""".replace(";\n    ", ";")
    .replace("N", "\n")
    .split(";")
)


@given(st.lists(PIECES, max_size=30), st.integers(10, 90))
def test_every_word_of_a_reply_is_drawn(pieces: list[str], columns: int):
    count = 0

    def word(_: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"w{count}q"

    text = re.sub("W", word, "".join(pieces))
    drawn = (text_of(line) for block in reply_blocks(text) for line in block_lines(block, columns))
    shown = re.sub(r"[\s│]", "", "".join(drawn))
    assert [number for number in range(1, count + 1) if f"w{number}q" not in shown] == []
