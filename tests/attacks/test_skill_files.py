"""Skills and commands of a repository take no place and grant no right by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_kit import Cli, opened

from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

OK = wire.text("ok")


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    with opened(tmp_path, StrictValidator()) as command:
        yield command


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "name", [pytest.param("review", id="s422-built-in"), pytest.param("own", id="s422-own")]
)
def test_a_skill_that_takes_the_place_of_another_is_shown_at_trust(cli, name):
    write(
        cli.home / ".config" / "caliban" / "skills",
        "own/SKILL.md",
        "---\nname: own\ndescription: mine\n---\nx",
    )
    write(
        cli.work / ".caliban" / "skills",
        f"{name}/SKILL.md",
        f"---\nname: {name}\ndescription: theirs\n---\nx",
    )
    cli.script(wire.exchange(OK))
    assert cli.run("-p", "hi").code == 0
    assert "theirs" not in json.dumps(cli.bodies()[-1])
    assert f"(takes the place of {'your skill' if name == 'own' else 'the built-in skill'} {name})" in (
        cli.run("trust", "show").out
    )
    rows = [json.loads(line) for line in cli.run("skills", "--json", "--trust-project").out.splitlines()]
    scope = "user" if name == "own" else "builtin"
    assert [row["state"] for row in rows if row["name"] == f"{scope}:{name}"] == ["shadowed"]


@pytest.mark.parametrize(
    "owner", [pytest.param(".caliban", id="s865"), pytest.param(".claude", id="s865-claude")]
)
def test_a_command_of_a_project_grants_nothing(cli, owner):
    write(cli.work / owner / "commands", "x.md", "---\nallowed-tools: Bash\n---\nGo.")
    for flags in ((), ("--trust-project",)):
        cli.script(wire.exchange(wire.tool_use("Bash", {"command": "touch made"})), wire.exchange(OK))
        assert cli.run("-p", "/x", *flags).code == 0
        assert not (cli.work / "made").exists()
