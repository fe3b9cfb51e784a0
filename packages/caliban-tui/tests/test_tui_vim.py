"""Editing as in vim: what real vim makes of the same keys (9.0, `backspace=indent,eol,start sw=4 et`)."""

from __future__ import annotations

import pytest
from keyboard_kit import keyboard

from caliban_tui.draft.ports import EditorOptions

pytestmark = pytest.mark.anyio

PROBES = (
    ("foo bar baz", "dw", "|bar baz"),
    ("foo bar baz", "wdw", "foo |baz"),
    ("foo bar baz", "cwxx\x1b", "x|x bar baz"),
    ("foo bar baz", "wcwxx\x1b", "foo x|x baz"),
    ("a bc", "cwx\x1b", "|x bc"),
    ("foo  bar", "3lcwx\x1b", "foo|xbar"),
    ("foo bar baz", "c2wx\x1b", "|x baz"),
    ("foo bar baz", "2cwx\x1b", "|x baz"),
    ("foo.bar baz", "cWx\x1b", "|x baz"),
    ("foo bar", "lcwx\x1b", "f|x bar"),
    ("foo bar baz", "dwu", "|foo bar baz"),
    ("foo bar baz", "dwu\x12", "|bar baz"),
    ("foo bar baz", "dw.", "|baz"),
    ("foo bar baz qux", "dw2.", "|qux"),
    ("foo bar baz", "ix\x1b..", "|xxxfoo bar baz"),
    ("foo bar baz", "Axy\x1b0.", "foo bar bazxyx|y"),
    ("foo bar baz", "cwx\x1bw.", "x |x baz"),
    ("foo bar foo", "rxw.", "xoo |xar foo"),
    ("foo", "3ixy\x1b", "xyxyx|yfoo"),
    ("foo", "2A!\x1b", "foo!|!"),
    ("foo", "2ohey\x1b", "foo\nhey\nhe|y"),
    ("foo\nbar", "2Ohey\x1b", "hey\nhe|y\nfoo\nbar"),
    ("foo", "3ix\x1bu", "|foo"),
    ("foo", "3ix\x1b.", "xxxx|xxfoo"),
    ("abc def", "x.p", "c|b def"),
    ("a b c", "dd", "|"),
    ("a\nb\nc", "dd", "|b\nc"),
    ("a\nb\nc", "jdd", "a\n|c"),
    ("a\nb\nc", "2dd", "|c"),
    ("a\nb\nc", "ddp", "b\n|a\nc"),
    ("a\nb\nc", "yyP", "|a\na\nb\nc"),
    ("a\nb\nc", "yyjp", "a\nb\n|a\nc"),
    ("foo bar", "wmbgg0`bx", "foo |ar"),
    ("a\nfoo bar\nc", "jwmagg'ax", "a\n|oo bar\nc"),
    ("foo bar baz", "wmawd`a", "foo |baz"),
    ("l1\nl2\nl3\nl4", "jmajjd'a", "|l1"),
    ("a b\n\nc d\ne f\n\ng", "jjdap", "a b\n\n|g"),
    ("a b\n\nc d\ne f\n\ng", "jjdip", "a b\n\n|\ng"),
    ("p one\np two\n\nq", "cipx\x1b", "|x\n\nq"),
    ("x\n\ny\nz", "jjdap", "|x"),
    ("foo(bar, baz)", "fbdi(", "foo(|)"),
    ("foo(bar, baz)", "fbda(", "fo|o"),
    ('say "hi there" now', 'fhci"x\x1b', 'say "|x" now'),
    ('say "hi there" now', 'fhda"', "say |now"),
    ("foo bar baz", "wdiw", "foo | baz"),
    ("foo bar baz", "wdaw", "foo |baz"),
    ("foo bar baz", "wciwx\x1b", "foo |x baz"),
    ("foo bar baz", "fbD", "foo| "),
    ("foo bar baz", "fbC!\x1b", "foo |!"),
    ("foo bar", "$x", "foo b|a"),
    ("foo bar", "~", "F|oo bar"),
    ("foo bar", "3~", "FOO| bar"),
    ("foo bar", "gUiw", "|FOO bar"),
    ("Foo Bar", "guiw", "|foo Bar"),
    ("foo bar", "g~iw", "|FOO bar"),
    ("foo\nbar", "J", "foo| bar"),
    ("a\nb\nc", "3J", "a b| c"),
    ("abc", "xp", "b|ac"),
    ("foo bar", "ved", "| bar"),
    ("foo bar baz", "wvey$p", "foo bar bazba|r"),
    ("a\nb\nc", "Vd", "|b\nc"),
    ("a\nb\nc", "Vjd", "|c"),
    ("abc\ndef\nghi", "\x16jjd", "|bc\nef\nhi"),
    ("abc\ndef\nghi", "l\x16jlx", "|a\nd\nghi"),
    ("abc\ndef", "\x16jrx", "|xbc\nxef"),
    ("foo bar foo", "*x", "foo bar |oo"),
    ("foo bar", "tbx", "foo|bar"),
    ("a,b,c,d", "f,;x", "a,b|c,d"),
    ("a,b,c,d", "2f,x", "a,b|c,d"),
    ("a,b,c,d", "$F,x", "a,b,c|d"),
    ("a,b,c,d", "$T,x", "a,b,c|,"),
    ("a,b,c", "dt,", "|,b,c"),
    ("a,b,c", "f,x;.", "ab|c"),
    ("foo bar", "sx\x1b", "|xoo bar"),
    ("foo bar", "Sx\x1b", "|x"),
    ("foo bar", "ccx\x1b", "|x"),
    ("foo bar", "wi\x17x\x1b", "|xbar"),
    ("foo bar", "A\x15x\x1b", "|x"),
    ("foo bar", "dwwP", "bafoo| r"),
    ("  foo", "^x", "  |oo"),
    ("  foo", "Ix\x1b", "  |xfoo"),
    ("  foo", "0x", "| foo"),
    ("foo bar baz", "2wx", "foo bar |az"),
    ("foo bar baz", "ex", "fo| bar baz"),
    ("foo bar baz", "gex", "|oo bar baz"),
    ("foo bar baz", "$gex", "foo ba| baz"),
    ("foo bar baz", "$bx", "foo bar |az"),
    ("foo\nbar\nbaz", "Gx", "foo\nbar\n|az"),
    ("foo\nbar\nbaz", "2Gx", "foo\n|ar\nbaz"),
    ("foo\nbar", "jggx", "|oo\nbar"),
    ("foo [bar] x", "f[%x", "foo [bar| x"),
    ("foo bar", "ifoo\x1bu", "|foo bar"),
    ("foo bar", "xxu", "|oo bar"),
    ("foo bar", "xxuu\x12\x12", "|o bar"),
    ("foo bar", "3xu", "|foo bar"),
    ("foo", "Rxy\x1b", "x|yo"),
    ("foo bar", "Rxyz\x1bw.", "xyz xy|z"),
    ("a\nb", ">>", "    |a\nb"),
    ("a 9 b", "\x01", "a 1|0 b"),
    ("foo bar baz", "d2w", "|baz"),
    ("foo bar baz qux", "2d2w", "|"),
    ("foo bar", "dfb", "|ar"),
    ("foo bar\nx", "d$", "|\nx"),
    ("foo bar", "wd0", "|bar"),
    ("foo bar baz", "wywP", "foo bar| bar baz"),
    ("abc", "lDp", "ab|c"),
    ("foo bar", "yiwwviwp", "foo fo|o"),
    ("abc abc", "vlcx\x1bw.", "xc |xc"),
    ("foo(a)", "f(lcib!\x1b", "foo(|!)"),
    ("{a}", "lci{x\x1b", "{|x}"),
    ("it's 'ok x' y", "$Fxdi'", "it's '|' y"),
    ("<a b>", "ldi<", "<|>"),
    ("héllo wörld über", "wx", "héllo |örld über"),
    ("héllo wörld", "ex", "héll| wörld"),
    ("héllo wörld", "$bx", "héllo |örld"),
    ("naïve(été, «ça») fin", "wwdw", "naïve(|, «ça») fin"),
    ("naïve été", "ciwx\x1b", "|x été"),
    ("日本語ひらがな カナ", "dw", "|ひらがな カナ"),
    ("x 😀😀!! y", "wdiw", "x |!! y"),
    ("a\u00a0b c", "wx", "a\u00a0| c"),
    ("a  b", "ldiw", "a|b"),
    ("a b", "$daw", "|a"),
    ("a\n\nb", "wx", "a\n|\nb"),
    ("a b c d", "d2aw", "|c d"),
    ("foo bar", "viwd", "| bar"),
    ("foo bar", "vawd", "|bar"),
    ("one\ntwo\nthree", "jjdb", "one\n|three"),
    ("foo  \nbar", "dw", "|\nbar"),
    ("a\nb c", "d2w", "|c"),
    ('say "hi" now', 'ci"x\x1b', 'say "|x" now'),
    ('say "hi" now', 'da"', "say |now"),
    ('"a" b "c"', 'fbdi"', '"a"|"c"'),
    ('"a" b', '$di"', '"a" |b'),
    ('"a \\" b" c', 'lldi"', '"|" c'),
    ("f(a, (b) c)", "di(", "f(|)"),
    ("x\nf(a)", "di(", "x\nf(|)"),
    ("f (a)", "ca(x\x1b", "f |x"),
    ("(\n  in\n)", "jdi(", "(\n|)"),
    ("(a (b))", "wwldi(", "(a (|))"),
    ("(a (b))", "$hd2i(", "(|)"),
    ("(a) b", "vi(d", "(|) b"),
    ("a b", "di(", "|a b"),
    ("a\n  b\nc", "dd", "  |b\nc"),
    ("a\n  b\nc", "jjdd", "a\n  |b"),
    ("\n\nb", "jdd", "\n|b"),
    ("a\nb", "j2dd", "a\n|b"),
    ("a\nb\nc\nd", "jdj", "a\n|d"),
    ("a\nb", "dk", "|a\nb"),
    ("  a\nb", "jddP", "|b\n  a"),
    ("  a\nb", "ddp", "b\n  |a"),
    ("abcd\n\nabcd", "$jjx", "abcd\n\nab|c"),
    ("abcd\na\nabcd", "lljjx", "abcd\na\nab|d"),
    ("abc", "llk", "ab|c"),
    ("a\nb\nc", "2ccx\x1b", "|x\nc"),
    ("a\nb\nc", "Vjcx\x1b", "|x\nc"),
    ("a\n  )b", "J", "a|)b"),
    ("foo bar", "wyb", "|foo bar"),
    ("foo\n\nbar", "jsx\x1b", "foo\n|x\nbar"),
    ("foo\n\nbar", "jrx", "foo\n|\nbar"),
)
"""The draft, the keys in normal mode from its beginning, and the draft then with a bar for the cursor."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_keys_do_what_they_do_in_vim() -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        wrong = []
        for text, keys, expected in PROBES:
            board.begin(text)
            board.press(keys)
            if board.shown != expected:
                wrong.append((text, keys, expected, board.shown))
            board.press("\x1b\x1b")
        assert wrong == []


async def test_the_mode_stands_before_the_draft_and_escape_interrupts_only_in_normal_mode() -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        assert board.editor.draft().mark == "> "
        board.press("ab\x1b")
        assert (board.editor.draft().mark, board.done) == (": ", [])
        board.press("v")
        assert board.editor.draft().mark == "V "
        board.press("\x1b")
        assert (board.editor.draft().mark, board.done) == (": ", [])
        board.press("d\x1b")
        assert board.done == []
        board.press("\x1b")
        assert board.done == ["interrupt"]
        board.press("R")
        assert board.editor.draft().mark == "R "


async def test_what_was_sent_is_not_undone_into_the_next_draft() -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        board.press("ab\x1bx\r")
        assert board.done == ["send a"]
        board.press("u")
        assert board.shown == "|"
        board.press("iline\x1b\r")
        board.press("k")
        assert board.editor.text == "line"


async def test_a_new_line_of_ours_is_a_part_of_what_is_repeated() -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        board.begin("x")
        board.press("ia\n\x1b")
        board.press("0.")
        assert board.editor.text == "a\na\nx"


async def test_emacs_keys_come_back() -> None:
    async with keyboard(EditorOptions(vim=True)) as board:
        await board.started()
        board.press("ab\x1b")
        board.editor.use_vim(False)
        assert board.editor.draft().mark == "> "
        board.press("\x01x")
        assert board.shown == "x|ab"
