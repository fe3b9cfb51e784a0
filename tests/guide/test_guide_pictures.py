"""The pictures of the guide: which there are, and how cells become SVG."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
sys.path.insert(0, str(ROOT / "scripts"))

from picturekit.main import PICTURES  # noqa: E402
from picturekit.svg import DARK, drawn  # noqa: E402

from caliban_tui.theme.theme import ROLES  # noqa: E402


def test_every_picture_is_on_the_page_and_nothing_else_is() -> None:
    page = (GUIDE / "terminal-pictures.md").read_text(encoding="utf-8")
    shown = sorted(re.findall(r"\]\(pictures/([a-z]+)\.svg\)", page))
    assert shown == sorted(PICTURES) == sorted(path.stem for path in (GUIDE / "pictures").iterdir())


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_text_that_can_be_read(name: str) -> None:
    root = ElementTree.fromstring((GUIDE / "pictures" / f"{name}.svg").read_text(encoding="utf-8"))
    words = " ".join(root.itertext())
    assert PICTURES[name].title in words
    assert "claude-sonnet" in words


def test_cells_are_drawn_with_their_colours_where_they_are() -> None:
    screen = pyte.Screen(10, 3)
    pyte.ByteStream(screen).feed(b"a \x1b[1;31m<b>\x1b[0;7mc\x1b[m\r\n")
    root = ElementTree.fromstring(drawn(screen, "t & t", DARK))
    texts = [node for node in root if node.tag.endswith("text")]
    assert [(node.text, node.get("fill"), node.get("font-weight")) for node in texts] == [
        ("a", DARK.ink, None),
        ("<b>", "#cd3131", "bold"),
        ("c", DARK.ground, None),
    ]
    assert [node.get("x") for node in texts] == ["14.0", "30.8", "56.0"]


def test_the_page_of_themes_names_every_role() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (.+) \|$", (GUIDE / "themes.md").read_text(encoding="utf-8"), re.M)
    named = dict(rows)
    assert {role: named.get(role) for role in ROLES} == dict(ROLES)
