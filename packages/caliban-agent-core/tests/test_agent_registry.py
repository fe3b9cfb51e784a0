"""Tools of other packages: found by their entry points, and left out by name where they are broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from caliban_agent_core.registry import installed_tools
from caliban_common.tool import Tool

TOOL = """
from msgspec.structs import replace
from caliban_common.tool import ToolOutput, ToolSpec

class Words:
    def __init__(self, name):
        self.spec = ToolSpec(name=name, description="Counts words.", input_schema={"type": "object"})

    def conflict_key(self, args):
        return None

    async def invoke(self, args, context):
        return ToolOutput.of(str(len(args["text"].split())))

WORDS = Words("Words")
READ = Words("Read")
ODD = Words("no name")
class Held:
    words = Words("Deep")
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A folder that packages are installed in; its modules have names of their own for each test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    known = set(sys.modules)
    request.addfinalizer(lambda: [sys.modules.pop(name) for name in set(sys.modules) - known])
    return tmp_path


def package(
    site: Path, name: str, entry_points: str, code: str = TOOL, *, suffix: str = ".dist-info"
) -> None:
    info = site / f"{name}-1.0{suffix}"
    info.mkdir()
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    (site / f"{name}.py").write_text(code, encoding="utf-8")


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.spec.name for tool in tools]


def test_tools_are_found_in_the_order_of_their_names(site: Path) -> None:
    package(
        site,
        "some_tools",
        "[console_scripts]\nwords = some_tools:main\n\n[caliban.tools]\n# ours\nz = some_tools:WORDS\n"
        "a=some_tools : Held.words [extra]\n\n[caliban.providers]\nother = some_tools:WORDS\n",
    )
    installed = installed_tools(folders=[str(site)])
    assert (names(installed.tools), installed.problems) == (["Deep", "Words"], ())


def test_packages_without_tools_are_not_imported(site: Path) -> None:
    package(site, "plain", "[console_scripts]\nplain = plain:main\n", "raise RuntimeError('imported')")
    (site / "bare-1.0.dist-info").mkdir()
    (site / "other-1.0.dist-info").write_text("a file")
    installed = installed_tools(folders=[str(site), str(site / "not there")])
    assert (installed.tools, installed.problems) == ((), ())
    assert "plain" not in sys.modules


@pytest.mark.parametrize(
    ("reference", "code", "why"),
    [
        ("mine:TOOL", "raise RuntimeError('half installed')", "RuntimeError: half installed"),
        ("mine:TOOL", "raise SystemExit(3)", "SystemExit: 3"),
        ("mine:TOOL", "class Panic(BaseException): pass\nraise Panic('at its end')", "Panic: at its end"),
        (
            "mine:TOOL",
            f"{TOOL}TOOL = Words('T'); TOOL.spec = replace(TOOL.spec, input_schema={{'default': {{1}}}})",
            "it cannot be told to a model: its input_schema.default holds a set, which JSON does not have",
        ),
        ("mine:TOOL", "", "AttributeError: module 'mine' has no attribute 'TOOL'"),
        ("nothing.here:TOOL", "", "ModuleNotFoundError: No module named 'nothing'"),
        ("mine", "", "AttributeError"),
        ("", "", "ValueError: Empty module name"),
        ("mine:TOOL", "TOOL = 3", "it is no tool: one has a spec, conflict_key and invoke"),
        ("mine:ODD", TOOL, "'no name' is no name for a tool"),
        ("mine:READ", TOOL, "there is a tool 'Read' already"),
    ],
)
def test_a_broken_tool_is_named_and_the_others_are_there(
    site: Path, reference: str, code: str, why: str
) -> None:
    package(site, "fine", "[caliban.tools]\nfine = fine:WORDS\n")
    package(site, "mine", f"[caliban.tools]\nbroken = {reference}\n", code)
    installed = installed_tools({"Read"}, folders=[str(site)])
    assert names(installed.tools) == ["Words"]
    (problem,) = installed.problems
    assert problem.message.startswith(f"the tool 'broken' ({reference}) is left out: {why}")
    assert problem.hint is not None


def test_of_two_tools_of_one_name_the_first_is_there(site: Path) -> None:
    package(site, "one", "[caliban.tools]\na = one:WORDS\nb = one:WORDS\n")
    installed = installed_tools(folders=[str(site)])
    assert names(installed.tools) == ["Words"]
    assert [problem.message for problem in installed.problems] == [
        "the tool 'b' (one:WORDS) is left out: there is a tool 'Words' already"
    ]


def test_older_metadata_counts_too(site: Path) -> None:
    package(site, "older", "[caliban.tools]\na = older:WORDS\n", suffix=".egg-info")
    assert names(installed_tools(folders=[str(site)]).tools) == ["Words"]


def test_the_folder_one_is_in_offers_nothing(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(site, "hostile", "[caliban.tools]\na = hostile:WORDS\n")
    assert names(installed_tools().tools) == ["Words"]
    monkeypatch.chdir(site)
    assert installed_tools().tools == ()
