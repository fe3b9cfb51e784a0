"""Where `@` imports a file and where it is something else."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_memory.markdown import find_imports, is_url


def targets(text: str) -> list[str]:
    return [item.target for item in find_imports(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("see @workflow.md: details", ["workflow.md"], id="b122-colon"),
        pytest.param("@a.md, @b.md.", ["a.md", "b.md"], id="b122-comma-and-stop"),
        pytest.param("(@c.md)", ["c.md"], id="b122-parentheses"),
        pytest.param("**@d.md**", ["d.md"], id="b122-emphasis"),
        pytest.param("@e.md;", ["e.md"], id="b122-semicolon"),
        pytest.param('@"docs/My Notes/x.md"', ["docs/My Notes/x.md"], id="b123-quotes"),
        pytest.param("@docs/My\\ Notes/x.md", ["docs/My Notes/x.md"], id="b123-escaped-blanks"),
        pytest.param("@~/g.md", ["~/g.md"], id="b123-home"),
        pytest.param("@./ü.md", ["./ü.md"], id="b123-unicode"),
        pytest.param("@docs/", ["docs/"], id="b123-directory"),
        pytest.param("- @a/b.md\n* @c.md\n1. @d.md\n> @e.md", ["a/b.md", "c.md", "d.md", "e.md"], id="lists"),
        pytest.param("@https://x.org/a.md", ["https://x.org/a.md"], id="url"),
        pytest.param("mail ada@example.org or <ada@x.org>", [], id="e-mail"),
        pytest.param("@ada wrote this, @bob-2 too", [], id="handles"),
        pytest.param('@app.route("/x")\n@pytest.fixture()', [], id="decorators-that-are-called"),
        pytest.param("use `@a.md` and ``@b.md ` @c.md``", [], id="code-spans"),
        pytest.param("```\n@a.md\n```\n~~~py\n@b.md\n~~~~", [], id="s471-fences"),
        pytest.param("```\n@a.md\n", [], id="a-fence-without-an-end"),
        pytest.param("- item\n\n  ```\n  @a.md\n  ```\n", [], id="a-fence-in-a-list"),
        pytest.param("words\n\n    @a.md\n\nmore", [], id="indented-code"),
        pytest.param("- one\n    - @a.md", ["a.md"], id="a-nested-list-is-no-code"),
        pytest.param("<!-- @a.md\n@b.md -->\n@c.md", ["c.md"], id="s471-comments"),
        pytest.param("<!-- ```\n-->\n@c.md", ["c.md"], id="a-fence-in-a-comment-opens-nothing"),
        pytest.param("\\@a.md", [], id="escaped"),
        pytest.param(
            "a stray ` tick\n\n@a.md and `code`", ["a.md"], id="a-stray-tick-ends-with-its-paragraph"
        ),
        pytest.param("@@a.md @", [], id="more-than-one-at"),
        pytest.param("@a.md@b", [], id="an-at-inside"),
        pytest.param("", [], id="empty"),
    ],
)
def test_an_import_is_found_in_prose_only(text, found):
    assert targets(text) == found


def test_an_import_knows_its_place_and_whether_it_stands_alone():
    text = "a @x.md b\n- @y.md\n"
    assert [(text[item.start : item.end], item.alone) for item in find_imports(text)] == [
        ("@x.md", False),
        ("@y.md", True),
    ]


@pytest.mark.parametrize("target", ["http://h/x.md", "https://h", "file:/x", "//evil/share/x.md", "\\\\e\\s"])
def test_other_machines_are_known_by_the_form_of_the_target(target):
    assert is_url(target)


PIECES = st.sampled_from(
    [
        "@a.md",
        "@",
        "`",
        "``",
        "```",
        "~~~",
        "\n",
        "\n\n",
        "    ",
        "- ",
        "<!--",
        "-->",
        "\\",
        " ",
        "x",
        '"',
        "\t",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@given(TEXTS | st.text(max_size=200))
def test_imports_stand_where_they_say_in_order_and_apart(text):
    imports = find_imports(text)
    assert all(text[item.start] == "@" and item.start < item.end <= len(text) for item in imports)
    assert all(one.end <= two.start for one, two in pairwise(imports))
    assert all(item.target.strip("\"' \\") and "\n" not in item.target for item in imports)


@given(TEXTS.filter(lambda text: "~~~~~" not in text))
def test_nothing_is_imported_out_of_a_fence(text):
    inside = "\n".join(line if not line.strip().startswith("~~~") else "" for line in text.split("\n"))
    fenced = f"~~~~~\n{inside}\n~~~~~\n"
    assert find_imports(fenced) == ()


@given(st.text(st.characters(exclude_characters="`\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=80))
def test_nothing_is_imported_out_of_a_code_span(text):
    assert find_imports(f"x ``{text}`` y") == ()


def test_the_scan_is_linear_in_what_could_make_it_slow():
    for piece in ("`", "``a`", "@", "<!--", "\\@", "@x.md ", "- @", "\n\n`", '@"'):
        assert len(find_imports(piece * 60_000)) <= 60_000


class _Copied(str):
    """A text that counts how many characters are copied out of it."""

    copied = 0

    def __getitem__(self, place: Any) -> str:
        part = super().__getitem__(place)
        _Copied.copied += len(part)
        return part


@pytest.mark.parametrize("unit", ["@a.b ", "- @a.b, ", "-@", "@a.b\n", "`@a` @c.d "])
def test_a_line_of_thousands_of_imports_is_looked_at_once(unit: str) -> None:
    text = _Copied(unit * 500)
    _Copied.copied = 0
    find_imports(text)
    assert _Copied.copied < 20 * len(text)
