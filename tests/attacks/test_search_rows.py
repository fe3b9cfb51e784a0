"""Rows about the search tools: what rules hide is not found, and nothing of a search is run."""

from __future__ import annotations

import pytest
from calls_kit import run_calls

CANARY = "KEY=CANARY"


@pytest.fixture(params=["with ripgrep", "without"])
def flags(request: pytest.FixtureRequest, cli) -> tuple[str, ...]:
    """Both ways of searching: by the program, and by our own walk where it is not on the path."""
    if request.param == "without":
        tools = cli.home / "tools"
        tools.mkdir()
        cli.extra["PATH"] = str(tools)
    return ("--allow", "Grep", "--allow", "Glob")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        pytest.param("Read:**/.env", ".env", id="s381"),
        ("Read:**/.env", "deep/er/.env"),
        ("Read(./secret/**)", "secret/inner/a.txt"),
        ("Read:**/*.pem", "keys/a.pem"),
    ],
)
def test_lines_of_a_denied_file_are_not_found(cli, flags, rule, path) -> None:
    target = cli.work / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{CANARY}\n")
    (cli.work / "open.txt").write_text("KEY=open\n")
    searches = (
        ("Grep", {"pattern": "KEY", "path": "."}),
        ("Grep", {"pattern": "KEY", "path": str(cli.work), "output_mode": "content"}),
        ("Grep", {"pattern": "CANARY", "path": path}),
        ("Grep", {"pattern": "KEY", "glob": "**/{.env,a.*}"}),
    )
    texts, done = run_calls(cli, *searches, flags=(*flags, "--deny", rule))
    assert done.code == 0
    assert "open.txt" in texts[0]
    assert all(CANARY not in text for text in texts)


@pytest.mark.parametrize("pattern", ["secret/**", "**", "*/name.txt", "secret/name.txt", "s*/**/*"])
def test_s382_names_below_a_denied_folder_are_not_listed(cli, flags, pattern) -> None:
    (cli.work / "secret").mkdir()
    (cli.work / "secret" / "name.txt").write_text("x")
    (cli.work / "open.txt").write_text("x")
    texts, done = run_calls(cli, ("Glob", {"pattern": pattern}), flags=(*flags, "--deny", "Read:secret/**"))
    assert done.code == 0
    assert "name.txt" not in texts[0].replace(pattern, "")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        pytest.param("Grep", {"pattern": "x; touch {mark} #", "path": "."}, id="s918"),
        ("Grep", {"pattern": "$(touch {mark})", "path": "."}),
        ("Grep", {"pattern": "`touch {mark}`", "glob": "`touch {mark}`"}),
        ("Grep", {"pattern": "--pre=./p.sh", "path": "."}),
        ("Grep", {"pattern": "a", "path": "--pre=./p.sh"}),
        ("Grep", {"pattern": "a", "glob": "--pre=./p.sh"}),
        ("Grep", {"pattern": "a", "path": ".\n./p.sh"}),
        pytest.param("Glob", {"pattern": "-Xsh"}, id="s921"),
        ("Glob", {"pattern": "--exec=./p.sh"}),
        ("Glob", {"pattern": "*; touch {mark}"}),
        ("Glob", {"pattern": "*", "path": "-x./p.sh"}),
        ("Glob", {"pattern": "$(touch {mark})"}),
    ],
)
def test_nothing_of_a_search_is_run(cli, flags, tool, given) -> None:
    mark = cli.home / "PWNED"
    script = cli.work / "p.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    (cli.work / "a.txt").write_text("a x\n")
    filled = {name: value.replace("{mark}", str(mark)) for name, value in given.items()}
    _, done = run_calls(cli, (tool, filled), flags=flags)
    assert done.code == 0
    assert not mark.exists()


@pytest.mark.parametrize(
    "line", ["--pre=./p.sh", "--pre ./p.sh", "--hostname-bin=./p.sh\n--hyperlink-format=default"]
)
def test_s922_a_configuration_of_the_search_program_does_nothing(cli, line) -> None:
    mark = cli.home / "PWNED"
    script = cli.work / "p.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    (cli.work / "a.txt").write_text("a\n")
    for place in (cli.home / ".ripgreprc", cli.work / ".ripgreprc"):
        place.write_text(f"{line}\n")
        cli.extra["RIPGREP_CONFIG_PATH"] = str(place)
        texts, done = run_calls(cli, ("Grep", {"pattern": "a", "path": "."}), flags=("--allow", "Grep"))
        assert (done.code, "a.txt" in texts[0]) == (0, True)
    assert not mark.exists()
