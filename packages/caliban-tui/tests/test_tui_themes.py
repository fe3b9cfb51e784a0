"""Themes: what they cost to read, what a terminal can show of them, and files of a person's own."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_tui.errors import ThemeError
from caliban_tui.line import StyledText
from caliban_tui.paint.ascii import ALIKE, ascii_text
from caliban_tui.paint.sgr import encode_line
from caliban_tui.terminal.caps import TerminalCaps
from caliban_tui.theme.colour import ColourDepth, Rgb, colour, contrast, nearest, of_index
from caliban_tui.theme.palettes import PALETTES, palette
from caliban_tui.theme.theme import DARK, ROLES, Theme
from caliban_tui.theme.themes import (
    ATTRIBUTES,
    TerminalKind,
    choose_theme,
    own_themes,
    read_theme,
    sgr_of,
    terminal_kind,
)
from caliban_tui.width import cells

TRUE = TerminalKind(depth="true")
GROUNDS = {
    "dark": ("#000000", "#1e1e1e", "#282a36"),
    "dark-daltonized": ("#000000", "#1e1e1e", "#282a36"),
    "light": ("#ffffff", "#fafafa", "#fdf6e3"),
    "light-daltonized": ("#ffffff", "#fafafa", "#fdf6e3"),
}
TEXT_CONTRAST = 4.5
"""WCAG 2.2, 1.4.3: what text wants."""


def rgb(text: str) -> Rgb:
    value = colour(text)
    assert isinstance(value, Rgb)
    return value


def shown(text: str, depth: ColourDepth) -> Rgb:
    """What a terminal of so many colours shows, with xterm's own."""
    value = colour(text)
    assert value is not None
    if isinstance(value, Rgb):
        return value if depth == "true" else of_index(nearest(value))
    return of_index(value)


@pytest.mark.parametrize("depth", ["true", "256", "16"])
@pytest.mark.parametrize("name", GROUNDS)
def test_every_colour_can_be_read(name: str, depth: ColourDepth) -> None:
    faint = {}
    grounds = GROUNDS[name][:1] if depth == "16" else GROUNDS[name]
    for role, words in palette(name, depth).items():
        front, _, back = words.partition(" on ")
        inks = [word for word in front.split() if word not in ATTRIBUTES]
        for ink in inks:
            for ground in [shown(back, depth)] if back else map(rgb, grounds):
                ratio = contrast(shown(ink, depth), ground)
                if "reverse" not in front and ratio < TEXT_CONTRAST:
                    faint[f"{role} {ink} on {ground}"] = round(ratio, 2)
    assert faint == {}


@pytest.mark.parametrize("depth", ["true", "256", "16"])
@pytest.mark.parametrize("name", PALETTES)
def test_roles_that_have_a_colour_have_one_on_every_terminal_and_tell_things_apart(
    name: str, depth: ColourDepth
) -> None:
    theme = choose_theme(name, TerminalKind(depth=depth))
    assert set(theme.roles) >= set(PALETTES["terminal"])
    for one, other in (("added", "removed"), ("success", "error"), ("added_part", "removed_part")):
        assert theme.sgr(one) != theme.sgr(other)


def test_the_contrast_is_that_of_wcag() -> None:
    assert contrast(rgb("#000"), rgb("#fff")) == 21
    assert round(contrast(rgb("#767676"), rgb("#ffffff")), 2) == 4.54


def test_a_role_that_tells_two_things_apart_differs_by_more_than_red_and_green() -> None:
    depths: tuple[ColourDepth, ...] = ("true", "16")
    for name, depth in product(("dark-daltonized", "light-daltonized"), depths):
        for one, other in (("added", "removed"), ("success", "error")):
            words = (palette(name, depth)[role].replace("bold ", "") for role in (one, other))
            blue, red = (shown(word, depth).blue for word in words)
            assert blue - red > 100


@pytest.mark.parametrize("name", PALETTES)
def test_built_in_themes_speak_of_roles_that_there_are(name: str) -> None:
    assert set(PALETTES[name]) - set(ROLES) == set()
    assert [role for role, words in PALETTES[name].items() if sgr_of(words, "true") is None] == []
    assert set(DARK.roles) - set(ROLES) == set()


@pytest.mark.parametrize(
    ("env", "kind"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, TerminalKind(depth="true")),
        ({"TERM": "xterm-256color"}, TerminalKind(depth="256")),
        ({"TERM": "xterm"}, TerminalKind(depth="16")),
        ({"TERM": "xterm-direct"}, TerminalKind(depth="true")),
        ({"TERM": "linux"}, TerminalKind(depth="16", links=False)),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, TerminalKind(depth="none")),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, TerminalKind(depth="256")),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, TerminalKind(depth="none", links=False, is_dumb=True)),
        ({}, TerminalKind(depth="none", links=False, is_dumb=True)),
        ({"TERM": "rxvt", "COLORFGBG": "0;15"}, TerminalKind(depth="16", is_dark=False)),
        ({"TERM": "rxvt", "COLORFGBG": "0;default;7"}, TerminalKind(depth="16", is_dark=False)),
        ({"TERM": "rxvt", "COLORFGBG": "15;0"}, TerminalKind(depth="16")),
        ({"TERM": "rxvt", "COLORFGBG": "²;²"}, TerminalKind(depth="16")),
    ],
)
def test_what_the_environment_says_of_a_terminal(env: dict[str, str], kind: TerminalKind) -> None:
    assert terminal_kind(env) == kind


@pytest.mark.parametrize(
    ("env", "unicode"),
    [
        ({}, True),
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "de_DE.utf8@euro"}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, False),
        ({"LC_CTYPE": "de_DE.ISO-8859-1", "LANG": "de_DE.UTF-8"}, False),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE"}, True),
    ],
)
def test_marks_are_unicode_where_the_locale_is(env: dict[str, str], unicode: bool) -> None:
    assert terminal_kind(env).unicode is unicode


@pytest.mark.parametrize(
    ("depth", "sgr"),
    [("true", "1;38;2;127;213;232"), ("256", "1;38;5;116"), ("16", "1;36"), ("none", "1")],
)
def test_a_colour_on_terminals_of_all_kinds(depth: str, sgr: str) -> None:
    kind = TerminalKind(depth=depth)  # type: ignore[arg-type]
    assert choose_theme("dark", kind).sgr("prompt") == sgr


def test_auto_is_what_the_terminal_answered_else_what_the_environment_says() -> None:
    light = TerminalCaps(background=Rgb(250, 250, 240))
    assert choose_theme("auto", TRUE, light).name == "light"
    assert choose_theme("auto", TRUE, TerminalCaps(background=Rgb(20, 20, 30))).name == "dark"
    assert choose_theme("auto", TRUE).name == "dark"
    assert choose_theme("auto", TerminalKind(is_dark=False)).name == "light"


def test_styles_are_roles_and_several_of_them() -> None:
    theme = Theme(name="t", roles={"bold": "1", "link": "4;34"})
    line = (StyledText("a", "bold link"), StyledText("b", "nothing"), StyledText("c", "link", "http://e.org"))
    assert (
        encode_line(line, theme)
        == "\x1b[1;4;34ma\x1b[mb\x1b[4;34m\x1b]8;;http://e.org\x1b\\c\x1b]8;;\x1b\\\x1b[m"
    )
    assert choose_theme("dark", TerminalKind(depth="none", is_dumb=True)).sgr("bold") == ""


def test_words_of_one_style_are_sent_as_one() -> None:
    theme = Theme(name="t", roles={"dim": "2", "code": "36", "link": "4"})

    def sent(*pairs: tuple[str, str]) -> str:
        return encode_line(tuple(StyledText(text, style) for text, style in pairs), theme)

    assert sent(("a", "dim"), (" ", ""), ("b", "dim")) == "\x1b[2ma b\x1b[m"
    assert sent(("a", "dim"), (" ", ""), ("b", "code")) == "\x1b[2ma \x1b[0;36mb\x1b[m"
    assert sent(("a", "link"), (" ", ""), ("b", "link")) == "\x1b[4ma\x1b[m \x1b[4mb\x1b[m"
    assert sent(("a", ""), (" ", "link")) == "a\x1b[4m \x1b[m"


@pytest.mark.parametrize("link", ["http://e.org/\x1b\\\x1b[2J", "a b", "é", "x" * 3_000, "\n"])
def test_an_address_that_could_be_obeyed_is_not_sent(link: str) -> None:
    assert encode_line((StyledText("words", "", link),), DARK) == "words"


def test_marks_without_unicode_are_as_wide_as_before() -> None:
    assert ascii_text("● ran → naïve 漢…") == "* ran > na?ve ??~"
    for mark in ALIKE:
        assert ascii_text(mark).isascii()
        assert cells(ascii_text(mark)) == cells(mark)


@given(st.text(max_size=20))
def test_any_text_has_an_ascii_form(text: str) -> None:
    assert ascii_text(text).isascii()


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def test_a_theme_of_a_persons_own(tmp_path: Path) -> None:
    words = 'base = "light"\n[roles]\nprompt = "bold #f0a"\nerror = "red on 17"\n'
    write(tmp_path / "mine.toml", words)
    write(tmp_path / "other.json", json.dumps({"roles": {"prompt": "underline bright-red"}}))
    theme = choose_theme("mine", TRUE, None, [tmp_path / "no such folder", tmp_path])
    assert (theme.name, theme.sgr("prompt"), theme.sgr("error")) == ("mine", "1;38;2;255;0;170", "31;48;5;17")
    assert theme.sgr("link") == choose_theme("light", TRUE).sgr("link")
    other = choose_theme("other", TRUE, None, [tmp_path])
    assert other.sgr("prompt") == "4;91"
    assert own_themes([tmp_path]) == ("mine", "other")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.toml", "roles = [", "is no TOML"),
        ("t.json", "{", "is no JSON"),
        ("t.json", "[" * 100_000, "is no JSON"),
        ("t.json", "[]", "has to be a table of roles, not list"),
        ("t.toml", "\udcff", "is no TOML"),
        ("t.toml", "colors = 1", "has 'colors'; what it may have is name, base and roles"),
        ("t.toml", 'base = "solarized"', "base is 'solarized'; it may be dark, light"),
        ("t.toml", "name = 3", "name has to be a text"),
        ("t.toml", "roles = 3", "roles has to be a table"),
        ("t.toml", '[roles]\npromt = "red"', "there is no role 'promt'; did you mean prompt?"),
        ("t.toml", '[roles]\nxyz = "red"', "there is no role 'xyz'; the roles are dim, bold"),
        ("t.toml", '[roles]\nprompt = "purplish"', "prompt is 'purplish'; expected are words out of bold"),
        ("t.toml", '[roles]\nprompt = "#12345"', "prompt is '#12345'; expected are"),
        ("t.toml", '[roles]\nprompt = "red blue"', "prompt is 'red blue'; expected are"),
        ("t.toml", '[roles]\nprompt = "red on"', "prompt is 'red on'; expected are"),
        ("t.toml", '[roles]\nprompt = "256"', "prompt is '256'; expected are"),
        ("t.toml", '[roles]\nprompt = "\\u001b[2J"', "expected are"),
        ("t.toml", "[roles]\nprompt = 3", "prompt is 3; expected are"),
        ("t.toml", "# " + "x" * (1 << 20), "cannot be read: "),
    ],
)
def test_a_file_that_is_no_theme_is_told_of_by_file_role_and_what_was_expected(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(ThemeError) as failed:
        read_theme(path, TRUE)
    assert str(path) in failed.value.message
    assert words in failed.value.message


def test_themes_of_others_come_last_and_one_whose_plugin_is_gone_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "dusk.toml", '[roles]\nprompt = "#010203"\n')
    files = {"kit:dusk": str(path)}
    assert choose_theme("kit:dusk", TRUE, None, [tmp_path], files).sgr("prompt") == "38;2;1;2;3"
    write(tmp_path / "kit:dusk.toml", '[roles]\nprompt = "#040506"\n')
    assert choose_theme("kit:dusk", TRUE, None, [tmp_path], files).sgr("prompt") == "38;2;4;5;6"
    with pytest.raises(
        ThemeError, match=r"'kit:dawn': no plugin kit that counts brings it; there are .*kit:dusk"
    ):
        choose_theme("kit:dawn", TRUE, None, [tmp_path], files)


def test_a_theme_of_claude_gives_its_tokens_the_roles_of_here(tmp_path: Path) -> None:
    overrides = {
        "text": "#abc",
        "error": "rgb(1, 2,3)",
        "warning": "ansi256(99)",
        "success": "ansi:greenBright",
        "diffAdded": "#010203",
        "userMessageBackground": "whatever",
    }
    value = {"name": "Dusk", "base": "dark-ansi", "overrides": overrides}
    theme = read_theme(write(tmp_path / "d.json", json.dumps(value)), TRUE)
    codes = [theme.sgr(role) for role in ("reply", "error", "warning", "success", "added")]
    assert codes == ["38;2;170;187;204", "38;2;1;2;3", "38;5;99", "92", "48;2;1;2;3"]
    assert theme.name == "Dusk" and theme.sgr("code") == choose_theme("terminal", TRUE).sgr("code")


@pytest.mark.parametrize(
    "overrides",
    [3, [], {"text": 3}, {"text": "rgb(1,2)"}, {"text": "rgb(1,2,256)"}, {"text": "ansi256(256)"}]
    + [{"text": text} for text in ("ansi:mauve", "red", "#12345", "#fff on #000", "\x1b[2J", "", "9")],
)
def test_a_theme_of_claude_with_no_colours_is_refused(tmp_path: Path, overrides: object) -> None:
    path = write(tmp_path / "d.json", json.dumps({"overrides": overrides}))
    with pytest.raises(ThemeError, match=r"d\.json: (?:overrides|text is .*expected are)"):
        read_theme(path, TRUE)


@given(
    st.binary(max_size=200) | st.text(max_size=60).map(lambda text: f'[roles]\nprompt = "{text}"'.encode())
)
def test_any_file_is_a_theme_or_is_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    try:
        theme = read_theme(path, TRUE)
    except ThemeError:
        return
    assert all(set(sgr) <= set("0123456789;") for sgr in theme.roles.values())


@pytest.mark.parametrize("name", ["", "nothing", "../mine", "/etc/passwd", ".."])
def test_a_theme_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path, name: str) -> None:
    write(tmp_path / "mine.toml", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ThemeError, match=r"there are auto, dark, light, .*, mine"):
        choose_theme(name, TRUE, None, [tmp_path / "folder", tmp_path])


def test_colours_of_the_table_of_256_are_the_nearest() -> None:
    assert [nearest(of_index(index)) for index in (16, 100, 231)] == [16, 100, 231]
    assert of_index(244) == Rgb(128, 128, 128)
