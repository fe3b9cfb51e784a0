"""What is offered below the draft, in which order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from caliban_commands.answer import CommandAnswer
from caliban_commands.command import ON_SCREEN, Place, SlashCommand, SlashContext
from caliban_commands.registry import CommandRegistry
from caliban_common.errors import CalibanError
from caliban_tui.draft.files import CommandFiles, FileSuggester, GitFiles, mention, walked, with_folders
from caliban_tui.draft.menu import MenuRow, MenuView, menu_lines
from caliban_tui.draft.rank import NO_FIT, NameRanking, fit, prepared
from caliban_tui.draft.suggest import CommandSuggester, DraftMenu
from caliban_tui.line import text_of
from caliban_tui.width import line_cells


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def nothing(context: SlashContext, arguments: str) -> CommandAnswer:
    return CommandAnswer()


def command(name: str, **more: object) -> SlashCommand:
    values = {"summary": f"do {name}", "group": "Session", "run": nothing, "places": ON_SCREEN, **more}
    return SlashCommand(name=name, **values)  # type: ignore[arg-type]


REGISTRY = CommandRegistry(
    [
        command("compact", group="Context", aliases=("squeeze",)),
        command(
            "model", group="Model", arguments="<name>", complete=lambda typed: ("opus", "sonnet", "opus-1")
        ),
        command("memory", group="Memory"),
        command("output-style", group="Screen"),
        command("quit"),
        command("secret", hidden=True),
        command("voice", later="it needs a microphone"),
        command("only-idle", places=frozenset[Place](["idle"])),
    ]
)


def menu_of(place: Place = "idle") -> DraftMenu:
    return DraftMenu([CommandSuggester(lambda: REGISTRY, lambda: place)])


def labels(text: str, place: Place = "idle") -> list[str]:
    menu = menu_of(place)
    menu.update(text, len(text))
    view = menu.view()
    return [] if view is None else [row.label for row in view.rows]


def test_all_commands_are_offered_by_their_groups() -> None:
    menu = menu_of()
    menu.update("/", 1)
    view = menu.view()
    assert view is not None
    assert [(row.heading, row.label) for row in view.rows] == [
        ("Session", "/quit"),
        ("", "/only-idle"),
        ("Model", "/model <name>"),
        ("Context", "/compact"),
        ("Memory", "/memory"),
        ("Screen", "/output-style"),
    ]
    assert view.selected == 0


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("/m", "/model <name>"),
        ("/mem", "/memory"),
        ("/os", "/output-style"),
        ("/sque", "/compact"),
        ("/QUIT", "/quit"),
    ],
)
def test_the_best_fit_is_first(typed: str, first: str) -> None:
    assert labels(typed)[0] == first


@pytest.mark.parametrize("text", ["/usr/bin", "see /mo", "/zzz", "/secret", "/voice", "\n/mo", "/mo\n", ""])
def test_nothing_is_offered_for_what_calls_no_command(text: str) -> None:
    assert labels(text) == []


def test_a_command_that_cannot_run_now_is_not_offered() -> None:
    assert labels("/only") == ["/only-idle"]
    assert labels("/only", "running") == []


def test_enter_sends_a_command_that_needs_nothing_and_completes_one_that_does() -> None:
    menu = menu_of()
    menu.update("/qui", 4)
    assert menu.enter("/qui") == "send"
    menu.update("/mod", 4)
    assert menu.enter("/mod") == "take"
    menu.update("/model", 6)
    assert menu.enter("/model") == "nothing"


def test_words_of_a_command_are_offered_and_enter_sends_what_was_typed_until_one_is_chosen() -> None:
    menu = menu_of()
    menu.update("/model op", 9)
    view = menu.view()
    assert view is not None
    assert ([row.label for row in view.rows], view.selected) == (["opus", "opus-1"], -1)
    assert menu.enter("/model op") == "nothing"
    menu.move(1)
    chosen = menu.chosen()
    assert chosen is not None
    assert (chosen[0].text, chosen[1:]) == ("opus", (7, 9))
    assert menu.enter("/model op") == "send"


def test_a_closed_menu_stays_closed_for_the_word_and_opens_for_the_next() -> None:
    menu = menu_of()
    menu.update("/m", 2)
    menu.close()
    menu.update("/mo", 3)
    assert not menu.is_open
    menu.update("", 0)
    menu.update("/m", 2)
    assert menu.is_open
    menu.close()
    assert menu.reopen("/m", 2)


def test_what_was_chosen_stays_chosen_while_more_comes() -> None:
    menu = menu_of()
    menu.update("/m", 2)
    menu.move(1)
    menu.update("/me", 3)
    chosen = menu.chosen()
    assert chosen is not None
    assert chosen[0].text == "/memory "
    menu.move(-1)
    menu.move(-1)
    assert menu.chosen() is not None


@pytest.mark.parametrize("columns", [10, 40, 80, 120])
def test_a_menu_is_never_wider_than_the_screen_nor_higher_than_its_room(columns: int) -> None:
    rows = tuple(
        MenuRow(
            label=f"/漢字-{'x' * number}",
            detail="a long word " * 9,
            heading="Group" if number % 3 == 0 else "",
        )
        for number in range(12)
    )
    lines = menu_lines(MenuView(rows=rows, selected=11, more=7, title="t" * 200), columns, 5)
    assert len(lines) == 5
    assert max(line_cells(line) for line in lines) <= columns
    assert any(text_of(line).startswith("› ") for line in lines)


def test_the_text_of_a_menu_holds_nothing_that_a_terminal_obeys() -> None:
    lines = menu_lines(MenuView(rows=(MenuRow(label="a\x1b[2Jb\n", detail="\x07"),), selected=0), 80)
    assert [text_of(line) for line in lines] == ["› ab"]


def test_names_fit_by_their_words_and_runs() -> None:
    def best(query: str, *names: str) -> str:
        return max(names, key=lambda name: fit(query, name))

    assert best("driver", "src/driver.py", "driver/x.py", "screendriver.py") == "src/driver.py"
    assert best("ctd", "caliban_tui/driver.py", "scatter_odd.py") == "caliban_tui/driver.py"
    assert best("tb", "src/tool_box.py", "src/table.py") == "src/tool_box.py"
    assert best("main", "src/main.py", "src/domain.py", "main/src/other.py") == "src/main.py"
    assert fit("xyz", "abc") == NO_FIT
    assert fit("", "abc") > NO_FIT


def test_slices_and_growing_queries_rank_as_a_whole_does() -> None:
    chance = random.Random(5)
    words = ["core", "agent", "model", "paint", "key", "line", "editor", "menu", "file", "shell", "diff"]
    names = sorted({"/".join(chance.choices(words, k=chance.randint(1, 5))) + ".py" for _ in range(3000)})
    ranks = prepared(names)
    grown, query = NameRanking(ranks, keep=20), ""
    for character in "editline":
        query += character
        grown.ask(query)
        while not grown.step(100):
            pass
        fresh = NameRanking(ranks, keep=20)
        fresh.ask(query)
        fresh.step(len(names))
        assert grown.best == fresh.best
        assert grown.fitting == sum(fit(query, name) != NO_FIT for name in names)
    grown.ask("ed")
    grown.step(len(names))
    assert grown.fitting == sum(fit("ed", name) != NO_FIT for name in names)


class Programs:
    """What programs print, by their names; any other one fails."""

    def __init__(self, **printed: bytes) -> None:
        self.printed = printed

    async def output(self, argv: Sequence[str], cwd: str, stdin: bytes) -> bytes:
        if argv[0] not in self.printed:
            raise CalibanError(f"no {argv[0]}")
        return self.printed[argv[0]]


@pytest.mark.anyio
async def test_git_names_the_files_and_the_walk_does_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "node_modules").mkdir(parents=True)
    (tmp_path / "a" / "b c.txt").write_text("")
    (tmp_path / "a" / "node_modules" / "x.js").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    git = GitFiles(tmp_path, Programs(git="src/a.py\0src/ä b.py\0\xff\0src/a.py\0".encode("latin-1")))
    assert await git.names() == ["src/", "src/a.py"]
    assert await GitFiles(tmp_path, Programs()).names() == ["a/", "loop", "a/b c.txt"]
    own = CommandFiles(("list",), tmp_path, Programs(list=b"one\r\ntwo\n\n"))
    assert await own.names() == ["one", "two"]
    with pytest.raises(CalibanError):
        await CommandFiles(("list",), tmp_path, Programs()).names()


def test_folders_are_names_too_and_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    assert with_folders(["a/b/c.py", "a/d.py", "e"]) == ["a/", "a/b/", "a/b/c.py", "a/d.py", "e"]
    assert walked(str(tmp_path / "missing")) == []


class Source:
    """A list of files that a test sets."""

    def __init__(self, *names: str) -> None:
        self.list: Sequence[str] = names
        self.asked = 0

    async def names(self) -> Sequence[str]:
        self.asked += 1
        return self.list


class Clock:
    """A clock that a test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def offered(files: FileSuggester, text: str) -> tuple[list[str], int, int]:
    """What is offered for `text` in the end."""
    with anyio.fail_after(20):
        files.suggest(text, len(text))
        while True:
            await anyio.sleep(0.001)
            some = files.suggest(text, len(text))
            if some is not None and not some.hint:
                return [item.text for item in some.items], some.start, some.end


@pytest.mark.anyio
async def test_files_are_offered_behind_an_at_sign() -> None:
    source = Source("src/", "src/main.py", "src/a b.py", "README.md")

    async def resources() -> Sequence[str]:
        return ("docs:file:///readme",)

    clock = Clock()
    files = FileSuggester(lambda: source, changed=lambda: None, resources=resources, clock=clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(files.run)
        assert await offered(files, "see @main") == (["@src/main.py "], 4, 9)
        assert await offered(files, 'see (@"a b') == (['@"src/a b.py" '], 5, 10)
        sr = ["@src/", '@"src/a b.py" ', "@src/main.py ", "@docs:file:///readme "]
        assert (await offered(files, "x\n@sr"))[0] == sr
        assert (await offered(files, "@docs:"))[0] == ["@docs:file:///readme "]
        assert source.asked == 1
        clock.now_s = 100
        source.list = ("other.py",)
        assert (await offered(files, "@main"))[0] == ["@src/main.py "]
        assert files.suggest("", 0) is None
        assert (await offered(files, "@oth"))[0] == ["@other.py "]
        assert source.asked == 2
        for text in ("mail@main", "see @main ", "see main", '@"main" x', "a@", "@" + "x" * 500):
            assert files.suggest(text, len(text)) is None, text
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_list_that_cannot_be_made_is_told() -> None:
    failures: list[str] = []
    files = FileSuggester(
        lambda: CommandFiles(("list",), Path(), Programs()),
        changed=lambda: None,
        failed=lambda error: failures.append(error.message),
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(files.run)
        files.suggest("@x", 2)
        with anyio.fail_after(20):
            while not failures:
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()
    assert failures == ["no list"]


@pytest.mark.parametrize(
    ("name", "written"),
    [("a.py", "@a.py"), ("a b.py", '@"a b.py"'), ('a"b c.py', '@a\\"b\\ c.py'), ("a\\b", '@"a\\b"')],
)
def test_a_name_is_written_so_that_a_prompt_reads_it(name: str, written: str) -> None:
    assert mention(name) == written
